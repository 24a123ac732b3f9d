"""How well a face is seen, for knowing who it is: 0 not at all, 1 as well as can be."""

from __future__ import annotations

from mpflow.models.pose import pose_of, quality
from mpflow.tokens import Face

_POINTS = 5


def quality_of(face: Face) -> float:
    """By its size, score and pose; one without five points cannot be looked at."""
    if len(face.points) != _POINTS:
        return 0.0
    return quality(face.pose or pose_of(face.points), _side(face), face.score)


def quality_at_best(face: Face) -> float:
    """What it would be from the front: never less, and known without the pose."""
    return quality((0.0, 0.0, 0.0), _side(face), face.score)


def _side(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
