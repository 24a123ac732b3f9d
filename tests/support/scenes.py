"""Frames with real faces: the group photo (six) and the astronaut (one) on one grey table."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from mpflow import convert
from mpflow.colour import Colour
from mpflow.frame import PIXEL_FORMATS
from mpflow.memory import MemorySlot
from mpflow.models.store import ModelStore

FACES = 7
FULL_SIZE = (1920, 1080)

Picture = npt.NDArray[np.uint8]


def read(store: ModelStore, name: str) -> Picture:
    """A picture of the store as BGR."""
    found = cv2.imread(str(store.path(name)))
    assert found is not None
    return found.astype(np.uint8)


def scene(store: ModelStore, height: int = FULL_SIZE[1]) -> Picture:
    """Both photos side by side, 16:9, ``height`` rows; a face is about a ninth of that."""
    table = np.full((FULL_SIZE[1], FULL_SIZE[0], 3), 110, np.uint8)
    group, astronaut = read(store, "group-photo"), read(store, "astronaut")
    table[40 : 40 + group.shape[0], 20 : 20 + group.shape[1]] = group
    table[30 : 30 + astronaut.shape[0], 1340 : 1340 + astronaut.shape[1]] = astronaut
    if height == FULL_SIZE[1]:
        return table
    width = 2 * round(height * 16 / 9 / 2)
    return np.asarray(cv2.resize(table, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def slot(picture: Picture, name: str = "yuv420p", side_bytes: int = 0, **colour: Any) -> MemorySlot:
    """The picture as a frame of the format ``name``."""
    pixel_format = PIXEL_FORMATS[name]
    size = picture.shape[1], picture.shape[0]
    made = MemorySlot.of(name, *size, Colour(depth=pixel_format.depth, **colour), side_bytes)
    planes = convert.from_bgr(picture, pixel_format, made.colour)
    for target, plane in zip(made.frame().fill_planes(), planes, strict=True):
        target[:] = plane
    return made


def bgr(made: MemorySlot) -> Picture:
    """The whole frame as BGR."""
    frame = made.frame()
    return frame.bgr((0, 0, frame.width, frame.height))[0]
