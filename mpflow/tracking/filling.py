"""Where the face of a track is on a frame that has no find of it.

    found before and after     on the way from one to the other, in a larger box
    found before, or after     where it was, and where it was going, in a box that grows

Boxes grow with the time to the nearest sighting: the more time, the more may have happened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mpflow import boxes
from mpflow.tokens import Face, Point, Sighting
from mpflow.tracking.tracks import Moment, Sight, Track, within

BESIDE, BETWEEN = 0.02, 2.0
"""By what share of its size a box between two sightings grows on each side: so much, as boxes
tremble, and so much times the square of the seconds to the nearer one. That is half the size in
half a second, and next to nothing from one look of the detector to another: a box that swells and
shrinks costs an encoder more than a large one."""

BEYOND = 1.5
"""By what share it grows in a second where there is a sighting on one side only."""

MOST = 0.75
"""It never grows by more on each side: the box is two and a half times as large then."""

FASTEST = 4.0
"""Sizes a second: a speed that was measured between two boxes is no greater than that."""

LEAST_S = 0.3
"""A face that was seen but once may be none. It is covered for so many seconds before and after,
and for twice the time more over which it was seen."""

GOES_ON_S = 0.3
"""For so many seconds a face is taken to go on as it did."""

LOOKS_BACK_S = 0.25
"""Over so many seconds of sightings its speed is measured."""

POINTS_S = 0.5
"""Between sightings no farther apart, eyes, nose and mouth are on the way as the box is."""


@dataclass(frozen=True, slots=True)
class Reach:
    """For how many seconds a face is covered before its first and after its last sighting."""

    before: float
    after: float


def found_at(track: Track, moment: Moment) -> Sight | None:
    """The sighting of a track on a frame."""
    number = track.around(moment.seq)
    if number and track.sights[number - 1].moment.seq == moment.seq:
        return track.sights[number - 1]
    return None


def ends_at(track: Track, moment: Moment) -> list[Sight]:
    """The sightings of a track next to a frame: one before and one after it, as far as known."""
    number = track.around(moment.seq)
    return track.sights[max(number - 1, 0) : number + 1]


def filled(track: Track, moment: Moment, reach: Reach) -> Face | None:
    """The face of a track on a frame without a find of it; None where it is not."""
    if track.scene != moment.scene:
        return None
    number = track.around(moment.seq)
    before, after = track.sights[:number], track.sights[number:]
    if before and after:
        return _on_the_way(track, before[-1], moment, after[0])
    if before:
        near = before[-1].moment
        there = min(reach.after, _believed(near.time - track.began))
        return _beyond(track, before[::-1], moment) if within(near, moment, there) else None
    if after:
        near = after[0].moment
        there = min(reach.before, _believed(after[-1].moment.time - near.time))
        return _beyond(track, after, moment) if within(moment, near, there) else None
    return None


def _believed(seen: float) -> float:
    """For how many seconds somebody is there who was seen for so long."""
    return LEAST_S + 2 * seen


def _on_the_way(track: Track, before: Sight, here: Moment, after: Sight) -> Face:
    start, end = before.moment.time, after.moment.time
    share = (here.time - start) / (end - start)
    nearest = min(here.time - start, end - here.time)
    box = boxes.between(before.face.box, after.face.box, share)
    points = _points_between(before.face, after.face, share) if end - start <= POINTS_S else ()
    score = min(before.face.score, after.face.score)
    box = boxes.wider(box, min(BESIDE + BETWEEN * nearest**2, MOST) * boxes.size_of(box))
    return Face(box, score, points, track.id, sighting=Sighting.FILLED)


def _beyond(track: Track, sights: Sequence[Sight], here: Moment) -> Face:
    """Beyond the first of some sightings, which lead away from the frame."""
    nearest = sights[0]
    box = nearest.face.box
    away = here.time - nearest.moment.time
    across, down = _speed(sights)
    goes = math.copysign(min(abs(away), GOES_ON_S), away)
    box = boxes.hull(box, boxes.moved(box, across * goes, down * goes))
    box = boxes.wider(box, min(BEYOND * abs(away), MOST) * boxes.size_of(nearest.face.box))
    return Face(box, nearest.face.score, track=track.id, sighting=Sighting.EXTENDED)


def _speed(sights: Sequence[Sight]) -> Point:
    """Pixels a second across and down, from the first of some sightings and those near it."""
    first = sights[0]
    near = [s for s in sights if abs(s.moment.time - first.moment.time) <= LOOKS_BACK_S]
    passed = near[-1].moment.time - first.moment.time
    if not passed:
        return 0.0, 0.0
    (x, y), (u, v) = (boxes.centre_of(sight.face.box) for sight in (first, near[-1]))
    across, down = (u - x) / passed, (v - y) / passed
    slower = FASTEST * boxes.size_of(first.face.box) / max(math.hypot(across, down), 1e-9)
    return across * min(slower, 1.0), down * min(slower, 1.0)


def _points_between(one: Face, other: Face, share: float) -> tuple[Point, ...]:
    if len(one.points) != len(other.points):
        return ()
    pairs = zip(one.points, other.points, strict=True)
    return tuple((x + (u - x) * share, y + (v - y) * share) for (x, y), (u, v) in pairs)
