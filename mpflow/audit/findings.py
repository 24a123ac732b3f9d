"""From verdicts on single frames to findings: one row for each stretch in which a face shows.

marks of a track  ..XXXX.X.........XX...   -> two findings, each with its exact frames
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from mpflow.audit.verdicts import Verdict, worst
from mpflow.farm.numbers import list_text
from mpflow.tokens import Box


@dataclass(frozen=True, slots=True)
class Mark:
    """One face in one frame of the output that something was found of.

    ``frame`` and ``time`` (seconds) are the input's; the output's where the input has no frame
    then (``extra``). ``score``, ``likeness`` and ``detail`` are 0 where they were not looked at.
    Nothing but a low score speaks for a ``faint`` one.
    """

    frame: int
    time: float
    box: Box
    verdict: Verdict
    score: float = 0.0
    likeness: float = 0.0
    detail: float = 0.0
    extra: bool = False
    faint: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A stretch of time in which a face shows.

    ``track`` is the input's, None for a find that no track explains. ``frames`` names every frame
    (both ends included) and ``verdicts`` counts them by what was held of each. ``score``,
    ``likeness`` and ``detail`` are the highest; ``box`` is where it was worst, in pixels of the
    output's stored picture. ``extra`` frames are counted in the output, whose input has none then.
    """

    verdict: Verdict
    track: int | None
    start: float
    end: float
    frames: str
    count: int
    verdicts: dict[str, int]
    score: float
    likeness: float
    detail: float
    box: Box
    worst_frame: int
    extra: bool = False


def finding_of(track: int | None, marks: Sequence[Mark]) -> Finding:
    """One row from marks in their order."""
    verdict = worst(mark.verdict for mark in marks)
    at = max(
        (mark for mark in marks if mark.verdict is verdict),
        key=lambda mark: (mark.likeness, mark.score, mark.detail),
    )
    return Finding(
        verdict,
        track,
        marks[0].time,
        marks[-1].time,
        list_text(mark.frame for mark in marks),
        len(marks),
        dict(Counter(str(mark.verdict) for mark in marks)),
        max(mark.score for mark in marks),
        max(mark.likeness for mark in marks),
        max(mark.detail for mark in marks),
        at.box,
        at.frame,
        any(mark.extra for mark in marks),
    )


def stretches(marks: Iterable[Mark], gap: float) -> Iterator[list[Mark]]:
    """Marks of one face, parted where none comes for more than ``gap`` seconds."""
    part: list[Mark] = []
    for mark in marks:
        if part and (mark.time - part[-1].time > gap or mark.extra != part[-1].extra):
            yield part
            part = []
        part.append(mark)
    if part:
        yield part


def lasting(marks: list[Mark], least: int) -> list[Mark]:
    """A stretch's marks; doubts in their place where all are faint and fewer than ``least``."""
    faint = all(mark.faint and mark.verdict is Verdict.VISIBLE for mark in marks)
    if not faint or len(marks) >= least:
        return marks
    return [replace(mark, verdict=Verdict.DOUBTFUL) for mark in marks]
