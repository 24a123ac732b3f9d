"""Enhance the faces of frames: swapped ones as they will be seen, or all.

    frame, face -> crop in the enhancer's template, with what the swapper made laid over it
                -> network, faces of several frames together
                -> mixed with what it was given -> Enhanced: picture, matrix, mask

A network sees the whole head, so a swapped face is first laid into its surroundings, and what
comes back replaces what the swapper made: where it had nothing to say, the mask still says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from mpflow.models.align import matrix_to
from mpflow.models.detections import Floats
from mpflow.models.warp import warped
from mpflow.swapping.compose import Blending, compose, laid_over
from mpflow.swapping.contract import MASK, MATRIX, SWAP, Made, Picture
from mpflow.swapping.enhancers import OpenedEnhancer
from mpflow.swapping.laying import Composed

if TYPE_CHECKING:
    from mpflow.frame import Frame
    from mpflow.tokens import Face

_FULL = 255
_EDGE = 0.03  # narrow: where the face is blended in, it fades once more
_POINTS = 5
_SAME = 0.99  # of a scale


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A face on its way: the crop BGR [s, s, 3] with the swapped face in it, the matrix [2, 3] from
    the frame to it, and where the picture that comes of it may be seen [s, s]."""

    crop: Picture
    matrix: Floats
    mask: Picture


@dataclass(frozen=True, slots=True, eq=False)
class Enhanced:
    """What takes the place of a swapped face: BGR [k, k, 3], the matrix [2, 3] from the frame to
    it, and where it may be seen [k, k]."""

    picture: Picture
    matrix: Floats
    mask: Picture


def cut(frame: Frame, face: Face, model: OpenedEnhancer, colour: Blending) -> Cut | None:
    """The face as an enhancer takes it; None for one whose points are not known, and for one that
    a network which enlarges would first have to make smaller."""
    if len(face.points) != _POINTS or len({*face.points}) == 1:
        return None
    side = model.side
    matrix = matrix_to(face.points, model.template, side)
    swap, of_swap = frame.attached(face, SWAP), frame.attached(face, MATRIX)
    mask = frame.attached(face, MASK)
    made = None if swap is None or of_swap is None or mask is None else Made(swap, mask)
    if model.times > 1 and _finer(matrix, None if made is None else of_swap):
        return None
    crop = warped(frame, matrix, (side, side), repeat_edge=True)
    if made is None or of_swap is None:
        return Cut(crop, matrix, np.full((side, side), _FULL, np.uint8))
    placed = _placed(made, of_swap, matrix, side)
    return Cut(laid_over(crop, *compose(crop, placed, colour)), matrix, placed.mask)


def enhanced(
    model: OpenedEnhancer, cuts: Sequence[Cut], *, ratio: float, size: int, most: int
) -> list[Enhanced]:
    """What the network makes of crops, ``most`` in one call, mixed by ``ratio`` (0..1) with what it
    was given; kept with at most ``size`` pixels of a side."""
    results: list[Enhanced] = []
    for first in range(0, len(cuts), most):
        part = cuts[first : first + most]
        pictures, good = model.network.run(np.stack([each.crop for each in part]))
        for number, (each, picture) in enumerate(zip(part, pictures, strict=True)):
            seen = None if good is None else good[number]
            results.append(_kept(each, picture, seen, ratio, size))
    return results


def colours(colour: str) -> Blending:
    """How a swapped face is laid into its surroundings before it is enhanced."""
    return Blending("match" if colour == "match" else "keep", edge=_EDGE)


def _finer(matrix: Floats, of_swap: Floats | None) -> bool:
    """Whether the frame has more pixels of a face than the crop, and what was made, too."""
    scale = _scale(matrix) / _SAME
    return scale < 1 and (of_swap is None or scale < _scale(of_swap))


def _scale(matrix: Floats) -> float:
    """Pixels of a crop for one of the frame."""
    return math.sqrt(abs(float(np.linalg.det(matrix[:, :2].astype(np.float64)))))


def _placed(made: Made, of_swap: Floats, matrix: Floats, side: int) -> Made:
    """A swapped face in another crop."""
    from_crop = np.vstack([cv2.invertAffineTransform(matrix.astype(np.float64)), (0, 0, 1)])
    there: Floats = np.asarray(of_swap.astype(np.float64) @ from_crop, np.float32)
    share = made.mask.astype(np.float32) / np.float32(_FULL)
    picture, weight = Composed(made.picture, share, there).patch((0, 0, side, side))
    return Made(picture, np.rint(weight * _FULL).astype(np.uint8))


def _kept(each: Cut, picture: Picture, good: Picture | None, ratio: float, size: int) -> Enhanced:
    made = len(picture)
    if ratio < 1:
        before = _resized(each.crop, made)
        picture = np.asarray(cv2.addWeighted(picture, ratio, before, 1 - ratio, 0), np.uint8)
    kept = min(made, size)
    mask = _resized(each.mask, kept)
    if good is not None:
        mask = np.minimum(mask, _resized(good, kept))
    return Enhanced(_resized(picture, kept), _rescaled(each.matrix, kept / len(each.crop)), mask)


def _rescaled(matrix: Floats, times: float) -> Floats:
    """The matrix to a crop that was resized, pixel edges on pixel edges."""
    shift = matrix[:, 2] * times + (times - 1) / 2
    return np.column_stack([matrix[:, :2] * times, shift]).astype(np.float32)


def _resized(picture: Picture, side: int) -> Picture:
    if len(picture) == side:
        return picture
    how = cv2.INTER_AREA if side < len(picture) else cv2.INTER_CUBIC
    if picture.ndim == 2 and side > len(picture):
        how = cv2.INTER_LINEAR  # a mask does not overshoot
    return np.asarray(cv2.resize(picture, (side, side), interpolation=how), np.uint8)
