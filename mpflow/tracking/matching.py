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

from mpflow.tokens import Box
from mpflow.tracking.boxes import centre_of, size_of

SPEED = 3.0
"""By how many sizes a second a face may miss where it is expected; see mpflow.models.carry."""

FARTHEST = 1.5
"""Sizes from where it is expected at which a face is another's, however long it was not seen."""

RATIO = math.log(2.0)
"""A face is no more than twice as large from one sighting to the next, and no less than half."""

_SIZE_COUNTS = 0.3
_AGE_COUNTS = 0.3
_NEVER = 1e3


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
    costs = np.array([[_cost(one, box, reach) for one in expected] for box in boxes])
    _, of_boxes, _ = lap.lapjv(costs, extend_cost=True, cost_limit=_NEVER / 2)
    return [int(one) if one >= 0 else None for one in of_boxes]


def _cost(expected: Expected, box: Box, reach: float) -> float:
    """How badly a find fits: the distance in sizes, and a little for the rest."""
    here, there = size_of(box), size_of(expected.box)
    (x, y), (u, v) = centre_of(box), centre_of(expected.box)
    far = math.hypot(x - u, y - v) / ((here + there) / 2)
    ratio = abs(math.log(here / there))
    if far > min(reach + SPEED * expected.unseen, FARTHEST) or ratio > RATIO:
        return _NEVER
    return far + _SIZE_COUNTS * ratio + _AGE_COUNTS * expected.unseen
