"""A photo's face without the hair that hangs into it: over forehead, temples and sides.

The colour of cheeks and nose says what is skin. In the middle of the face everything counts as
skin: brows, eyes, lips and beards belong to it.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.contract import Picture
from mpflow.swapping.flatface import places
from mpflow.swapping.triangles import triangles

# On the face laid flat (mpflow.swapping.flatface): hair may be above the brows and at the sides;
# cheeks and nose are below the eyes, above the mouth, and not far from the middle.
_BROWS, _SIDES = -320.0, 560.0
_CHEEKS = 100.0, 480.0, 420.0

_MAD_TO_SIGMA = 1.4826  # of a normal distribution
_LEAST_SPREAD = np.array([14.0, 5.0, 5.0], np.float32)  # levels of Y, Cr, Cb
_SIGMAS = 3.0  # how far skin may be from the middle of its colours, in spreads
_LEAST_PIXELS = 50
_SPECK, _AROUND = 0.005, 0.035  # of the face's size: what is no strand; how far hair has a fringe
_EDGE = 0.02  # of the face's size: so far inwards a mesh may take in what is beside the face
_REACH = 3.0  # pixels that inpainting looks around
_SMOOTH, _FADE = 0.025, 0.04  # of the face's size: spreads of what is made up, and of its goodness


def without_hair(picture: Picture, seen: NDArray[np.int16], side: float) -> Picture:
    """A picture BGR [h, w, 3] of a face of ``side`` pixels, with skin where hair hangs before it,
    and as a fourth channel how good it is: 0 well within the hair, 255 outside.

    ``seen`` [h, w] is the mesh's triangle at each pixel, -1 for none. The skin is made up from
    what is around (Telea, "An Image Inpainting Technique Based on the Fast Marching Method",
    2004), and smooth, so that a face can fade out over it.
    """
    hair = _hair(picture, seen, side)
    beyond = np.where(seen < 0, np.uint8(255), np.uint8(0))
    unsure = cv2.max(hair, cv2.dilate(beyond, _disc(_EDGE * side)))
    filled = cv2.inpaint(picture, unsure, _REACH, cv2.INPAINT_TELEA)
    smooth = cv2.GaussianBlur(filled, (0, 0), _SMOOTH * side)
    share = cv2.GaussianBlur(unsure, (0, 0), _SMOOTH * side / 2)[..., None] / 255
    clean = np.rint(filled * (1 - share) + smooth * share).astype(np.uint8)
    deep = cv2.erode(cv2.max(hair, beyond), _disc(_AROUND * side))
    return np.dstack([clean, 255 - cv2.GaussianBlur(deep, (0, 0), _FADE * side)])


def _hair(picture: Picture, seen: NDArray[np.int16], side: float) -> NDArray[np.uint8]:
    """255 where hair is before the face, 0 elsewhere [h, w]."""
    flat = places()[triangles()].mean(axis=1)
    x, y = np.abs(flat[:, 0]), flat[:, 1]
    inside = seen >= 0
    sure = inside & ((y > _CHEEKS[0]) & (y < _CHEEKS[1]) & (x < _CHEEKS[2]))[seen]
    if sure.sum() < _LEAST_PIXELS:
        return np.zeros(seen.shape, np.uint8)
    doubtful = inside & ((y < _BROWS) | (x > _SIDES))[seen]
    other = np.where(doubtful & ~_alike(picture, sure), np.uint8(255), np.uint8(0))
    strands = cv2.morphologyEx(other, cv2.MORPH_OPEN, _disc(_SPECK * side))
    around = cv2.dilate(strands, _disc(_AROUND * side)) > 0
    _, parts = cv2.connectedComponents((around | ~inside).astype(np.uint8))
    hanging = np.unique(parts[~inside])  # a mole, or the end of a brow, is no hair of the head
    return np.where(inside & around & np.isin(parts, hanging), np.uint8(255), np.uint8(0))


def _alike(picture: Picture, sure: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which pixels have a colour like those that are ``sure``."""
    colours: Floats = cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb).astype(np.float32)
    middle = np.median(colours[sure], axis=0)
    spread = _MAD_TO_SIGMA * np.median(np.abs(colours[sure] - middle), axis=0)
    away = (colours - middle) / np.maximum(spread, _LEAST_SPREAD)
    found: NDArray[np.bool_] = (away**2).sum(axis=2) < _SIGMAS**2
    return found


def _disc(radius: float) -> NDArray[np.uint8]:
    side = 2 * max(1, round(radius)) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
    return np.asarray(disc, np.uint8)
