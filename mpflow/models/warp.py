"""A turned and scaled part of a frame as BGR, straight from its planes.

    matrix -> each plane: halved while it is more than twice too large, then interpolated
           -> planes of the crop's size -> one colour matrix -> BGR

Only what the crop shows is read, and only the crop is ever BGR. A matrix [2, 3] takes a place in
the frame to its place in the crop, both with the centre of the first pixel at (0, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow import convert
from mpflow.models.detections import Floats
from mpflow.picture import PixelFormat, PlaneFormat

if TYPE_CHECKING:
    from mpflow.frame import Frame, Plane

Steps = tuple[int, int]
"""How often a plane is halved in x and in y."""

_EDGE = 2  # samples around a crop that interpolation may touch


def warped(
    frame: Frame, matrix: Floats, size: tuple[int, int], *, repeat_edge: bool = False
) -> NDArray[np.uint8]:
    """The part of a frame that ``matrix`` brings into a picture of ``size`` (width, height).

    BGR [height, width, 3]. Outside the frame it is black, or with ``repeat_edge`` as the nearest
    pixel of the frame.
    """
    crop = _Crop(matrix, size, _halvings(matrix), repeat_edge)
    colours = (0, 0) if repeat_edge else _black(frame)
    planes: list[Plane] = []
    for view, plane in zip(frame.planes, frame.layout.planes, strict=True):
        planes += _warp_plane(view, plane.format, crop, colours[bool(planes)])
    return convert.to_bgr(planes, size, _whole_chroma(frame.layout.format), frame.colour)


@dataclass(frozen=True, slots=True)
class _Crop:
    """What is cut out, and how often the frame can be halved and still be finer than that."""

    matrix: Floats
    size: tuple[int, int]
    halvings: int
    repeat_edge: bool


def _halvings(matrix: Floats) -> int:
    scale = math.sqrt(abs(float(np.linalg.det(matrix[:, :2].astype(np.float64)))))
    return max(0, math.floor(math.log2(1 / scale))) if scale > 0 else 0


def _warp_plane(view: Plane, kind: PlaneFormat, crop: _Crop, black: int) -> list[Plane]:
    """One plane of the frame as one or two planes (U and V) of the crop."""
    steps = max(0, crop.halvings - kind.xshift), max(0, crop.halvings - kind.yshift)
    to_crop = _from_samples(crop.matrix, (kind.xshift, kind.yshift))
    if any(steps):
        view, first = _halved(view, to_crop, crop.size, steps)
        to_crop = _from_samples(_moved(to_crop, first), steps)
    if not view.size:
        return [np.full(crop.size[::-1], black, view.dtype)] * kind.channels
    border = cv2.BORDER_REPLICATE if crop.repeat_edge else cv2.BORDER_CONSTANT
    part: Plane = cv2.warpAffine(
        view, to_crop, crop.size, flags=cv2.INTER_LINEAR, borderMode=border, borderValue=[black] * 4
    )
    return list(cv2.split(part)) if kind.channels == 2 else [part]


def _from_samples(matrix: Any, steps: Steps) -> Any:
    """The matrix for a picture that was halved so often: sample x lies at k*x + (k-1)/2."""
    scale = np.array([1 << steps[0], 1 << steps[1]], np.float64)
    linear = matrix[:, :2].astype(np.float64)
    shift = matrix[:, 2] + linear @ ((scale - 1) / 2)
    return np.column_stack([linear * scale, shift])


def _moved(matrix: Any, first: tuple[int, int]) -> Any:
    """The matrix for a picture that begins at sample ``first`` (x, y) of the other."""
    return np.column_stack([matrix[:, :2], matrix[:, 2] + matrix[:, :2] @ np.array(first)])


def _halved(
    view: Plane, to_crop: Any, size: tuple[int, int], steps: Steps
) -> tuple[Plane, tuple[int, int]]:
    """The samples that a crop shows, halved by their mean, and where they began."""
    columns, rows = _shown(to_crop, size, steps, (view.shape[1], view.shape[0]))
    part = view[rows, columns]
    across, down = steps
    while across or down:
        width, height = part.shape[1] >> (across > 0), part.shape[0] >> (down > 0)
        if not width * height:
            return part[:0, :0], (0, 0)
        even = part[: height << (down > 0), : width << (across > 0)]
        part = cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA)
        across, down = max(0, across - 1), max(0, down - 1)
    return part, (columns.start, rows.start)


def _shown(
    to_crop: Any, size: tuple[int, int], steps: Steps, sides: tuple[int, int]
) -> tuple[slice, slice]:
    """Columns and rows of a plane that lie under a crop, a whole number of halvings, cut at the
    plane's edges."""
    width, height = size
    corners = np.array([(0, 0), (width, 0), (0, height), (width, height)], np.float64)
    linear = np.linalg.inv(to_crop[:, :2])
    places = (corners - to_crop[:, 2]) @ linear.T
    slices = []
    for axis in (0, 1):
        whole = 1 << steps[axis]
        margin = _EDGE * whole
        start = math.floor((places[:, axis].min() - margin) / whole) * whole
        stop = math.ceil((places[:, axis].max() + margin) / whole) * whole
        start = min(max(start, 0), max(sides[axis] - whole, 0) // whole * whole)
        slices.append(slice(start, min(max(stop, start + whole), sides[axis])))
    return slices[0], slices[1]


def _black(frame: Frame) -> tuple[int, int]:
    """Black without colour as stored samples: of the luma, and of both colour planes."""
    y, u, _ = frame.colour.yuv((0, 0, 0))
    low = frame.layout.format.low_bits
    return y << low, u << low


def _whole_chroma(pixel_format: PixelFormat) -> PixelFormat:
    """The format with colour planes of the luma's size, one for U and one for V."""
    count = 1 if pixel_format.gray else 3
    return replace(pixel_format, planes=(PlaneFormat(),) * count)
