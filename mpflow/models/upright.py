"""Pictures that are stored turned: upright for a detector, and what it finds turned back.

``turns`` is how many quarter turns counter-clockwise make a stored picture upright.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mpflow.models.detections import Detections, Floats
from mpflow.tokens import Face, Sighting

if TYPE_CHECKING:
    from mpflow.frame import Frame


class Blobs:
    """The input of a network, kept from batch to batch."""

    def __init__(self) -> None:
        self._tensor: Floats = np.empty((0, 3, 0, 0), np.float32)

    def fill(
        self, frames: Sequence[Frame], size: tuple[int, int], turns: int
    ) -> tuple[Floats, list[float]]:
        """Every frame upright in one tensor [n, 3, height, width], and the scale of each.

        ``size`` is width and height. The next call writes into the same memory.
        """
        width, height = size
        if self._tensor.shape[2:] != (height, width) or len(self._tensor) < len(frames):
            self._tensor = np.empty((len(frames), 3, height, width), np.float32)
        tensor = self._tensor[: len(frames)]
        pairs = zip(frames, tensor, strict=True)
        return tensor, [fill_upright(frame, out, turns) for frame, out in pairs]


def inner_sides(
    frames: Sequence[Frame], scales: Sequence[float], turns: int
) -> list[tuple[int, int]]:
    """Width and height of each upright picture within its blob."""
    sides = [
        (round(frame.width * scale), round(frame.height * scale))
        for frame, scale in zip(frames, scales, strict=True)
    ]
    return [(high, wide) for wide, high in sides] if turns % 2 else sides


def fill_upright(frame: Frame, out: Floats, turns: int) -> float:
    """Write a frame upright and scaled into ``out`` [3, height, width]; returns the scale."""
    if not turns:
        return frame.detector_blob(out.shape[2], out.shape[1], out)[1]
    height, width = out.shape[1:] if turns == 2 else out.shape[:0:-1]
    blob, scale = frame.detector_blob(width, height)
    columns, rows = round(frame.width * scale), round(frame.height * scale)
    upright = np.rot90(blob[:, :rows, :columns], turns, axes=(1, 2))
    out[:] = 0
    out[:, : upright.shape[1], : upright.shape[2]] = upright
    return scale


def to_faces(
    found: Detections, scale: float, size: tuple[int, int], turns: int = 0, sure: float = 0.0
) -> tuple[Face, ...]:
    """Faces in pixels of a frame of ``size`` (width, height) from finds in its scaled picture.

    Those with a score below ``sure`` are weak.
    """
    corners = _turn_back(found.boxes.reshape(-1, 2, 2) / np.float32(scale), size, turns)
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).tolist()
    points = _turn_back(found.points / np.float32(scale), size, turns).tolist()
    return tuple(
        Face(
            (box[0], box[1], box[2], box[3]),
            score,
            tuple((x, y) for x, y in five),
            sighting=Sighting.SEEN if score >= sure else Sighting.WEAK,
        )
        for box, score, five in zip(boxes, found.scores.tolist(), points, strict=True)
    )


def _turn_back(points: Any, size: tuple[int, int], turns: int) -> Any:
    """Points [..., 2] of an upright picture, in the frame of ``size`` that it was made from."""
    width, height = size
    x, y = points[..., 0], points[..., 1]
    turned = {
        0: (x, y),
        1: (width - 1 - y, x),
        2: (width - 1 - x, height - 1 - y),
        3: (y, height - 1 - x),
    }[turns]
    return np.stack(turned, axis=-1)
