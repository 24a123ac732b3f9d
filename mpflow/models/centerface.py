"""CenterFace: a second detector, of another make than YuNet.

The network (Xu, Yan, Yang, Li, Zhang: "CenterFace: Joint Face Detection and Alignment Using Face
as Point", 2019) gives one grid of cells of 4x4 pixels: how likely a face has its centre there,
the logarithm of its height and width in cells, the centre's place within the cell, and five
points within the box. The decoding follows the authors' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpflow.models.detections import (
    Detections,
    Floats,
    Found,
    best_of_each,
    check_blobs,
    check_numbers,
)

STRIDE = 4
OUTPUTS = ("537", "538", "539", "540")  # heat, size, offset, points: names of the exported file


class CenterFace:
    """Detect faces with a CenterFace session (mpflow.models.sessions.open_session).

    ``score`` is the least score of a face; 0.35 and an overlap of 0.3 were checked on real photos.
    """

    multiple = 32  # the deepest layer has a 32nd of the picture's sides
    size = None

    def __init__(self, session: Any, score: float = 0.35, iou: float = 0.3) -> None:
        self.score = score
        self.iou = iou
        self._session = session
        self._input: str = session.get_inputs()[0].name

    def detect(self, blobs: Floats, inner: Sequence[tuple[int, int]] = ()) -> list[Detections]:
        """Find faces in blobs [n, 3, h, w], float32 BGR 0..255; one result per picture."""
        check_blobs(blobs, self.multiple)
        rgb = np.ascontiguousarray(blobs[:, ::-1])  # this network takes RGB
        outputs = self._session.run(OUTPUTS, {self._input: rgb})
        check_numbers(outputs)
        return best_of_each([candidates(outputs, score=self.score)], len(blobs), self.iou)


def candidates(outputs: Sequence[Floats], *, score: float) -> Found:
    """What may be a face in the four outputs [n, 1 | 2 | 2 | 10, rows, columns].

    All pairs stand as y before x, in the outputs too.
    """
    heat, size, offset, points = outputs
    picture, row, column = np.nonzero(heat[:, 0] > score)
    cell = np.stack([row, column], axis=1).astype(np.float32)
    sides = np.exp(size[picture, :, row, column]) * STRIDE
    centre = (cell + offset[picture, :, row, column] + np.float32(0.5)) * STRIDE
    near = centre - sides / 2
    inside = points[picture, :, row, column].reshape(-1, 5, 2) * sides[:, None] + near[:, None]
    boxes = np.concatenate([near[:, ::-1], (near + sides)[:, ::-1]], axis=1)
    return picture, boxes, heat[picture, 0, row, column], inside[:, :, ::-1]
