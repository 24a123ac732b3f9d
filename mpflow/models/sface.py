"""SFace: a face as 128 numbers that are near each other for the same person.

The network is SFace (Zhong, Deng, Hu, Zhao, Li, Wen: "SFace: Sigmoid-Constrained Hypersphere
Loss for Robust Face Recognition", 2021) in the 2021dec weights of OpenCV Zoo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ContractError
from mpflow.models.align import CROP
from mpflow.models.detections import Floats

# Cosine above which two faces are taken for one person. On real photos pairs of one person were
# at least 0.60, pairs of two persons at most 0.40.
SAME_PERSON = 0.42

# Cosine below which two faces are surely two persons: pairs of one person are at least 0.53 down to
# faces of 24 pixels, and at least 0.35 with one head turned by up to 60 degrees.
OTHER_PERSON = 0.25


class SFace:
    """Embed faces with an SFace session (mpflow.models.sessions.open_session)."""

    size = CROP
    same = SAME_PERSON
    other = OTHER_PERSON

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input: str = session.get_inputs()[0].name

    def embed(self, crops: Sequence[NDArray[np.uint8]]) -> Floats:
        """Embeddings [n, 128] of length 1 for BGR crops [112, 112, 3] (mpflow.models.align.crop).

        The product of two of them is their cosine. The network takes RGB 0..255; BGR is worse.
        """
        return normalised(self.raw(crops))

    def raw(self, crops: Sequence[NDArray[np.uint8]]) -> Floats:
        """The same as the network gives them, of any length."""
        for face in crops:
            if face.shape != (CROP, CROP, 3):
                raise ContractError(f"SFace takes crops of 112x112x3, not {face.shape}")
        rgb = np.array([face[:, :, ::-1].transpose(2, 0, 1) for face in crops], np.float32)
        if not len(rgb):
            return np.zeros((0, 128), np.float32)
        raw: Floats = self._session.run(None, {self._input: rgb})[0]
        return raw


def normalised(raw: Floats) -> Floats:
    """Embeddings [n, k] made as long as 1."""
    lengths: Floats = np.linalg.norm(raw, axis=1, keepdims=True)
    return raw / lengths
