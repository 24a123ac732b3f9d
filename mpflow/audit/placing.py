"""Where a place of the input lies in the output, which may have another size or be stored turned.

stored input -> upright input -> upright output -> stored output

All matrices take (x, y, 1) with the centre of the first pixel at (0, 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpflow.spec import VideoInfo
from mpflow.tokens import Box

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Canvas:
    """A stored picture: its sides, and how many quarter turns counter-clockwise make it upright."""

    width: int
    height: int
    turns: int = 0

    @classmethod
    def of(cls, video: VideoInfo) -> Canvas:
        """The pictures of a video."""
        return cls(video.width, video.height, round(video.rotation / 90) % 4)

    @property
    def shown(self) -> tuple[int, int]:
        """Width and height as it is seen."""
        sides = self.width, self.height
        return sides if self.turns % 2 == 0 else sides[::-1]

    @property
    def upright(self) -> Matrix:
        """The matrix [3, 3] from places as stored to places as seen."""
        right, bottom = self.width - 1, self.height - 1
        rows = {
            0: [(1, 0, 0), (0, 1, 0)],
            1: [(0, 1, 0), (-1, 0, right)],
            2: [(-1, 0, right), (0, -1, bottom)],
            3: [(0, -1, bottom), (1, 0, 0)],
        }[self.turns]
        return np.array([*rows, (0, 0, 1)], np.float64)


def placement(source: Canvas, target: Canvas) -> Matrix:
    """The matrix [3, 3] from places of one to those of the other; the whole fills the whole."""
    (width, height), (wide, high) = source.shown, target.shown
    x, y = wide / width, high / height
    scaled = np.array([(x, 0, (x - 1) / 2), (0, y, (y - 1) / 2), (0, 0, 1)])
    return np.asarray(np.linalg.inv(target.upright) @ scaled @ source.upright)


def placed(box: Box, matrix: Matrix) -> Box:
    """The box around a box's place."""
    x1, y1, x2, y2 = box
    corners = np.array([(x1, y1, 1), (x2, y2, 1)]) @ matrix.T
    (left, top), (right, bottom) = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def into_square(box: Box, side: int, around: float = 1.0) -> Matrix:
    """The matrix [3, 3] that brings a box, ``around`` times as large, into a square picture.

    Both sides by their own scale where ``around`` is 1; else the longer one fits, undistorted.
    """
    x1, y1, x2, y2 = box
    wide, high = max(x2 - x1, 1.0), max(y2 - y1, 1.0)
    if around != 1.0:
        wide = high = max(wide, high) * around
    x, y = side / wide, side / high
    middle = (side - 1) / 2
    return np.array(
        [(x, 0, middle - x * (x1 + x2) / 2), (0, y, middle - y * (y1 + y2) / 2), (0, 0, 1)]
    )
