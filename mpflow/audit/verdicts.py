"""What the evidence on a face in one frame of the output means. Pure: numbers in, a verdict out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """What is held of a face; the first four are exposures."""

    RECOGNISABLE = "recognisable"
    VISIBLE = "visible"
    UNCHANGED = "unchanged"
    UNEXPLAINED = "unexplained"
    DOUBTFUL = "doubtful"
    KEPT = "kept"
    REPLACED = "replaced"
    COVERED = "covered"


MEANINGS = {
    Verdict.RECOGNISABLE: "an embedder takes it for the person of the input",
    Verdict.VISIBLE: "the second detector sees a face where the input has one",
    Verdict.UNCHANGED: "its pixels are as in the input, though no detector sees a face",
    Verdict.UNEXPLAINED: "the second detector sees a face where the input's detector found none",
    Verdict.DOUBTFUL: "no failure, for a person to judge: found, but faintly and in no enlarged"
    " look, or where a face that may show was seen only before or after",
    Verdict.KEPT: "it is left open as asked",
    Verdict.REPLACED: "a face is seen that has no detail of the input's and is not like the person",
    Verdict.COVERED: "nothing of a face is found",
}

_WORST_FIRST = tuple(Verdict)


class Kind(StrEnum):
    """What follows from a verdict: a failure, a question to a person, or nothing, as asked."""

    EXPOSURE = "exposure"
    DOUBT = "doubt"
    KEPT = "kept"


_KINDS = {
    Verdict.RECOGNISABLE: Kind.EXPOSURE,
    Verdict.VISIBLE: Kind.EXPOSURE,
    Verdict.UNCHANGED: Kind.EXPOSURE,
    Verdict.UNEXPLAINED: Kind.EXPOSURE,
    Verdict.DOUBTFUL: Kind.DOUBT,
    Verdict.KEPT: Kind.KEPT,
    Verdict.REPLACED: Kind.KEPT,
}
EXPOSED = frozenset(verdict for verdict, kind in _KINDS.items() if kind is Kind.EXPOSURE)


def kind_of(verdict: Verdict) -> Kind:
    """The kind of a verdict; COVERED has none, and raises KeyError."""
    return _KINDS[verdict]


class Limits(msgspec.Struct, frozen=True):
    """From where on evidence counts.

    ``score``: least score of the second detector, low on purpose. So low, it also finds lamps and
    hands, so a find takes the mean score of two enlarged looks: ``again`` where the input has a
    face (blurs of a third of the default's strength had at least 0.16 there, covers below a helmet
    at most 0.09) unless it is ``sure`` of it, and ``stray`` where the input has none (faces had at
    least 0.7, lamps and hands at most 0.45), or one whose box ``fits`` too badly over it (weak
    blurs had an overlap of at least 0.4, hair around a cover of a quarter). Where nothing but
    faint finds speaks for a face, it takes so many frames of them (``lasting``): hair around a
    cover is taken for a face now and then. ``same``: cosine of two embeddings of one person; an
    output must also be ``lead`` more alike than a picture of the face without any detail is.
    ``detail``: how well the fine detail of both correlates (re-encoding at CRF 35 left 0.70, a
    mosaic of a third of the default's strength 0.35), and ``depth``: how much of its contrast is
    left; below ``trace`` of a correlation another face may have been put there.
    """

    score: float = 0.2
    sure: float = 0.6
    again: float = 0.15
    stray: float = 0.5
    fits: float = 0.35
    lasting: int = 3
    same: float = 0.42
    lead: float = 0.1
    detail: float = 0.6
    depth: float = 0.4
    trace: float = 0.3


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a face's fine detail an output has: its correlation with the input's (-1..1),
    and the share of the contrast that is left."""

    correlation: float
    depth: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """Cosines of embeddings: of output and input, and of the input with itself without detail."""

    shown: float
    blank: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of one face of the input in one frame of the output.

    ``found`` is the best score of the second detector there, 0 for none, and ``closer`` the mean
    of its enlarged looks. ``fits``: how much its box and the face's overlap, as a share of both.
    What was not looked at is None.
    """

    found: float = 0.0
    closer: float | None = None
    detail: Detail | None = None
    likeness: Likeness | None = None
    fits: float = 1.0


def judge(evidence: Evidence, limits: Limits) -> Verdict:
    """The worst that the evidence shows."""
    if evidence.likeness is not None and is_alike(evidence.likeness, limits):
        return Verdict.RECOGNISABLE
    if evidence.detail is not None and is_unchanged(evidence.detail, limits):
        return Verdict.VISIBLE if evidence.found >= limits.score else Verdict.UNCHANGED
    if evidence.found < limits.score:
        return Verdict.COVERED
    return Verdict.DOUBTFUL if is_faint(evidence, limits) else Verdict.VISIBLE


def is_replaced(evidence: Evidence, limits: Limits) -> bool:
    """Whether a face that is seen can be another's: it has no detail of the input's, and is not
    like the person as far as that was looked at."""
    alike = evidence.likeness is not None and is_alike(evidence.likeness, limits)
    other = evidence.detail is not None and evidence.detail.correlation < limits.trace
    return other and not alike


def judge_find(score: float, closer: float, limits: Limits) -> Verdict:
    """A find where the input has no face, by its score and by that of its enlarged looks."""
    if score < limits.score:
        return Verdict.COVERED
    return Verdict.UNEXPLAINED if closer >= limits.stray else Verdict.DOUBTFUL


def is_faint(evidence: Evidence, limits: Limits) -> bool:
    """Whether nothing but one low score speaks for a find: it takes an enlarged look."""
    least = limits.again if evidence.fits >= limits.fits else limits.stray
    return evidence.found < limits.sure and (evidence.closer or 0.0) < least


def is_sure(evidence: Evidence, limits: Limits) -> bool:
    """Whether more than a faint find speaks for a face: one frame of it is enough."""
    by_score = max(evidence.found - limits.sure, (evidence.closer or 0.0) - limits.stray) >= 0
    by_detail = evidence.detail is not None and is_unchanged(evidence.detail, limits)
    return (
        by_score
        or by_detail
        or (evidence.likeness is not None and is_alike(evidence.likeness, limits))
    )


def is_alike(likeness: Likeness, limits: Limits) -> bool:
    """Whether the output shows the person, more than any covered face would."""
    return likeness.shown >= max(limits.same, likeness.blank + limits.lead)


def is_unchanged(detail: Detail, limits: Limits) -> bool:
    """Whether the output has the input's own detail."""
    return detail.correlation >= limits.detail and detail.depth >= limits.depth


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; COVERED of none."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.COVERED)
