"""Faces as a swapper makes them, drawn without a network: a crop, what is made of it, and a frame
with both beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
import scenes

from mpflow.memory import MemorySlot
from mpflow.models.warp import warped
from mpflow.side import bytes_for
from mpflow.swapping.contract import Made
from mpflow.tokens import Face

Picture = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Change = Callable[[Picture], Picture]

SIZE = 128


def skin(width: int, height: int, seed: int = 1) -> Picture:
    """Something smooth of the colours of a face, with features as large as eyes and lips."""
    rng = np.random.default_rng(seed)
    coarse = rng.normal(0, 1, (height // 10 + 2, width // 10 + 2, 3)).astype(np.float32)
    grain = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    shade = grain[:, :, :1] * 18 + grain * 3
    return np.clip(np.array([120, 140, 185]) + shade, 0, 255).astype(np.uint8)


def bluer(picture: Picture) -> Picture:
    """As a camera with another white, and harder, would have it."""
    other = picture * np.array([1.15, 0.85, 0.7]) + np.array([20, 5, -10])
    return np.clip(np.rint(other), 0, 255).astype(np.uint8)


def whole(picture: Picture) -> Made:
    """A made face that is good all over."""
    return Made(picture, np.full(picture.shape[:2], 255, np.uint8))


def place(x: float, y: float, side: float, degrees: float = 0.0, size: int = SIZE) -> Floats:
    """The matrix to a crop of ``size`` around (x, y), ``side`` pixels of the frame, turned."""
    matrix = cv2.getRotationMatrix2D((x, y), degrees, size / side)
    matrix[:, 2] += (size - 1) / 2 - np.array([x, y])
    return matrix.astype(np.float32)


def oval(matrix: Floats, size: int = SIZE) -> Floats:
    """A mesh [468, 3] in the frame whose outline is an upright ellipse in the crop."""
    angles = np.linspace(0, 2 * np.pi, 468, endpoint=False)
    middle = (size - 1) / 2
    x, y = middle + 0.3 * size * np.cos(angles), middle + 0.4 * size * np.sin(angles)
    back = cv2.invertAffineTransform(matrix)
    there = np.column_stack([x, y]) @ back[:, :2].T + back[:, 2]
    return np.column_stack([there, np.zeros(468)]).astype(np.float32)


@dataclass(frozen=True)
class Scene:
    """A frame, and the faces on it with what was made for each beside the picture."""

    slot: MemorySlot
    faces: tuple[Face, ...]
    before: Picture
    """The bytes of the planes as they were."""

    @property
    def planes(self) -> Picture:
        """The bytes of the planes as they are."""
        return self.slot.bytes[: self.slot.layout.nbytes].copy()


def scene(
    picture: Picture,
    matrices: Sequence[Floats],
    change: Change,
    name: str = "yuv420p",
    size: int = SIZE,
) -> Scene:
    """A frame of the format ``name``; each face is made by ``change`` of its crop."""
    each = (
        bytes_for((size, size, 3), "u1")
        + bytes_for((2, 3), "f4")
        + bytes_for((size, size), "u1")
        + bytes_for((468, 3), "f4")
    )
    slot = scenes.slot(picture, name, side_bytes=len(matrices) * each)
    frame = slot.frame()
    faces = [_face(number, matrix, size) for number, matrix in enumerate(matrices)]
    crops = [warped(frame, matrix, (size, size), repeat_edge=True) for matrix in matrices]
    arrays = {
        "swap": [change(crop) for crop in crops],
        "swap.matrix": list(matrices),
        "swap.mask": [np.full((size, size), 255, np.uint8)] * len(matrices),
        "mesh": [oval(matrix, size) for matrix in matrices],
    }
    attached = frame.attach(faces, arrays)
    return Scene(slot, attached, slot.bytes[: slot.layout.nbytes].copy())


def _face(number: int, matrix: Floats, size: int) -> Face:
    outline = oval(matrix, size)
    (x1, y1), (x2, y2) = outline[:, :2].min(axis=0).tolist(), outline[:, :2].max(axis=0).tolist()
    return Face((x1, y1, x2, y2), 0.9, track=number)
