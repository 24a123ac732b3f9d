"""Bring what was composed in a crop back into the frame it was cut from.

    picture, weight, matrix -> extent in the frame
                            -> shrunk, where the crop is finer than the frame
                            -> turned and scaled into the region -> patch BGR, weight
                            -> Frame.put_bgr: the planes, only where there is weight

A crop may reach beyond the frame. Nothing is known of what is there, and interpolation must not
take it in: ``within`` puts the nearest of what is known in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.picture import IntBox
from mpflow.swapping.contract import Made, Picture
from mpflow.tokens import Box

Doubles = NDArray[np.float64]

NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)

OPAQUE, MOST = 0.9, 0.5
"""A made face hides another where its weight reaches the one, and is on the face the other in the
mean. At a weight of 0.6 SFace still knows whom it was laid over (0.51 to 0.72 on portraits); on
faces that look ahead the mean is 0.6 to 0.8, as mouths and edges are left."""

_HALF = 128
_INWARDS = 1.5  # pixels of the crop; so far, nothing is interpolated with what lies outside
_SEEN = 0.5 / 255  # of a weight; below it, no sample of a plane changes


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """A picture BGR [s, s, 3], its weight [s, s], float32 0..1, and the matrix [2, 3] from places
    in the frame to places in it."""

    picture: Picture
    weight: Floats
    matrix: Floats

    @property
    def extent(self) -> Box:
        """The box of the frame in which there is weight; NOWHERE where there is none."""
        seen = (self.weight >= _SEEN).astype(np.uint8)
        x, y, width, height = cv2.boundingRect(seen)
        if not width:
            return NOWHERE
        # interpolation carries weight by a pixel of the crop
        x1, y1, x2, y2 = x - 1, y - 1, x + width, y + height
        corners = np.array([(x1, y1), (x2, y1), (x1, y2), (x2, y2)], np.float64)
        back = _inverse(self.matrix)
        places = corners @ back[:, :2].T + back[:, 2]
        (left, top), (right, bottom) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
        return left, top, right + 1, bottom + 1

    def patch(self, region: IntBox) -> tuple[Picture, Floats]:
        """What lies in a region of the frame: BGR [h, w, 3] and weight [h, w], 0..1."""
        back = _inverse(self.matrix)
        picture, weight, step = _shrunk(self.picture, self.weight, _scale(back))
        # the middle of a shrunk pixel is that of those it was made of
        linear = back[:, :2] * step
        shift = back[:, 2] + back[:, :2] @ np.full(2, (step - 1) / 2) - region[:2]
        to_region = np.column_stack([linear, shift])
        size = region[2] - region[0], region[3] - region[1]
        finer = cv2.INTER_CUBIC if _scale(back) > 1 else cv2.INTER_LINEAR
        laid = cv2.warpAffine(
            picture, to_region, size, flags=finer, borderMode=cv2.BORDER_REPLICATE
        )
        share = cv2.warpAffine(weight, to_region, size, flags=cv2.INTER_LINEAR)
        return np.asarray(laid, np.uint8), np.asarray(share, np.float32)


def hides(weight: Floats, face: Picture) -> bool:
    """Whether what is laid by a weight [s, s], 0..1, hides a face that is where its mask [s, s],
    0..255, says: it is opaque, and over most of it."""
    there = weight[face >= _HALF]
    return there.size > 0 and float(there.max()) >= OPAQUE and float(there.mean()) >= MOST


def within(made: Made, matrix: Floats, frame: tuple[int, int]) -> Made:
    """The same where the crop lies within a frame of (width, height); beyond its edge, what is
    nearest to it within."""
    side = len(made.mask)
    to_frame = _inverse(matrix)
    corners = np.array([(0, 0), (side - 1, 0), (0, side - 1), (side - 1, side - 1)], np.float64)
    limit = np.array(frame, np.float64) - 1
    places = corners @ to_frame[:, :2].T + to_frame[:, 2]
    if (places >= 0).all() and (places <= limit).all():
        return made
    rows, columns = np.mgrid[:side, :side]
    crop = np.stack([columns, rows], axis=-1).astype(np.float64)
    near = _INWARDS * _scale(to_frame)
    nearest = np.clip(crop @ to_frame[:, :2].T + to_frame[:, 2], near, limit - near)
    back = (nearest @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)
    across, down = np.ascontiguousarray(back[..., 0]), np.ascontiguousarray(back[..., 1])
    picture, mask = (
        cv2.remap(each, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        for each in (made.picture, made.mask)
    )
    return Made(np.asarray(picture, np.uint8), np.asarray(mask, np.uint8))


def _inverse(matrix: Floats) -> Doubles:
    """From places in the crop to places in the frame [2, 3]."""
    return np.asarray(cv2.invertAffineTransform(matrix.astype(np.float64)), np.float64)


def _scale(back: Doubles) -> float:
    """Pixels of the frame for one of the crop."""
    return math.sqrt(abs(float(np.linalg.det(back[:, :2]))))


def _shrunk(picture: Picture, weight: Floats, scale: float) -> tuple[Picture, Floats, float]:
    """The picture and its weight by means over whole pixels, as long as they are more than twice
    too fine, and how many pixels of before one then is."""
    times = 1 << max(0, math.floor(math.log2(1 / scale))) if 0 < scale < 1 else 1
    side = max(1, len(weight) // times)
    if side == len(weight):
        return picture, weight, 1.0
    small, share = (
        cv2.resize(each, (side, side), interpolation=cv2.INTER_AREA) for each in (picture, weight)
    )
    return np.asarray(small, np.uint8), np.asarray(share, np.float32), len(weight) / side
