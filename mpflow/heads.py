"""How far a head reaches beyond its face: hair, ears, chin, and the back of it in profile.

Where its top is, is told by the five points of a face, else by its pose, else by the picture.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.tokens import Box, Face

Floats = npt.NDArray[np.float32]
Direction = tuple[float, float]

UPRIGHT: Direction = (0.0, -1.0)
"""Where the top of a head is in a picture that is not turned."""

# How far a head reaches beyond a detector's box, in sides of the box: detectors draw it from the
# middle of the forehead to the chin. Measured on portraits, hair that stands up included.
_ABOVE, _BELOW, _BESIDE, _BEHIND = 0.5, 0.2, 0.3, 0.35
# The same for the hull of a mesh, which goes from the hairline to the chin: it has to leave as much
# room below as a face alone is given, or detectors make a head of what is left to see.
_HULL_ABOVE, _HULL_BELOW, _HULL_BESIDE = 0.5, 0.32, 0.35
# From the middle of the eyes the nose of a face in profile stands so many eye distances aside.
_PROFILE = 0.6


def up_of(face: Face, default: Direction = UPRIGHT) -> Direction:
    """Where the top of a face's head is: by its points, else its pose, else ``default``."""
    if len(face.points) == 5:
        points = np.array(face.points, np.float64)
        along = points[:2].mean(axis=0) - points[3:].mean(axis=0)
        if (length := math.hypot(*along)) > 0:
            return float(along[0] / length), float(along[1] / length)
    if face.pose is not None:
        roll = math.radians(face.pose[2])
        return math.sin(roll), -math.cos(roll)
    return default


def head_box(face: Face, default_up: Direction = UPRIGHT) -> Box:
    """The box around the whole head: hair, ears and chin, and the back of a head in profile."""
    x1, y1, x2, y2 = face.box
    side = max(x2 - x1, y2 - y1)
    up = up_of(face, default_up)
    right = -up[1], up[0]
    turned = _turned(face, right)
    reach = [
        (up, _ABOVE),
        ((-up[0], -up[1]), _BELOW),
        (right, _BESIDE + _BEHIND * max(-turned, 0)),
        ((-right[0], -right[1]), _BESIDE + _BEHIND * max(turned, 0)),
    ]

    def more(x: int, y: int) -> float:
        return side * sum(far * max(way[0] * x + way[1] * y, 0) for way, far in reach)

    return x1 - more(-1, 0), y1 - more(0, -1), x2 + more(1, 0), y2 + more(0, 1)


def head_hull(polygon: Floats, up: Direction) -> Floats:
    """The hull of a face [n, 2] grown to that of its head."""
    along = np.array([(-up[1], up[0]), up])  # to the head's right, and up
    places = polygon @ along.T
    low, high = places.min(axis=0), places.max(axis=0)
    half, middle = np.maximum((high - low) / 2, 1e-3), (low + high) / 2
    tall = high[1] - low[1]
    offset = (places - middle) / half
    above = np.where(offset[:, 1] > 0, _HULL_ABOVE, _HULL_BELOW)
    far = half + tall * np.column_stack([np.full(len(places), _HULL_BESIDE), above])
    grown: Floats = ((middle + offset * far) @ along).astype(np.float32)
    return hull_of(grown)


def hull_of(points: Floats) -> Floats:
    """The convex polygon [n, 2] around points [k, 2]."""
    return np.asarray(cv2.convexHull(np.ascontiguousarray(points, np.float32))[:, 0], np.float32)


def _turned(face: Face, right: Direction) -> float:
    """How far a face looks to its picture's right, -1..1 (profile): by its pose or its points."""
    if face.pose is not None:
        return math.sin(math.radians(face.pose[0]))
    if len(face.points) != 5:
        return 0.0
    points = np.array(face.points, np.float64)
    eyes = float(np.hypot(*(points[1] - points[0])))
    aside = float((points[2] - points[:2].mean(axis=0)) @ right)
    return max(-1.0, min(1.0, aside / max(eyes * _PROFILE, 1e-3)))
