"""How a picture's planes lie in memory: pixel formats by FFmpeg's names, offsets, strides, boxes.

    slot: | Y rows, each padded to 64 bytes | U rows | V rows |      (planar)
          | Y rows                          | UV pairs        |      (nv12, p010)

Sides of a chroma plane are rounded up, so odd pictures keep their last column and row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpflow.errors import ContractError
from mpflow.shm import Span
from mpflow.tokens import Box

if TYPE_CHECKING:
    import numpy as np

IntBox = tuple[int, int, int, int]

_ROW_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class PlaneFormat:
    """One plane: how often it is halved in width and height, and its samples per position."""

    xshift: int = 0
    yshift: int = 0
    channels: int = 1


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """A pixel format. ``depth`` bits of each sample count; ``low_bits`` below them are zero."""

    name: str
    planes: tuple[PlaneFormat, ...]
    depth: int = 8
    low_bits: int = 0

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """Type of a sample: uint8, or little-endian uint16."""
        import numpy as np  # here: who only sizes a ring does without its weight

        return np.dtype("u1") if self.depth == 8 else np.dtype("<u2")

    @property
    def sample_bytes(self) -> int:
        """Bytes of a sample."""
        return 1 if self.depth == 8 else 2

    @property
    def interleaved(self) -> bool:
        """Whether U and V share a plane."""
        return len(self.planes) == 2

    @property
    def gray(self) -> bool:
        """Whether there is no colour."""
        return len(self.planes) == 1

    @property
    def chroma_shift(self) -> tuple[int, int]:
        """How often the colour planes are halved in x and y."""
        return self.planes[-1].xshift, self.planes[-1].yshift


def _formats() -> dict[str, PixelFormat]:
    luma = PlaneFormat()
    c420, c422 = PlaneFormat(1, 1), PlaneFormat(1, 0)
    planar = {"420": (luma, c420, c420), "422": (luma, c422, c422), "444": (luma, luma, luma)}
    formats = [
        PixelFormat(f"{yuv}{kind}p", p) for kind, p in planar.items() for yuv in ("yuv", "yuvj")
    ]
    formats += [PixelFormat(f"yuv{kind}p10le", p, depth=10) for kind, p in planar.items()]
    pairs = (luma, PlaneFormat(1, 1, 2))
    formats += [PixelFormat("nv12", pairs), PixelFormat("p010le", pairs, depth=10, low_bits=6)]
    formats += [PixelFormat("gray", (luma,)), PixelFormat("gray10le", (luma,), depth=10)]
    return {each.name: each for each in formats}


PIXEL_FORMATS = _formats()


@dataclass(frozen=True, slots=True)
class PlaneLayout:
    """Where one plane lies: byte offset and stride, and its size in positions."""

    format: PlaneFormat
    offset: int
    stride: int
    width: int
    height: int
    sample_bytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of its array: (rows, columns), with two channels a third axis."""
        last = () if self.format.channels == 1 else (self.format.channels,)
        return (self.height, self.width, *last)

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of its array in bytes."""
        step = self.format.channels * self.sample_bytes
        last = () if self.format.channels == 1 else (self.sample_bytes,)
        return (self.stride, step, *last)

    def slices(self, box: IntBox) -> tuple[slice, slice]:
        """Rows and columns of this plane that lie under a box of the picture."""
        x1, y1, x2, y2 = box
        xs, ys = self.format.xshift, self.format.yshift
        return slice(y1 >> ys, -(-y2 >> ys)), slice(x1 >> xs, -(-x2 >> xs))

    def span(self, box: IntBox) -> Span:
        """The bytes of this plane that lie under a box of the picture."""
        rows, columns = self.slices(box)
        step = self.format.channels * self.sample_bytes
        return Span(
            offset=self.offset + rows.start * self.stride + columns.start * step,
            row_bytes=(columns.stop - columns.start) * step,
            rows=rows.stop - rows.start,
            stride=self.stride,
        )


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """A picture of one format and size: its planes and the bytes it takes."""

    format: PixelFormat
    width: int
    height: int
    planes: tuple[PlaneLayout, ...]
    nbytes: int

    @classmethod
    def of(cls, format_name: str, width: int, height: int) -> PictureLayout:
        """Lay out a picture; raises ContractError for an unknown format or an empty picture."""
        pixel_format = PIXEL_FORMATS.get(format_name)
        if pixel_format is None:
            known = ", ".join(sorted(PIXEL_FORMATS))
            raise ContractError(f"pixel format {format_name!r} is unknown", cure=f"one of {known}")
        if width < 1 or height < 1:
            raise ContractError(f"a picture of {width}x{height} has no pixels")
        planes, offset = [], 0
        for plane in pixel_format.planes:
            columns, rows = -(-width >> plane.xshift), -(-height >> plane.yshift)
            size = pixel_format.sample_bytes
            stride = _round_up(columns * plane.channels * size, _ROW_ALIGNMENT)
            planes.append(PlaneLayout(plane, offset, stride, columns, rows, size))
            offset += stride * rows
        return cls(pixel_format, width, height, tuple(planes), offset)

    @property
    def whole(self) -> IntBox:
        """The box of the whole picture."""
        return 0, 0, self.width, self.height

    def align(self, box: Box) -> IntBox:
        """Grow a box to whole pixels of every plane and cut it at the picture's edges.

        A box outside the picture becomes (0, 0, 0, 0). Raises ContractError when a side is not
        a finite number.
        """
        if not all(map(math.isfinite, box)):
            raise ContractError(f"the box {box} is not finite")
        xs, ys = self.format.chroma_shift
        x1, x2 = _grow(box[0], box[2], 1 << xs, self.width)
        y1, y2 = _grow(box[1], box[3], 1 << ys, self.height)
        return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else (0, 0, 0, 0)

    def spans(self, boxes: Sequence[IntBox]) -> tuple[Span, ...]:
        """The bytes of every plane under aligned boxes."""
        return tuple(plane.span(box) for box in boxes if area(box) for plane in self.planes)


def area(box: IntBox) -> int:
    """Pixels in a box; 0 for an empty one."""
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def _grow(low: float, high: float, step: int, limit: int) -> tuple[int, int]:
    start = min(max(math.floor(low), 0) // step * step, limit)
    stop = min(_round_up(max(math.ceil(high), start), step), limit)
    return start, stop


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
