"""Frames wait for those that come after them, and are given on with the faces of every track.

    token, finds -> Tracker.step -> waits for ``ahead`` frames -> its own finds, numbered
                                                                + filled faces of other tracks

What a detector has found is covered as it said, whatever is made of it; with two exceptions: a
weak find that is no track's is no face, and a box that was carried from one look to another gives
way to the way of its track, where both faces that it was made of are that track's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from mpflow import boxes
from mpflow.tokens import Box, Face, Sighting, Token
from mpflow.tracking.filling import Reach, ends_at, filled, found_at
from mpflow.tracking.smoothing import steadied
from mpflow.tracking.tracks import Moment, Track, Tracker

SAME = 0.5
"""A carried box with so much of a track's box in it is that track's."""

_ROUNDING = 0.01  # pixels by which numbers of 32 bits are off, and more


@dataclass(frozen=True, slots=True)
class Waiting:
    """A frame that waits, and whose its finds are."""

    token: Token
    moment: Moment
    tracks: Sequence[int | None]


class Follower:
    """Goes from frame to frame of one input.

    ``ahead`` frames wait; ``smooth`` sightings on either side steady one between them.
    """

    def __init__(self, tracker: Tracker, reach: Reach, ahead: int, smooth: int) -> None:
        self._tracker = tracker
        self._reach = reach
        self._ahead = ahead
        self._smooth = smooth
        self._waiting: deque[Waiting] = deque()

    def add(self, token: Token, finds: Sequence[Face], *, cut: bool) -> None:
        """The next frame and its finds (see ``Tracker.step``); it waits."""
        moment, tracks = self._tracker.step(token.seq, token.time, finds, cut=cut)
        self._waiting.append(Waiting(token, moment, tracks))

    def repeat(self, token: Token, finds: Sequence[Face], *, cut: bool) -> None:
        """The next frame, which was given on already by somebody who is no more."""
        moment, _ = self._tracker.step(token.seq, token.time, finds, cut=cut)
        self._tracker.forget_before(moment, self._reach.after)

    def given(self, *, all_of_them: bool = False) -> Iterator[Token]:
        """The frames that need not wait any longer, with their faces."""
        while len(self._waiting) > (0 if all_of_them else self._ahead):
            waiting = self._waiting.popleft()
            yield waiting.token.with_faces(self._faces(waiting))
            self._tracker.forget_before(waiting.moment, self._reach.after)

    def _faces(self, waiting: Waiting) -> list[Face]:
        """The faces of a frame: those found there first, in the order of the finds."""
        tracks = {track.id: track for track in self._tracker.tracks}
        found: list[Face] = []
        carried: list[Face] = []
        loose: list[Face] = []
        for face, number in zip(waiting.token.faces, waiting.tracks, strict=True):
            if number is not None:
                found.append(self._steadied(face, tracks[number], waiting.moment))
            elif face.sighting is Sighting.WEAK:
                loose.append(face)
            else:
                carried.append(face)
        made: list[Face] = []
        for track in self._tracker.tracks:
            if found_at(track, waiting.moment) is None:
                there = filled(track, waiting.moment, self._reach)
                made += [_merged(there, track, waiting.moment, carried)] if there else []
        return found + [_with_loose(face, loose) for face in made] + carried

    def _steadied(self, face: Face, track: Track, moment: Moment) -> Face:
        return replace(steadied(face, track, moment, self._smooth), track=track.id)


def _merged(face: Face, track: Track, moment: Moment, carried: list[Face]) -> Face:
    """The face of a track that was not found, as one with the carried box that is its own.

    That is no longer among the others then.
    """
    own = _own(face, track, moment, carried)
    if own is None:
        return face
    carried.remove(own)
    if face.sighting is Sighting.FILLED:
        return face
    return replace(own, box=boxes.hull(face.box, own.box), track=track.id)


def _own(face: Face, track: Track, moment: Moment, carried: Sequence[Face]) -> Face | None:
    """The carried box that is a track's: with both ends of its way in it, or most of the face."""
    if face.sighting is Sighting.FILLED:
        ends = [end.face.box for end in ends_at(track, moment)]
        way = boxes.wider(reduce(boxes.hull, ends), -_ROUNDING)
        own = [other for other in carried if boxes.inside(way, other.box)]
    else:
        own = [other for other in carried if _within(face.box, other.box) >= SAME]
    return max(own, key=lambda other: _within(face.box, other.box), default=None)


def _with_loose(face: Face, loose: Sequence[Face]) -> Face:
    """A face that was not found, in a box with the weak finds that may be it."""
    if face.sighting not in {Sighting.FILLED, Sighting.EXTENDED}:
        return face
    box = face.box
    for weak in loose:
        if _within(weak.box, face.box) >= SAME:
            box = boxes.hull(box, weak.box)
    return replace(face, box=box)


def _within(inner: Box, outer: Box) -> float:
    """How much of a box lies in another, as a share."""
    both = boxes.shared(inner, outer)
    return both and both / max(boxes.size_of(inner) ** 2, 1.0)
