"""Where in a crop a made face is laid, and how its edge fades.

outline of the mesh --+
what the swapper made +-> the least of them -> fading towards its edge -> weight 0..1
what hides the face --+       (inwards from the hull of it; cut out within it, as it is)
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.models.landmarks import mesh_outline
from mpflow.swapping.contract import Picture

FULL = 255
_BITS = 4  # of a fraction in OpenCV's fixed-point coordinates
_HALF = 128
_SPECK = 0.05  # of the largest part's area; what is smaller is no part of a face


def outline_mask(mesh: Floats, size: int) -> Picture:
    """255 within the outline of a mesh [k, 2 or 3], in pixels of a crop [size, size]; 0 outside."""
    mask = np.zeros((size, size), np.uint8)
    places = mesh_outline(mesh) * (1 << _BITS)
    cv2.fillConvexPoly(mask, np.rint(places).astype(np.int32), FULL, shift=_BITS)
    return mask


def least(first: Picture, *others: Picture | None) -> Picture:
    """What all masks [h, w] leave; None stands for one that leaves everything."""
    for mask in others:
        if mask is not None:
            first = np.minimum(first, mask)
    return first


def weight_of(mask: Picture, edge: float) -> Floats:
    """The weight [s, s], 0..1, of a mask [s, s], 0..255.

    It rises from the hull of the mask inwards, over the share ``edge`` of the hull's longer side,
    and is nowhere more than the mask. What is cut out of the hull (a mouth that is left alone, a
    hand before the face) has the edge that it has in the mask: a wide one there would cost half a
    brow.
    The crop's own border is an edge, too: beyond it nothing was made.
    """
    weight = np.zeros(mask.shape, np.float32)
    hull = _hull(mask)
    if hull is None:
        return weight
    x, y, width, height = cv2.boundingRect(hull)
    part = slice(y, y + height), slice(x, x + width)
    inside = np.zeros((height + 2, width + 2), np.uint8)
    cv2.fillConvexPoly(inside, hull - (x - 1, y - 1), 1)
    distance = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_5)[1:-1, 1:-1]
    ramp = np.clip((distance - 0.5) / np.float32(max(edge * max(width, height), 1.0)), 0, 1)
    smooth = ramp * ramp * (3 - 2 * ramp)  # no kink where it begins and ends
    weight[part] = np.minimum(smooth, mask[part] * np.float32(1 / FULL))
    return weight


def _hull(mask: Picture) -> NDArray[np.int32] | None:
    """The hull [n, 1, 2] of what is set in a mask, specks left out; None for an empty one."""
    solid = (mask >= _HALF).astype(np.uint8)
    contours, _ = cv2.findContours(solid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    areas = [cv2.contourArea(contour) for contour in contours]
    most = max(areas, default=0.0)
    if not most:
        return None
    parts = [each for each, area in zip(contours, areas, strict=True) if area >= _SPECK * most]
    return np.asarray(cv2.convexHull(np.vstack(parts)), np.int32)
