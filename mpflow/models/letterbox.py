"""A whole picture made into what a detector takes, for pictures that are in no frame ring.

Frames in the ring have ``Frame.detector_blob``, which starts from the planes; both put the
picture to the top left and leave black below or to the right of it.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats


def letterbox(bgr: NDArray[np.uint8], width: int, height: int) -> tuple[Floats, float]:
    """Scale ``bgr`` [H, W, 3] into a blob [1, 3, height, width], float32 BGR 0..255.

    Also returns the scale: a find at x in the blob is at x / scale in the picture.
    """
    scale = min(width / bgr.shape[1], height / bgr.shape[0])
    inner = max(1, round(bgr.shape[1] * scale)), max(1, round(bgr.shape[0] * scale))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    blob = np.zeros((1, 3, height, width), np.float32)
    blob[0, :, : inner[1], : inner[0]] = cv2.resize(bgr, inner, interpolation=method).transpose(
        2, 0, 1
    )
    return blob, scale
