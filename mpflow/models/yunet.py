"""YuNet: from the network's outputs to faces.

The network (Wu, Peng, Yu: "YuNet: A Tiny Millisecond-level Face Detector", 2023; the 2023mar
weights of OpenCV Zoo) looks at a picture on three grids, one cell per 8, 16 and 32 pixels, and
gives for every cell whether it holds a face (cls), how well the box sits (obj), a box (bbox) and
five points (kps). The decoding follows OpenCV's FaceDetectorYN, whose results it was checked
against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

STRIDES = (8, 16, 32)
KINDS = ("cls", "obj", "bbox", "kps")
OUTPUTS = tuple(f"{kind}_{stride}" for kind in KINDS for stride in STRIDES)


class YuNet:
    """Detect faces with a YuNet session (mpflow.models.sessions.open_session).

    ``score`` is the least score of a face, ``iou`` the overlap above which two finds are one
    face; both were checked on real photos. A face missed costs more than a thing covered, so the
    score is 0.6: over 0.7 it adds 2 finds to 54 in a street scene.
    """

    multiple = 32  # the coarsest stride: the grids must meet at the far edges
    size = None

    def __init__(self, session: Any, score: float = 0.6, iou: float = 0.3) -> None:
        self.score = score
        self.iou = iou
        self._session = session
        self._input: str = session.get_inputs()[0].name

    def detect(self, blobs: Floats, inner: Sequence[tuple[int, int]] = ()) -> list[Detections]:
        """Find faces in blobs [n, 3, h, w], float32 BGR 0..255; one result per picture."""
        check_blobs(blobs, self.multiple)
        values = self._session.run(OUTPUTS, {self._input: blobs})
        check_numbers(values)
        outputs = dict(zip(OUTPUTS, values, strict=True))
        return decode(outputs, blobs.shape[3], score=self.score, iou=self.iou)


def decode(
    outputs: Mapping[str, Floats], width: int, *, score: float, iou: float
) -> list[Detections]:
    """Turn outputs [n, cells, 1 | 4 | 10] for pictures ``width`` pixels wide into faces."""
    levels = [
        level([outputs[f"{kind}_{stride}"] for kind in KINDS], stride, width, score)
        for stride in STRIDES
    ]
    return best_of_each(levels, len(outputs["cls_8"]), iou)


def level(outputs: Sequence[Floats], stride: int, width: int, score: float) -> Found:
    """Decode the candidates of one grid from its four outputs, in the order of ``KINDS``.

    The score is the geometric mean of cls and obj. Comparing squares first leaves the root,
    and everything that follows, to the few cells that pass.
    """
    holds, sits, bbox, kps = outputs
    squared = _unit(holds) * _unit(sits)
    picture, cell = np.nonzero(squared >= score * score)
    row, column = np.divmod(cell, width // stride)
    corner = np.stack([column, row], axis=1).astype(np.float32)
    box = bbox[picture, cell]
    centre = (corner + box[:, :2]) * stride
    half = np.exp(box[:, 2:]) * (stride / 2)
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    offsets = kps[picture, cell].reshape(-1, 5, 2)
    points = (offsets + corner[:, None]) * stride
    return picture, boxes, np.sqrt(squared[picture, cell]), points


def _unit(values: Floats) -> Floats:
    """Values [n, cells, 1] clipped to 0..1, as [n, cells]."""
    flat: Floats = values[:, :, 0].clip(0, 1)
    return flat
