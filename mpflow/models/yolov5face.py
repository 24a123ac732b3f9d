"""YOLO5Face: anchors of three sizes in each cell of three grids.

The network (Qi, Tan, Yao, Liu: "YOLO5Face: Why Reinventing a Face Detector", 2021) gives for each
anchor 16 numbers: centre, sides, how likely there is anything, five points, and how likely it is
a face. Files give them finished, in pixels, or as they leave the last layer; the arithmetic that
is then left is that of the authors' Detect layer (deepcam-cn/yolov5-face, models/yolo.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from mpflow.models.description import Share
from mpflow.models.detections import Floats, Found
from mpflow.models.makes import Layout, Make, Outputs, around, cell_corners, sigmoid

_NUMBERS = 16
_CENTRE, _SIDES, _ANY, _POINTS, _FACE = slice(0, 2), slice(2, 4), 4, slice(5, 15), 15


class Yolov5Face(Make, frozen=True, kw_only=True, tag="yolov5-face"):
    """``anchors``: width and height in pixels, one after the other, by stride."""

    convention: ClassVar[Mapping[str, Any]] = {
        "colour": "rgb",
        "std": (255.0, 255.0, 255.0),
        "letterbox": {"at": "centre", "fill": 114},
    }

    anchors: tuple[tuple[float, ...], ...] = (
        (4, 5, 8, 10, 13, 16),
        (23, 29, 43, 55, 73, 105),
        (146, 217, 231, 300, 335, 433),
    )
    iou: Share = 0.5

    def __post_init__(self) -> None:
        if len(self.anchors) != len(self.strides) or any(len(each) % 2 for each in self.anchors):
            raise ValueError("anchors must have pairs of numbers for each of the strides")

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """All in one and finished; or by stride, the anchors apart or among the channels."""
        grids = [
            (len(sides) // 2, rows, columns)
            for (_, rows, columns), sides in zip(
                self.grids(width, height), self.anchors, strict=True
            )
        ]
        count = sum(anchors * rows * columns for anchors, rows, columns in grids)
        return [
            {"faces": [(count, _NUMBERS)]},
            {"maps": [(*grid, _NUMBERS) for grid in grids]},
            {"channels": [(each * _NUMBERS, rows, columns) for each, rows, columns in grids]},
        ]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part for all, or one for each stride."""
        if "faces" in outputs:
            return [_finished(outputs["faces"][0], score)]
        found = []
        for level, (stride, _, _) in enumerate(self.grids(width, height)):
            anchors = np.array(self.anchors[level], np.float32).reshape(-1, 2)
            if "maps" in outputs:
                values = outputs["maps"][level]
            else:
                channels = outputs["channels"][level]
                n, _, rows, columns = channels.shape
                values = channels.reshape(n, len(anchors), _NUMBERS, rows, columns)
                values = values.transpose(0, 1, 3, 4, 2)
            found.append(_raw(values, anchors, stride, score))
        return found


def _finished(values: Floats, score: float) -> Found:
    """Candidates of [n, count, 16] in pixels."""
    likely = values[:, :, _ANY] * values[:, :, _FACE]
    picture, index = np.nonzero(likely >= score)
    rows = values[picture, index]
    boxes = around(rows[:, _CENTRE], rows[:, _SIDES])
    return picture, boxes, likely[picture, index], rows[:, _POINTS].reshape(-1, 5, 2)


def _raw(values: Floats, anchors: Floats, stride: int, score: float) -> Found:
    """Candidates of one grid [n, anchors, rows, columns, 16] as the last layer gives it."""
    likely = sigmoid(values[..., _ANY]) * sigmoid(values[..., _FACE])
    picture, anchor, row, column = np.nonzero(likely >= score)
    rows = values[picture, anchor, row, column]
    corner = cell_corners(row * values.shape[3] + column, values.shape[3])
    laid = anchors[anchor]
    centre = (sigmoid(rows[:, _CENTRE]) * 2 - np.float32(0.5) + corner) * stride
    boxes = around(centre, (sigmoid(rows[:, _SIDES]) * 2) ** 2 * laid)
    offsets = rows[:, _POINTS].reshape(-1, 5, 2) * laid[:, None]
    return (
        picture,
        boxes,
        likely[picture, anchor, row, column],
        offsets + corner[:, None] * stride,
    )
