"""The forward pass: frames with finds come in, in order; each find gets the number of a track.

    strong finds    to the tracks that expect them; what is left begins tracks
    weak finds      to tracks that are still without one; they begin none, but a track that begins
                    takes those which lead to it on the frames that still wait
    a cut           ends all tracks

It depends on nothing but what it was given, so who repeats the finds repeats the tracks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mpflow.tokens import Box, Face, Sighting
from mpflow.tracking.matching import Expected, match
from mpflow.tracking.motion import Motion

NOMINAL_S = 0.04
"""Between two frames without time stamps."""

LEAST_S = 0.001
"""Between two frames whose time stamps do not grow."""

ROUNDING_S = 1e-6
"""Sums of time stamps are off by less."""

WEAK_S = 0.5
"""A track that was not seen for longer does not take a weak find."""

LEAST_FRAMES = 2
"""So many frames on a face is the same, and there, however long they take: with few frames in a
second, or where a film stands still, no gap is as short as the seconds that gaps may have."""

KEPT = 16
"""So many sightings of a track before the frame that is given on are kept."""


Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moment:
    """A frame: its number, seconds on the tracker's own clock, and the scene that it is of."""

    seq: int
    time: float
    scene: int


def within(moment: Moment, later: Moment, seconds: float) -> bool:
    """Whether a frame is no more than so many seconds later, or but a few frames."""
    near = later.seq - moment.seq <= LEAST_FRAMES and seconds > 0
    return near or later.time - moment.time <= seconds + ROUNDING_S


@dataclass(frozen=True, slots=True)
class Sight:
    """A face of a track, where it was found; ``values`` are its box and points in one row."""

    moment: Moment
    face: Face
    values: Values = field(repr=False, compare=False)

    @classmethod
    def of(cls, moment: Moment, face: Face) -> Sight:
        """A face found on a frame."""
        row = [*face.box, *(value for point in face.points for value in point)]
        return cls(moment, face, np.array(row))


@dataclass(slots=True)
class Track:
    """One face through one scene: where it was found, in order."""

    id: int
    scene: int
    motion: Motion
    sights: list[Sight] = field(default_factory=list)
    expected: Box = (0.0, 0.0, 0.0, 0.0)
    forgotten: float | None = None

    @property
    def began(self) -> float:
        """When it was seen first, whatever is kept of it."""
        return self.sights[0].moment.time if self.forgotten is None else self.forgotten

    @property
    def last(self) -> Sight:
        """The latest sighting."""
        return self.sights[-1]

    def around(self, seq: int) -> int:
        """How many sightings there are up to a frame, that frame included."""
        return bisect_right(self.sights, seq, key=lambda sight: sight.moment.seq)

    def forget_before(self, seq: int) -> None:
        """Keep no more sightings before a frame than anybody asks for."""
        past = max(self.around(seq) - KEPT, 0)
        if past:
            self.forgotten = self.began
        del self.sights[:past]


_Seen = tuple[Moment, Sequence[Face], list[int | None]]


