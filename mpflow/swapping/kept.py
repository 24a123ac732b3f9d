"""Where a made face leaves its target as it is: an open mouth, shut eyes.

A photo holds no tongue and no teeth but those it shows, and no lids but as it shows them. The mesh
follows an open mouth only part of the way and shut eyes not at all, so teeth would be seen on lips,
and eyes would stare through a blink. Where either picture's mouth is open the whole mouth stays the
target's, lips and all; where either's eyes are shut, its eyes with their lids.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.flatface import LEFT_EYE, RIGHT_EYE

_LIPS = [
    *(61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185),
]
_UPPER_LIP, _LOWER_LIP = 13, 14  # their middles, inside

_WIDER, _LOWERED = 1.08, 0.6  # lips are wider than the mesh has them, and lower by so many gaps
_LONGER, _HIGHER = 1.3, 1.9  # lids and lashes reach so much farther than the mesh's ring
_SOFT = 0.012  # of the crop's side: the spread over which the target becomes the made face
_BITS = 4  # of a fraction in OpenCV's fixed-point coordinates


def kept(mesh: Floats, size: int, mouth: float, eyes: float) -> NDArray[np.uint8] | None:
    """How much of the target stays in a crop of ``size`` pixels, 0..255 [size, size].

    ``mouth`` and ``eyes`` are the shares, 0..1, of them that do; None where neither does.
    """
    areas = [(_mouth(mesh), mouth), (_eye(mesh, LEFT_EYE), eyes), (_eye(mesh, RIGHT_EYE), eyes)]
    found = np.zeros((size, size), np.uint8)
    for area, share in areas:
        places = np.rint(area * (1 << _BITS)).astype(np.int32)
        cv2.fillPoly(found, [places], round(255 * share), cv2.LINE_8, _BITS)
    if not found.any():
        return None
    return np.asarray(cv2.GaussianBlur(found, (0, 0), _SOFT * size), np.uint8)


def _mouth(mesh: Floats) -> Floats:
    """The polygon [n, 2] of the lips as they are: the mesh has an open mouth too small."""
    lips = mesh[_LIPS, :2]
    middle = lips.mean(axis=0)
    gap = mesh[_LOWER_LIP, :2] - mesh[_UPPER_LIP, :2]
    below = ((lips - middle) @ gap > 0)[:, None]
    found: Floats = middle + (lips - middle) * _WIDER + below * gap * _LOWERED
    return found


def _eye(mesh: Floats, ring: list[int]) -> Floats:
    """The polygon [16, 2] of an eye with its lids and lashes."""
    lids = mesh[ring, :2]
    middle, along = lids.mean(axis=0), lids[8] - lids[0]
    along = along / max(float(np.hypot(*along)), 1e-6)
    away = lids - middle
    part = (away @ along)[:, None] * along
    found: Floats = middle + part * _LONGER + (away - part) * _HIGHER
    return found
