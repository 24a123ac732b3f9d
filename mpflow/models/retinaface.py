"""RetinaFace: boxes and points relative to boxes that are laid over the picture beforehand.

The network (Deng, Guo, Ververas, Kotsia, Zafeiriou: "RetinaFace: Single-Shot Multi-Level Face
Localisation in the Wild", 2020) looks from every cell of three grids for faces of two sizes each.
It gives how likely each is none or a face, how far the box is from the one laid there (centre by
``variance[0]`` of its sides, logarithm of the sides by ``variance[1]``), and five points alike.
Conventions and order are those of the PyTorch version that most ONNX files come from
(biubug6/Pytorch_Retinaface: data/config.py, layers/functions/prior_box.py, utils/box_utils.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from mpflow.models.description import Share
from mpflow.models.detections import Floats, Found
from mpflow.models.makes import Layout, Make, Outputs, around, cell_corners


class RetinaFace(Make, frozen=True, kw_only=True, tag="retinaface"):
    """``anchors``: sides in pixels of the boxes laid over each cell, by stride. ``scores``: whether
    the file gives probabilities, or the numbers before the softmax."""

    convention: ClassVar[Mapping[str, Any]] = {"colour": "bgr", "mean": (104.0, 117.0, 123.0)}

    anchors: tuple[tuple[float, ...], ...] = ((16, 32), (64, 128), (256, 512))
    variance: tuple[float, float] = (0.1, 0.2)
    scores: Literal["probabilities", "logits"] = "probabilities"
    score: Share = 0.6

    def __post_init__(self) -> None:
        if len(self.anchors) != len(self.strides):
            raise ValueError("anchors must have one list for each of the strides")

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """One output a kind, all strides behind each other."""
        grids = zip(self.grids(width, height), self.anchors, strict=True)
        count = sum(rows * columns * len(sides) for (_, rows, columns), sides in grids)
        return [{"boxes": [(count, 4)], "scores": [(count, 2)], "points": [(count, 10)]}]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part: the boxes laid over the picture that hold a face."""
        likely = self._likely(outputs["scores"][0])
        picture, index = np.nonzero(likely >= score)
        laid = laid_boxes(tuple(self.grids(width, height)), self.anchors)[index]
        centre, sides = laid[:, :2], laid[:, 2:]
        box = outputs["boxes"][0][picture, index]
        near, far = np.array(self.variance, np.float32)
        boxes = around(centre + box[:, :2] * near * sides, sides * np.exp(box[:, 2:] * far))
        offsets = outputs["points"][0][picture, index].reshape(-1, 5, 2)
        points = centre[:, None] + offsets * near * sides[:, None]
        return [(picture, boxes, likely[picture, index], points)]

    def _likely(self, scores: Floats) -> Floats:
        """How likely each is a face [n, count], from the pair (none, face) [n, count, 2]."""
        face: Floats = scores[:, :, 1]
        if self.scores == "logits":
            face = 1 / (1 + np.exp(np.minimum(scores[:, :, 0] - face, 80)))
        return face


@lru_cache(maxsize=8)
def laid_boxes(
    grids: tuple[tuple[int, int, int], ...], anchors: tuple[tuple[float, ...], ...]
) -> Floats:
    """Centre and sides [count, 4] of all boxes: by stride, row, column and size, in this order."""
    parts = []
    for (stride, rows, columns), sides in zip(grids, anchors, strict=True):
        cells = np.arange(rows * columns).repeat(len(sides))
        centre = (cell_corners(cells, columns) + np.float32(0.5)) * stride
        side = np.tile(np.array(sides, np.float32), rows * columns)
        parts.append(np.column_stack([centre, side, side]))
    return np.concatenate(parts)
