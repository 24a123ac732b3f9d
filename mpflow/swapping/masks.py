"""Where in a crop a made face is laid, and how its edge fades.

outline of the mesh --+
what the swapper made +-> the least of them -> away from its own edge -> weight 0..1
what hides the face --+
"""

from __future__ import annotations

import cv2
import numpy as np

from mpflow.models.detections import Floats
from mpflow.models.landmarks import mesh_outline
from mpflow.swapping.contract import Picture

FULL = 255
_BITS = 4  # of a fraction in OpenCV's fixed-point coordinates
_HALF = 128


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
    """The weight [s, s], 0..1, of a mask [s, s], 0..255: it rises from the edge inwards over the
    share ``edge`` of the crop's side, and is nowhere more than the mask.

    The crop's own border is an edge, too: beyond it nothing was made.
    """
    size = len(mask)
    solid = np.zeros((size + 2, size + 2), np.uint8)
    solid[1:-1, 1:-1] = mask >= _HALF
    distance = cv2.distanceTransform(solid, cv2.DIST_L2, cv2.DIST_MASK_5)[1:-1, 1:-1]
    ramp = np.clip((distance - 0.5) / max(edge * size, 1.0), 0, 1)
    smooth = ramp * ramp * (3 - 2 * ramp)  # no kink where it begins and ends
    limit = mask.astype(np.float32) / FULL
    weight: Floats = np.minimum(smooth, limit, dtype=np.float32)
    return weight
