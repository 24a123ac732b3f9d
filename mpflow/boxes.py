"""What boxes have to do with each other. A box's size is the side of a square of its area."""

from __future__ import annotations

import math

from mpflow.tokens import Box


def area(box: Box) -> float:
    """How many pixels are in a box; 0 for one that is none."""
    x1, y1, x2, y2 = box
    return max(x2 - x1, 0.0) * max(y2 - y1, 0.0)


def size_of(box: Box) -> float:
    """The side of a square of the same area, in pixels; 1 at least."""
    x1, y1, x2, y2 = box
    return math.sqrt(max((x2 - x1) * (y2 - y1), 1.0))


def centre_of(box: Box) -> tuple[float, float]:
    """The middle of a box."""
    x1, y1, x2, y2 = box
    return (x1 + x2) / 2, (y1 + y2) / 2


def hull(one: Box, other: Box) -> Box:
    """The smallest box around two."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = one, other
    return min(a1, x1), min(b1, y1), max(a2, x2), max(b2, y2)


def wider(box: Box, more: float) -> Box:
    """A box that is larger by so many pixels on each side."""
    x1, y1, x2, y2 = box
    return x1 - more, y1 - more, x2 + more, y2 + more


def moved(box: Box, across: float, down: float) -> Box:
    """A box somewhere else."""
    x1, y1, x2, y2 = box
    return x1 + across, y1 + down, x2 + across, y2 + down


def between(one: Box, other: Box, share: float) -> Box:
    """The box on the way from one to another: at 0 the one, at 1 the other."""
    x1, y1, x2, y2 = (a + (b - a) * share for a, b in zip(one, other, strict=True))
    return x1, y1, x2, y2


def shared(one: Box, other: Box) -> float:
    """The area of what two boxes have in common."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = one, other
    across, down = min(a2, x2) - max(a1, x1), min(b2, y2) - max(b1, y1)
    return across * down if across > 0 and down > 0 else 0.0


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes have anything in common."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = one, other
    return a1 < x2 and x1 < a2 and b1 < y2 and y1 < b2


def overlap(one: Box, other: Box) -> float:
    """What two boxes have in common, as a share of what they cover together."""
    both = shared(one, other)
    return both / (area(one) + area(other) - both) if both else 0.0


def inside(inner: Box, outer: Box) -> bool:
    """Whether a box lies in another."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = inner, outer
    return x1 <= a1 and y1 <= b1 and a2 <= x2 and b2 <= y2
