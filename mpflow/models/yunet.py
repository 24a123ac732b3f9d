"""YuNet: from the network's outputs to faces.

The network (Wu, Peng, Yu: "YuNet: A Tiny Millisecond-level Face Detector", 2023; the 2023mar
weights of OpenCV Zoo) looks at a picture on three grids, one cell per 8, 16 and 32 pixels, and
gives for every cell whether it holds a face (cls), how well the box sits (obj), a box (bbox) and
five points (kps). The decoding follows OpenCV's FaceDetectorYN, whose results it was checked
against.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mpflow.models.detections import (
    Detections,
    Floats,
    Integers,
    best_of,
    check_blobs,
    none_found,
)

STRIDES = (8, 16, 32)
OUTPUTS = tuple(f"{kind}_{stride}" for kind in ("cls", "obj", "bbox", "kps") for stride in STRIDES)


class YuNet:
    """Detect faces with a YuNet session (mpflow.models.sessions.open_session).

    ``score`` is the least score of a face, ``iou`` the overlap above which two finds are one
    face; 0.7 and 0.3 were checked on real photos.
    """

    multiple = 32  # the coarsest stride: the grids must meet at the far edges

    def __init__(self, session: Any, score: float = 0.7, iou: float = 0.3) -> None:
        self.score = score
        self.iou = iou
        self._session = session
        self._input: str = session.get_inputs()[0].name

    def detect(self, blobs: Floats) -> list[Detections]:
        """Find faces in blobs [n, 3, h, w], float32 BGR 0..255; one result per picture."""
        check_blobs(blobs, self.multiple)
        values = self._session.run(OUTPUTS, {self._input: blobs})
        outputs = dict(zip(OUTPUTS, values, strict=True))
        return decode(outputs, blobs.shape[3], score=self.score, iou=self.iou)


def decode(
    outputs: Mapping[str, Floats], width: int, *, score: float, iou: float
) -> list[Detections]:
    """Turn outputs [n, cells, 1 | 4 | 10] for pictures ``width`` pixels wide into faces."""
    levels = [_level(outputs, stride, width, score) for stride in STRIDES]
    picture, boxes, scores, points = (np.concatenate(part) for part in zip(*levels, strict=True))
    count = len(outputs["cls_8"])
    if not len(picture):
        return [none_found() for _ in range(count)]
    if count == 1:
        return [best_of(boxes, scores, points, iou)]
    chosen = (picture == number for number in range(count))
    return [best_of(boxes[mine], scores[mine], points[mine], iou) for mine in chosen]


def _level(
    outputs: Mapping[str, Floats], stride: int, width: int, score: float
) -> tuple[Integers, Floats, Floats, Floats]:
    """Decode the candidates of one grid: picture numbers, boxes, scores, points.

    The score is the geometric mean of cls and obj. Comparing squares first leaves the root,
    and everything that follows, to the few cells that pass.
    """
    squared = _unit(outputs[f"cls_{stride}"]) * _unit(outputs[f"obj_{stride}"])
    picture, cell = np.nonzero(squared >= score * score)
    row, column = np.divmod(cell, width // stride)
    corner = np.stack([column, row], axis=1).astype(np.float32)
    box = outputs[f"bbox_{stride}"][picture, cell]
    centre = (corner + box[:, :2]) * stride
    half = np.exp(box[:, 2:]) * (stride / 2)
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    offsets = outputs[f"kps_{stride}"][picture, cell].reshape(-1, 5, 2)
    points = (offsets + corner[:, None]) * stride
    return picture, boxes, np.sqrt(squared[picture, cell]), points


def _unit(values: Floats) -> Floats:
    """Values [n, cells, 1] clipped to 0..1, as [n, cells]."""
    flat: Floats = values[:, :, 0].clip(0, 1)
    return flat
