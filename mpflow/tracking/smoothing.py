"""The trembling of a detector taken out of boxes and points, without lagging behind.

A straight line is laid through a sighting and as many on either side of it, by least squares: a
face that moves evenly stays exactly where it was found. Where the line misses what was found by
more than trembling can be, the face did something else, and what was found counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpflow import boxes
from mpflow.tokens import Face
from mpflow.tracking.tracks import Moment, Sight, Track, Values

TREMBLES = 0.08
"""Sizes by which a detector's boxes and points are off, at most."""

APART_S = 0.25
"""Seconds between the first and the last sighting that a line is laid through, at most."""


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
    found, fitted = track.sights[number].values, _on_the_line(near, moment)
    if abs(fitted - found).max() > TREMBLES * boxes.size_of(face.box):
        return face
    x1, y1, x2, y2, *flat = fitted.tolist()
    points = tuple(zip(flat[::2], flat[1::2], strict=True))
    return replace(face, box=boxes.hull(face.box, (x1, y1, x2, y2)), points=points)


def _on_the_line(sights: Sequence[Sight], moment: Moment) -> Values:
    """Where a straight line through the sightings is at a moment: their weighted mean."""
    times = [sight.moment.time - moment.time for sight in sights]
    middle = sum(times) / len(times)
    spread = sum((time - middle) ** 2 for time in times)
    weights = [1 / len(times) - middle * (time - middle) / spread for time in times]
    line: Values = np.array(weights) @ np.stack([sight.values for sight in sights])
    return line
