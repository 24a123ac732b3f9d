"""YOLOv8-face: no anchors; the sides of a box as distributions of their distance.

YOLOv8's pose network with five points of a face (derronqi/yolov8-face, lindevs/yolov8-face and
others train it). Files give, for every cell of three grids, centre, sides, score and points in
pixels; or they leave out what the last layer does: a softmax over ``bins`` whole distances for
each side of the box (Li and others: "Generalized Focal Loss", 2020), and points from the corner of
the cell (Ultralytics, nn/modules/head.py, Detect and Pose).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from mpflow.models.description import Share
from mpflow.models.detections import Floats, Found
from mpflow.models.makes import Layout, Make, Outputs, around, cell_corners, sigmoid

_POINT_NUMBERS = (15, 10)  # of five points with how sure each is, and without


class Yolov8Face(Make, frozen=True, kw_only=True, tag="yolov8-face"):
    """``bins``: distances that a side of the box is a distribution over."""

    convention: ClassVar[Mapping[str, Any]] = {
        "colour": "rgb",
        "std": (255.0, 255.0, 255.0),
        "letterbox": {"at": "centre", "fill": 114},
    }

    bins: Annotated[int, msgspec.Meta(ge=2, le=64)] = 16
    iou: Share = 0.5

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """All cells in one and finished, or by stride."""
        grids = [(rows, columns) for _, rows, columns in self.grids(width, height)]
        count = sum(rows * columns for rows, columns in grids)
        finished: list[Layout] = [{"faces": [(5 + more, count)]} for more in _POINT_NUMBERS]
        raw: list[Layout] = [
            {"maps": [(4 * self.bins + 1 + more, *grid) for grid in grids]}
            for more in _POINT_NUMBERS
        ]
        return [*finished, *raw]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part for all, or one for each stride."""
        if "faces" in outputs:
            return [_finished(outputs["faces"][0], score)]
        grids = self.grids(width, height)
        return [
            self._raw(values, stride, score)
            for values, (stride, _, _) in zip(outputs["maps"], grids, strict=True)
        ]

    def _raw(self, values: Floats, stride: int, score: float) -> Found:
        """Candidates of one grid [n, channels, rows, columns]."""
        sides = 4 * self.bins
        likely = sigmoid(values[:, sides])
        picture, row, column = np.nonzero(likely >= score)
        rows = values[picture, :, row, column]
        corner = cell_corners(row * values.shape[3] + column, values.shape[3])
        far = _expected(rows[:, :sides].reshape(-1, 4, self.bins))
        centre = corner + np.float32(0.5)
        boxes = np.concatenate([centre - far[:, :2], centre + far[:, 2:]], axis=1) * stride
        points = _places(rows[:, sides + 1 :]) * 2 + corner[:, None]
        return picture, boxes, likely[picture, row, column], points * stride


def _finished(values: Floats, score: float) -> Found:
    """Candidates of [n, 15 or 20, count] in pixels."""
    picture, index = np.nonzero(values[:, 4] >= score)
    rows = values[picture, :, index]
    return picture, around(rows[:, :2], rows[:, 2:4]), rows[:, 4], _places(rows[:, 5:])


def _places(numbers: Floats) -> Floats:
    """Five points [k, 5, 2] from 10 or 15 numbers each."""
    return numbers.reshape(len(numbers), 5, numbers.shape[1] // 5)[:, :, :2]


def _expected(values: Floats) -> Floats:
    """The mean distance of distributions [k, 4, bins] given before their softmax."""
    weights = np.exp(values - values.max(axis=2, keepdims=True))
    mean: Floats = weights @ np.arange(values.shape[2], dtype=np.float32) / weights.sum(axis=2)
    return mean
