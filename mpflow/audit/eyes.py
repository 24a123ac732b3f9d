"""What is looked at in the pixels of a pair of frames: detail, likeness, and a find from nearer.

Places are the input's; ``Pair.place`` says where they lie in the output. Only parts of frames are
ever BGR, and no embedding leaves ``likeness``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.audit.order import Pictures
from mpflow.audit.placing import Canvas, Matrix, into_square, placed
from mpflow.audit.verdicts import Detail, Likeness
from mpflow.boxes import overlap
from mpflow.frame import Frame
from mpflow.models.align import CROP, matrix_to
from mpflow.models.detections import Detector
from mpflow.models.sface import SFace
from mpflow.models.warp import warped
from mpflow.tokens import Box, Point

Picture = NDArray[np.uint8]

_FINE, _COARSE = 64, 24
"""Sides of the square in which detail is compared: a face is made smaller, never larger."""
_DETAIL_SIGMA = 2.5  # pixels of that square: what is finer than this is detail
_RIM = 8  # an eighth of it at each side, where a cover may be soft
_LEAST_DETAIL = 1.0  # grey levels of spread: with less there is nothing to compare

_BLANK_SIGMA = CROP / 5  # leaves hues and nothing of a face

_NEARER = (2.2, 3.5)  # how many sides of a find an enlarged look shows
_NEARER_SIDE = 256
_SAME_FIND = 0.3

_SMALL = 24
_COVER_REACHES = 0.5  # of a face's sides, beyond each of them


@dataclass(frozen=True, slots=True)
class Pair:
    """A frame of the input and that of the output at its time; ``place`` leads from one's places
    to the other's."""

    source: Frame
    target: Frame
    place: Matrix


class Eyes:
    """An embedder, and the second detector for enlarged looks; both on the caller's thread."""

    def __init__(self, embedder: SFace, detector: Detector) -> None:
        self._embedder = embedder
        self._detector = detector

    def likeness(self, pair: Pair, points: Sequence[Point]) -> Likeness:
        """How alike the face with these five points is in both."""
        to_crop = _whole(matrix_to(points, "arcface", CROP))
        before, after = _both(pair, to_crop, CROP)
        blank = np.asarray(cv2.GaussianBlur(before, (0, 0), _BLANK_SIGMA), np.uint8)
        known, shown, bare = self._embedder.embed([before, after, blank])
        return Likeness(float(known @ shown), float(known @ bare))

    def nearer(self, frame: Frame, box: Box) -> float:
        """The mean score of a find in two enlarged looks, 0 where one does not see it."""
        looks = [into_square(box, _NEARER_SIDE, around) for around in _NEARER]
        pictures = [_part(frame, look, _NEARER_SIDE).transpose(2, 0, 1) for look in looks]
        found = self._detector.detect(np.array(pictures, np.float32))
        return sum(
            max(
                (
                    float(score)
                    for place, score in zip(finds.boxes.tolist(), finds.scores, strict=True)
                    if overlap(tuple(place), placed(box, look)) >= _SAME_FIND
                ),
                default=0.0,
            )
            for finds, look in zip(found, looks, strict=True)
        ) / len(looks)


def detail(pair: Pair, box: Box) -> Detail | None:
    """How much of the input's fine detail in a box the output has; None where it has none."""
    side = round(min(_FINE, max(_COARSE, box[2] - box[0], box[3] - box[1])))
    before, after = (_fine(part) for part in _both(pair, into_square(box, side), side))
    own = float(np.sqrt((before**2).mean()))
    if own < _LEAST_DETAIL:
        return None
    other = float(np.sqrt((after**2).mean()))
    product = float((before * after).mean())
    return Detail(product / max(own * other, 1e-6), product / own**2)


def small(pair: Pair, canvas: Canvas, faces: Sequence[Box]) -> Pictures:
    """Both whole pictures, so small that they can be held against many others."""
    whole = into_square((-0.5, -0.5, canvas.width - 0.5, canvas.height - 0.5), _SMALL)
    before, after = (_luma(part) for part in _both(pair, whole, _SMALL))
    free = np.ones((_SMALL, _SMALL), bool)
    for box in faces:
        x1, y1, x2, y2 = placed(box, whole)
        right, down = (x2 - x1) * _COVER_REACHES, (y2 - y1) * _COVER_REACHES
        rows = slice(max(0, int(y1 - down)), max(0, math.ceil(y2 + down)))
        free[rows, max(0, int(x1 - right)) : max(0, math.ceil(x2 + right))] = False
    return Pictures(before, after, free)


def looks(pair: Pair, box: Box, canvas: Canvas, side: int, around: float) -> tuple[Picture, ...]:
    """A face's surroundings in both, upright, as squares for people to look at."""
    return _both(pair, _upright_square(box, canvas, side, around), side)


def look(frame: Frame, box: Box, canvas: Canvas, side: int, around: float) -> Picture:
    """The same of one frame alone."""
    return _part(frame, _upright_square(box, canvas, side, around), side)


def _upright_square(box: Box, canvas: Canvas, side: int, around: float) -> Matrix:
    upright = canvas.upright
    return np.asarray(into_square(placed(box, upright), side, around) @ upright)


def _both(pair: Pair, matrix: Matrix, side: int) -> tuple[Picture, Picture]:
    """The square that a matrix shows of the input, and the same of the output."""
    back = np.asarray(matrix @ np.linalg.inv(pair.place))
    return _part(pair.source, matrix, side), _part(pair.target, back, side)


def _part(frame: Frame, matrix: Matrix, side: int) -> Picture:
    return warped(frame, matrix[:2].astype(np.float32), (side, side))


def _fine(part: Picture) -> NDArray[np.float32]:
    """Luma without what is coarse, and without the rim."""
    luma = _luma(part)
    fine = luma - cv2.GaussianBlur(luma, (0, 0), _DETAIL_SIGMA)
    rim = len(fine) // _RIM
    middle = fine[rim:-rim, rim:-rim]
    return np.asarray(middle - middle.mean(), np.float32)


def _luma(part: Picture) -> NDArray[np.float32]:
    return np.asarray(cv2.cvtColor(part, cv2.COLOR_BGR2GRAY), np.float32)


def _whole(matrix: NDArray[np.float32]) -> Matrix:
    return np.vstack([matrix, (0.0, 0.0, 1.0)]).astype(np.float64)
