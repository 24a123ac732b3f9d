"""How well a face is seen, for knowing who it is: 0 not at all, 1 as well as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mpflow.tokens import Face

Size = tuple[int, int]


def quality_of(points: ArrayLike, side: float, score: float, size: Size) -> float:
    """By the five points [5, 2], the longer side in pixels, the score, and the picture's size."""
    left, right, nose = np.asarray(points, np.float64)[:3]
    eyes = right - left
    across = float((nose - (left + right) / 2) @ eyes / max(float(eyes @ eyes), 1e-9))
    facing = max(0.0, 1 - (across / 0.6) ** 2)
    return score * facing * min(1.0, max(0.0, (side - 5) / 64))


def quality_of_face(face: Face, size: Size) -> float:
    """The same of a face of a token; one without five points is not seen."""
    if len(face.points) != 5:
        return 0.0
    side = max(face.box[2] - face.box[0], face.box[3] - face.box[1])
    return quality_of(face.points, side, face.score, size)
