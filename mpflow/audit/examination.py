"""One pair of frames after the other: every face of the input, and every find of the output.

faces of the input, finds of the output -> which find belongs to which face
    a face       found? detail? (now and then: who is it?)    -> mark, or covered
    a find left  an enlarged look                             -> mark
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2

import numpy as np

from mpflow.audit.eyes import Eyes, Pair, detail, look, looks, small
from mpflow.audit.findings import Mark
from mpflow.audit.matching import Links, explained
from mpflow.audit.order import Orderly
from mpflow.audit.placing import Canvas, placed, placement
from mpflow.audit.subject import Shot, Subject
from mpflow.audit.verdicts import (
    EXPOSED,
    Detail,
    Evidence,
    Limits,
    Verdict,
    is_replaced,
    is_sure,
    judge,
    judge_find,
)
from mpflow.audit.wish import Wish
from mpflow.boxes import overlap
from mpflow.frame import Frame
from mpflow.policies.identity import People, covered
from mpflow.tokens import Box, Face, Sighting

SHOT_SIDE, SHOT_AROUND = 160, 2.2

GAP_S = 0.5
"""Marks of one face that lie nearer belong to one finding."""

_KNOWN_TO_BE_THERE = frozenset({Sighting.SEEN, Sighting.FILLED, Sighting.CARRIED})
_LEAST_SIDE = 20.0  # pixels: an embedder tells nobody apart in a smaller face


@dataclass(frozen=True, slots=True)
class View:
    """A frame: its number, its time in seconds from the input's first one, and its faces.

    ``asked``: whether faces in it are to be covered at all.
    """

    number: int
    time: float
    frame: Frame
    faces: Sequence[Face]
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """How it is judged: see Wish, of whose values these are."""

    limits: Limits
    every: float
    people: People = "all"
    replaced: bool = False

    @classmethod
    def of(cls, wish: Wish) -> Rules:
        """The rules of a wish."""
        return cls(wish.limits, wish.every, wish.people, wish.replaced)


class Examination:
    """Takes pairs in order and keeps what was found, by subject."""

    def __init__(self, eyes: Eyes, canvases: tuple[Canvas, Canvas], rules: Rules) -> None:
        self._eyes = eyes
        self._source, self._target = canvases
        self._place = placement(*canvases)
        self._rules = rules
        self._limits = rules.limits
        self._gap = max(GAP_S, 1.5 * rules.every)
        self._untracked = Links(self._gap)
        self._unexplained = Links(self._gap)
        self.order = Orderly()
        self.tracks: dict[int, Subject] = {}
        self.strays: dict[int, Subject] = {}

    def pair(self, one: View, other: View) -> None:
        """A frame of the input and that of the output at its time."""
        pair = Pair(one.frame, other.frame, self._place)
        self.order.add(small(pair, self._source, [face.box for face in one.faces]))
        places = [placed(face.box, self._place) for face in one.faces]
        allowed = [n for n, face in enumerate(one.faces) if self._may_show(one, face)]
        belongs = explained([find.box for find in other.faces], places, allowed)
        for number, face in enumerate(one.faces):
            mine = [f for f, to in zip(other.faces, belongs, strict=True) if to == number]
            find = max(mine, key=lambda each: each.score, default=None)
            self._face(pair, one, face, find)
        for find, to in zip(other.faces, belongs, strict=True):
            if to is None:
                self._stray(other.frame, find, one, pair)

    def _may_show(self, view: View, face: Face) -> bool:
        return not (view.asked and covered(face, self._rules.people))

    def extra(self, other: View) -> None:
        """A frame of the output at whose time the input has none."""
        for find in other.faces:
            self._stray(other.frame, find, other, None)

    def _face(self, pair: Pair, view: View, face: Face, find: Face | None) -> None:
        subject = self._subject(face, view.time)
        subject.seen(view.time)
        evidence = self._evidence(pair, face, find)
        exposed = judge(evidence, self._limits) in EXPOSED
        if _can_be_known(face) and subject.is_due(view.time, self._rules.every, exposed=exposed):
            likeness = self._eyes.likeness(pair, face.points)
            evidence = replace(evidence, likeness=likeness)
            subject.looked(view.time, likeness.shown)
        self._conclude(pair, view, face, subject, evidence)

    def _evidence(self, pair: Pair, face: Face, find: Face | None) -> Evidence:
        """What every frame is looked at for."""
        there = face.sighting in _KNOWN_TO_BE_THERE or self._rules.replaced
        found = 0.0 if find is None else find.score
        fits = 1.0 if find is None else overlap(find.box, placed(face.box, pair.place))
        evidence = Evidence(found, detail=detail(pair, face.box) if there else None, fits=fits)
        if find is not None and judge(evidence, self._limits) is Verdict.DOUBTFUL:
            return replace(evidence, closer=self._eyes.nearer(pair.target, find.box))
        return evidence

    def _conclude(
        self, pair: Pair, view: View, face: Face, subject: Subject, evidence: Evidence
    ) -> None:
        verdict = judge(evidence, self._limits)

        def shoot() -> Shot:
            before, after = looks(pair, face.box, self._source, SHOT_SIDE, SHOT_AROUND)
            return Shot(view.time, before, after)

        if verdict is Verdict.COVERED:
            subject.covered(_area_of_cover(face), shoot)
            return
        if self._may_show(view, face):
            is_his = not view.asked or face.sighting in _KNOWN_TO_BE_THERE
            verdict = Verdict.KEPT if is_his else Verdict.DOUBTFUL  # who else may have come there
        elif self._rules.replaced and is_replaced(evidence, self._limits):
            verdict = Verdict.REPLACED
        mark = Mark(
            view.number,
            view.time,
            placed(face.box, self._place),
            verdict,
            evidence.found,
            0.0 if evidence.likeness is None else evidence.likeness.shown,
            _value(evidence.detail),
            faint=not is_sure(evidence, self._limits),
        )
        subject.add(mark, shoot)

    def _stray(self, frame: Frame, find: Face, view: View, pair: Pair | None) -> None:
        """A find that no face of the input explains."""
        closer = self._eyes.nearer(frame, find.box)
        verdict = judge_find(find.score, closer, self._limits) if view.asked else Verdict.KEPT
        number = self._unexplained.number(find.box, view.time)
        subject = self.strays.setdefault(number, Subject(None, self._gap))
        subject.seen(view.time)
        mark = Mark(
            view.number, view.time, find.box, verdict, max(find.score, closer), extra=pair is None
        )
        subject.add(mark, lambda: self._shot_of_find(frame, find.box, view, pair))

    def _shot_of_find(self, frame: Frame, box: Box, view: View, pair: Pair | None) -> Shot:
        if pair is None:
            alone = look(frame, box, self._target, SHOT_SIDE, SHOT_AROUND)
            return Shot(view.time, None, alone)
        origin = placed(box, np.asarray(np.linalg.inv(self._place)))
        before, after = looks(pair, origin, self._source, SHOT_SIDE, SHOT_AROUND)
        return Shot(view.time, before, after)

    def _subject(self, face: Face, time: float) -> Subject:
        track = face.track
        number = self._untracked.number(face.box, time) if track is None else track
        return self.tracks.setdefault(number, Subject(number, self._gap))


def _area_of_cover(face: Face) -> float:
    """How good a picture of its cover a face makes; in steps, so that few are taken."""
    if face.sighting is not Sighting.SEEN:
        return 0.0
    x1, y1, x2, y2 = face.box
    return float(2 ** round(log2(max((x2 - x1) * (y2 - y1), 1.0))))


def _can_be_known(face: Face) -> bool:
    x1, y1, x2, y2 = face.box
    large = max(x2 - x1, y2 - y1) >= _LEAST_SIDE
    return large and len(face.points) == 5 and face.sighting is Sighting.SEEN


def _value(found: Detail | None) -> float:
    return 0.0 if found is None else found.correlation
