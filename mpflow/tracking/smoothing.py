"""The trembling of a detector taken out of boxes and points, without lagging behind.

A straight line is laid through a sighting and as many on either side of it, by least squares: a
face that moves evenly stays exactly where it was found. Where the line misses what was found by
more than trembling can be, the face did something else, and what was found counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mpflow.tokens import Face
from mpflow.tracking import boxes
from mpflow.tracking.tracks import Moment, Sight, Track

TREMBLES = 0.08
"""Sizes by which a detector's boxes and points are off, at most."""

APART_S = 0.25
"""Seconds between the first and the last sighting that a line is laid through, at most."""

Values = NDArray[np.float64]


def steadied(face: Face, track: Track, moment: Moment, most: int) -> Face:
    """A face found on a frame, by so many sightings of its track on either side at ``most``.

    Its box is around the one that was found: nothing that was is uncovered.
    """
    number = track.around(moment.seq) - 1
    sides = min(most, number, len(track.sights) - 1 - number)
    near = [
        sight
        for sight in track.sights[number - sides : number + sides + 1]
        if abs(sight.moment.time - moment.time) <= APART_S / 2
        and len(sight.face.points) == len(face.points)
    ]
    if len(near) < 3:
        return face
    found, fitted = _values(face), _on_the_line(near, moment)
    if np.abs(fitted - found).max() > TREMBLES * boxes.size_of(face.box):
        return face
    x1, y1, x2, y2, *flat = (float(value) for value in fitted)
    points = tuple(zip(flat[::2], flat[1::2], strict=True))
    return replace(face, box=boxes.hull(face.box, (x1, y1, x2, y2)), points=points)


def _on_the_line(sights: Sequence[Sight], moment: Moment) -> Values:
    """Where a straight line through the sightings is at a moment."""
    times = np.array([sight.moment.time - moment.time for sight in sights])
    values = np.array([_values(sight.face) for sight in sights])
    off = times - times.mean()
    slope = off @ (values - values.mean(axis=0)) / (off @ off)
    line: Values = values.mean(axis=0) - times.mean() * slope
    return line


def _values(face: Face) -> Values:
    return np.array([*face.box, *(value for point in face.points for value in point)])
