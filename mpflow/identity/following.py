"""What is known of each track, frame by frame, and what later frames say of one that waits.

see(faces, time) -> due(...) -> look(...) -> moment()      as frames come
settled([moment of the frame, moments of those behind it])  as they are given on
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from mpflow.policies.identity import Mark
from mpflow.policies.recognition import (
    NEW,
    Known,
    Look,
    doubt,
    due,
    gone,
    looked,
    meeting,
    sighted,
    slipped,
)
from mpflow.tokens import Face, Sighting

FORGET_S = 60.0
"""A track that was not there for so long does not come back."""

_THERE = {Sighting.SEEN, Sighting.WEAK, Sighting.FILLED}
"""Where a face really is; other boxes are wide by intention, and would meet all the time."""

FOUND = {Sighting.SEEN, Sighting.WEAK}
"""Where a detector has seen it."""

_GUESSED = {Sighting.FILLED, Sighting.EXTENDED}
"""Where nobody has seen the face: who is there is a guess, and after a while no good one."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What was known of a frame's tracks when it came: the mark of each, those that were seen,
    those that may have slipped since they were seen before, and those that meet others."""

    marks: Mapping[int, Mark]
    seen: frozenset[int] = frozenset()
    slipped: frozenset[int] = frozenset()
    meeting: frozenset[int] = frozenset()


class Following:
    """The memory of a stage that knows who is who, from track to track."""

    def __init__(self, again: float) -> None:
        self._again = again
        self._known: dict[int, Known] = {}
        self._present: dict[int, float] = {}
        self._seen: set[int] = set()
        self._slipped: set[int] = set()
        self._meeting: set[int] = set()

    def see(self, faces: Sequence[Face], time: float, strange: Container[int] = ()) -> None:
        """Take in the faces of the next frame, at ``time`` seconds: what casts doubt on whom.

        ``strange`` are tracks with a face that does not look as it did when it was seen last.
        """
        self._meeting = _meeting(faces)
        self._seen.clear()
        self._slipped.clear()
        for face in faces:
            if face.track is None:
                continue
            self._present[face.track] = time
            known = self._known.get(face.track, NEW)
            if face.sighting in FOUND:
                self._seen.add(face.track)
                if face.track in strange or slipped(known, face.box, time):
                    self._slipped.add(face.track)
                known = sighted(known, face.box, time)
                known = doubt(known) if face.track in strange else known
            elif face.sighting in _GUESSED and gone(known, time):
                known = doubt(known)
            self._known[face.track] = doubt(known) if face.track in self._meeting else known
        self._forget(time)

    def due(self, face: Face, quality: float, time: float) -> bool:
        """Whether a face of the frame is to be looked at."""
        if face.track is None or face.track in self._meeting or face.sighting != Sighting.SEEN:
            return False
        return due(self._known[face.track], quality, time, again=self._again)

    def look(self, track: int, look: Look) -> None:
        """Take in what a look at a track of the frame said."""
        self._known[track] = looked(self._known[track], look)

    def moment(self) -> Moment:
        """What is known of the frame's tracks."""
        marks = {track: known.mark for track, known in self._known.items()}
        sets = self._seen, self._slipped, self._meeting
        return Moment(marks, *(frozenset(each) for each in sets))

    def _forget(self, time: float) -> None:
        gone = [track for track, last in self._present.items() if time - last > FORGET_S]
        for track in gone:
            del self._present[track], self._known[track]


def settled(track: int | None, moments: Sequence[Moment], *, wary: bool = False) -> Mark:
    """The mark of a track in the first of these moments; None without a track.

    Where nobody was sure then, the next ones that are sure count too, up to where the track may
    have become another's. A frame on which it was not seen may be behind that already; with fewer
    moments than it takes to tell, be ``wary``: unless it is seen again in them, nobody is sure.
    """
    nearest = next((moment for moment in moments if track in moment.seen), None)
    if track is None or (wary and nearest is None):
        return None
    if nearest is not None and nearest is not moments[0] and track in nearest.slipped:
        return None
    for number, moment in enumerate(moments):
        if number and track in moment.slipped:
            return None
        if (mark := moment.marks.get(track)) is not None:
            return mark
        if track in moment.meeting:
            return None
    return None


def next_slips(moments: Iterable[Moment]) -> list[int]:
    """The tracks that may have slipped when they are seen first in these moments."""
    seen: set[int] = set()
    slips: list[int] = []
    for moment in moments:
        slips += sorted(moment.slipped - seen)
        seen |= moment.seen
    return slips


def _meeting(faces: Sequence[Face]) -> set[int]:
    """The tracks whose faces meet another face, be it of a track or not."""
    there = [face for face in faces if face.sighting in _THERE]
    pairs = (pair for pair in combinations(there, 2) if meeting(pair[0].box, pair[1].box))
    return {face.track for pair in pairs for face in pair if face.track is not None}
