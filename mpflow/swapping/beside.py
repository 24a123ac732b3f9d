"""What lies beside a picture of the faces that were made for it, read back before it is blended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mpflow.models.detections import Floats
from mpflow.swapping.contract import MASK, MATRIX, SWAP, Made, Picture
from mpflow.swapping.masks import outline_mask
from mpflow.tokens import Face

if TYPE_CHECKING:
    from mpflow.frame import Frame

MESH = "mesh"
_LEAST_POINTS = 468  # a mesh of fewer leaves the forehead out


@dataclass(frozen=True, slots=True, eq=False)
class Swap:
    """A face of the frame, what was made for it, and the matrix [2, 3] from the frame to that."""

    face: Face
    made: Made
    matrix: Floats

    @property
    def side(self) -> int:
        """Pixels of a side of the crop."""
        return len(self.made.mask)


def swaps(frame: Frame, faces: Sequence[Face]) -> list[Swap]:
    """What was made for these faces; nothing for those that have nothing."""
    found = []
    for face in faces:
        picture, matrix, mask = (frame.attached(face, name) for name in (SWAP, MATRIX, MASK))
        if picture is not None and matrix is not None and mask is not None:
            found.append(Swap(face, Made(picture, mask), matrix))
    return found


def outline(frame: Frame, swap: Swap) -> Picture | None:
    """Where in the crop [s, s] the face's mesh is, 0 or 255; None for a face without a mesh of the
    whole face."""
    mesh = frame.attached(swap.face, MESH)
    if mesh is None or len(mesh) < _LEAST_POINTS or not np.isfinite(mesh).all():
        return None
    return outline_mask(mesh[:, :2] @ swap.matrix[:, :2].T + swap.matrix[:, 2], swap.side)