class Tracker:
    """Numbers faces. A face that comes back within ``bridge`` seconds has the same number.

    ``reach``: see mpflow.tracking.matching.match. A frame is not given on before ``ahead`` others
    have come: until then its finds may still become somebody's.
    """

    def __init__(self, bridge: float, reach: float, ahead: int) -> None:
        self._bridge = bridge
        self._reach = reach
        self.number = 0
        """What the next track will be called."""
        self._moment: Moment | None = None
        self._stamp: float | None = None
        self._waiting: deque[_Seen] = deque(maxlen=ahead)
        self.tracks: list[Track] = []
        """Those alive, and those that have ended and may still be asked for; oldest first."""

    def step(
        self, seq: int, stamp: float | None, finds: Sequence[Face], *, cut: bool
    ) -> tuple[Moment, list[int | None]]:
        """The next frame, its time stamp in seconds, and its finds; the track of each, or None.

        A None of a weak find may become a number while the frame waits.

        ``cut`` says that another scene begins with it. Finds that are only carried there from
        other frames are nobody's: they say where a face may be, not where it is.
        """
        before, moment = self._moment, self._now(seq, stamp, cut)
        alive = self._expect(moment, moment.time - before.time if before else 0.0)
        tracks: list[int | None] = [None] * len(finds)
        strong = [at for at, face in enumerate(finds) if face.sighting is Sighting.SEEN]
        weak = [at for at, face in enumerate(finds) if face.sighting is Sighting.WEAK]
        left = self._give(alive, finds, strong, tracks, moment)
        lately = [t for t in left if moment.time - t.last.moment.time <= WEAK_S]
        self._give(lately, finds, weak, tracks, moment)
        for at in strong:
            if tracks[at] is None:
                tracks[at] = self._begin(moment, finds[at])
        self._waiting.append((moment, finds, tracks))
        return moment, tracks

    def number_from(self, number: int) -> None:
        """Call the next track this at least: others have been called what comes before it."""
        self.number = max(self.number, number)

    def forget_before(self, moment: Moment, after: float) -> None:
        """Nobody asks for frames before this one any more, nor for what has ended ``after`` it."""
        self.tracks = [t for t in self.tracks if not self._is_past(t, moment, after)]
        for track in self.tracks:
            track.forget_before(moment.seq)

    def _is_past(self, track: Track, moment: Moment, after: float) -> bool:
        lasts = within(track.last.moment, moment, max(self._bridge, after))
        return track.scene < moment.scene or not lasts

    def _now(self, seq: int, stamp: float | None, cut: bool) -> Moment:
        """The frame on the tracker's clock, which always goes on."""
        before = self._moment
        if before is None:
            moment = Moment(seq, 0.0, 0)
        else:
            passed = (seq - before.seq) * NOMINAL_S
            if stamp is not None and self._stamp is not None:
                passed = max(stamp - self._stamp, LEAST_S)
            moment = Moment(seq, before.time + passed, before.scene + cut)
        self._moment, self._stamp = moment, stamp
        return moment

    def _expect(self, moment: Moment, passed: float) -> list[Track]:
        """The tracks that may be found on a frame, moved to where they are expected."""
        alive = [
            track
            for track in self.tracks
            if track.scene == moment.scene and within(track.last.moment, moment, self._bridge)
        ]
        for track in alive:
            track.expected = track.motion.predict(passed)
        return alive

    def _give(
        self,
        tracks: Sequence[Track],
        finds: Sequence[Face],
        chosen: Sequence[int],
        numbers: list[int | None],
        moment: Moment,
    ) -> list[Track]:
        """Give the chosen finds to tracks, and note their numbers; the tracks that got none."""
        expected = [Expected(t.expected, moment.time - t.last.moment.time) for t in tracks]
        found = match(expected, [finds[at].box for at in chosen], self._reach)
        for at, number in zip(chosen, found, strict=True):
            if number is not None:
                track = tracks[number]
                track.motion.correct(finds[at].box)
                track.sights.append(Sight.of(moment, finds[at]))
                numbers[at] = track.id
        seen = set(found)
        return [track for number, track in enumerate(tracks) if number not in seen]

    def _begin(self, moment: Moment, face: Face) -> int:
        track = Track(self.number, moment.scene, Motion(face.box), [Sight.of(moment, face)])
        self.tracks.append(track)
        self.number += 1
        self._go_back(track)
        return track.id

    def _go_back(self, track: Track) -> None:
        """Give a new track the weak finds that lead to it."""
        for moment, finds, tracks in reversed(self._waiting):
            first = track.sights[0]
            unseen = first.moment.time - moment.time
            if moment.scene != track.scene or unseen > WEAK_S:
                return
            weak = [at for at, face in enumerate(finds) if _is_loose(face, tracks[at])]
            expected = [Expected(first.face.box, unseen)]
            found = match(expected, [finds[at].box for at in weak], self._reach)
            if 0 in found:
                at = weak[found.index(0)]
                track.sights.insert(0, Sight.of(moment, finds[at]))
                tracks[at] = track.id


def _is_loose(face: Face, track: int | None) -> bool:
    return track is None and face.sighting is Sighting.WEAK
