"""The pattern of the invisible mark: where which coded bit lies, and with which sign.

    coded bits, spread over all cells of a grid by a fixed key -> a cell is lighter or darker by a
    step -> smooth between cells -> added to luma, the same on every frame

The grid is laid over the whole upright picture, whatever its size, so a picture that was scaled has
it where it was, and nothing has to be searched for. It is the same on every frame: it does not
flicker, and any stretch of the video has all of it. This is spread spectrum as I. Cox and others
have it ("Secure spread spectrum watermarking for multimedia", 1997), in the picture instead of its
transform.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.picture import PixelFormat
from mpflow.provenance.payload import CODED_BITS, Floats, Payload, coded

Plane = npt.NDArray[Any]

LEAST_SIDE = 96
"""Pictures of fewer pixels on their shorter side are not marked: nothing would be left of it."""

_KEY = "mpflow invisible mark 1"
_FINE_FROM, _STRONG_BELOW = 480, 240
_FULL = 0.8
"""From which share of a cell's height it is lighter or darker by all its steps. Where there is but
one step, all below it stays as it is: encoders have less to do than with half of it rounded up."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells across the shorter side of a picture, and along the longer one."""

    short: int
    long: int

    @property
    def cells(self) -> int:
        """How many there are."""
        return self.short * self.long


FINE, COARSE = Grid(108, 192), Grid(54, 96)
GRIDS = (FINE, COARSE)
"""The grids a mark may have. Fine cells carry more; in small pictures they would be too small."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Signs of a grid's cells, +1 or -1, and of each the coded bit that it carries; both [cells],
    row by row of a picture that lies."""

    signs: Floats
    bits: npt.NDArray[np.intp]


@lru_cache(maxsize=len(GRIDS))
def spread(grid: Grid) -> Spread:
    """How coded bits lie in a grid: it never changes, or old marks could not be read any more."""
    stream = hashlib.shake_256(f"{_KEY} {grid.short} {grid.long}".encode())
    values = np.frombuffer(stream.digest(8 * grid.cells), "<u8")
    order = np.argsort(values >> np.uint64(1), kind="stable")
    bits = np.empty(grid.cells, np.intp)
    bits[order] = np.arange(grid.cells) % CODED_BITS
    return Spread((values & np.uint64(1)).astype(np.float32) * 2 - 1, bits)


def chips(payload: Payload, grid: Grid) -> Floats:
    """The payload as cells, +1 or -1: [rows, columns] of a picture that lies."""
    lie = spread(grid)
    return (coded(payload)[lie.bits] * lie.signs).reshape(grid.short, grid.long)


class Marker:
    """Marks pictures of one size and format."""

    def __init__(
        self, payload: Payload, width: int, height: int, pixel_format: PixelFormat, turns: int = 0
    ) -> None:
        """``turns`` quarters counter-clockwise bring the stored picture upright."""
        side = min(width, height)
        grid = FINE if side >= _FINE_FROM else COARSE
        if turns % 2:
            width, height = height, width
        cells = chips(payload, grid) if width >= height else chips(payload, grid).T
        steps = (1 if side >= _STRONG_BELOW else 2) << (pixel_format.depth - 8)
        smooth = cv2.resize(
            np.ascontiguousarray(cells), (width, height), interpolation=cv2.INTER_CUBIC
        )
        stored = np.trunc(np.rot90((smooth / _FULL).clip(-1, 1), -turns) * steps)
        low, dtype = pixel_format.low_bits, pixel_format.dtype
        self._lighter, self._darker = (
            np.ascontiguousarray(part.clip(0).astype(dtype) << low) for part in (stored, -stored)
        )
        self._white = ((1 << pixel_format.depth) - 1) << low
        self._tops = pixel_format.depth > 8  # 8 bits stop at white by themselves

    def mark(self, luma: Plane) -> None:
        """Add the pattern to a luma plane, in place."""
        cv2.add(luma, self._lighter, dst=luma)
        cv2.subtract(luma, self._darker, dst=luma)
        if self._tops:
            np.minimum(luma, self._white, out=luma)


def is_large_enough(width: int, height: int) -> bool:
    """Whether a mark in a picture of this size could be read."""
    return min(width, height) >= LEAST_SIDE
