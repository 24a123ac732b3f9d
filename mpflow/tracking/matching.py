"""Which find is which track's: the pairs that are nearest to each other, all taken together.

Nearness is in sizes of a face: how far the middle of a find is from where its track is expected,
and how different they are in size. Boxes that overlap say less: small faces that move have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import lap
import numpy as np
from numpy.typing import NDArray

from mpflow.boxes import centre_of, size_of
from mpflow.tokens import Box

SPEED = 3.0
"""By how many sizes a second a face may miss where it is expected; see mpflow.models.carry."""

FARTHEST = 1.5
"""Sizes from where it is expected at which a face is another's, however long it was not seen."""

RATIO = math.log(2.0)
"""A face is no more than twice as large from one sighting to the next, and no less than half."""

_SIZE_COUNTS = 0.3
_AGE_COUNTS = 0.3
_NEVER = 1e3

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expected:
    """Where a track is expected, not having been seen for so many seconds."""

    box: Box
    unseen: float


def match(expected: Sequence[Expected], boxes: Sequence[Box], reach: float) -> list[int | None]:
    """For each box the number of the expected one that it is, or None.

    ``reach`` is how many sizes away from where it is expected a face may be on the next frame;
    with the time that it was not seen this grows.
    """
    if not expected or not boxes:
        return [None] * len(boxes)
    costs = costs_of(expected, boxes, reach)
    _, of_boxes, _ = lap.lapjv(costs, extend_cost=True, cost_limit=_NEVER / 2)
    return [int(one) if one >= 0 else None for one in of_boxes]


def costs_of(expected: Sequence[Expected], boxes: Sequence[Box], reach: float) -> Matrix:
    """How badly each box, in rows, fits each expected one: the distance in sizes, and a little
    for the rest.

    Nothing is used but what every machine rounds alike, so all of them decide alike.
    """
    here = _places(boxes)[:, :, None]
    there = _places([one.box for one in expected])[:, None, :]
    unseen = np.array([one.unseen for one in expected])
    apart = here - there
    far = np.sqrt(apart[0] ** 2 + apart[1] ** 2) / ((here[2] + there[2]) / 2)
    ratio = np.abs(apart[3])
    costs: Matrix = far + _SIZE_COUNTS * ratio + _AGE_COUNTS * unseen
    costs[(far > np.minimum(reach + SPEED * unseen, FARTHEST)) | (ratio > RATIO)] = _NEVER
    return costs


def _places(boxes: Sequence[Box]) -> Matrix:
    """The middles of boxes, across and down, their sizes and the logarithms of these, in rows."""
    sizes = [size_of(box) for box in boxes]
    across, down = zip(*map(centre_of, boxes), strict=True)
    return np.array([across, down, sizes, [math.log(size) for size in sizes]])
