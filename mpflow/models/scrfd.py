"""SCRFD: boxes and points as distances from the corners of cells.

The network (Guo, Deng, Lattas, Zafeiriou: "Sample and Computation Redistribution for Efficient
Face Detection", 2021) has grids of 8, 16 and 32 pixels with two anchors a cell: a score, the
distances of a box's four sides and of five points, in cells. Files export them by kind and then
by stride (insightface, model_zoo/scrfd.py, which the conventions are those of).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from mpflow.models.detections import Found
from mpflow.models.makes import Layout, Make, Outputs, cell_corners


class Scrfd(Make, frozen=True, kw_only=True, tag="scrfd"):
    """``anchors``: how many a cell has; files with five strides have one."""

    convention: ClassVar[Mapping[str, Any]] = {
        "colour": "rgb",
        "mean": (127.5, 127.5, 127.5),
        "std": (128.0, 128.0, 128.0),
    }

    anchors: Annotated[int, msgspec.Meta(ge=1, le=9)] = 2

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """Scores, boxes and points, each by stride."""
        cells = [rows * columns * self.anchors for _, rows, columns in self.grids(width, height)]
        kinds = {"scores": 1, "boxes": 4, "points": 10}
        return [{kind: [(count, wide) for count in cells] for kind, wide in kinds.items()}]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part for each stride."""
        found = []
        for level, (stride, _, columns) in enumerate(self.grids(width, height)):
            scores, boxes, points = (outputs[kind][level] for kind in ("scores", "boxes", "points"))
            picture, index = np.nonzero(scores[:, :, 0] >= score)
            corner = cell_corners(index // self.anchors, columns) * stride
            sides = boxes[picture, index] * stride
            box = np.concatenate([corner - sides[:, :2], corner + sides[:, 2:]], axis=1)
            places = points[picture, index].reshape(-1, 5, 2) * stride + corner[:, None]
            found.append((picture, box, scores[picture, index, 0], places))
        return found
