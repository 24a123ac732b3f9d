"""Between planes and BGR: regions both ways, and a whole frame scaled down for a detector.

    planes -> to_bgr   -> patch        nearest chroma: a region equals the same cut of the whole
    patch  -> from_bgr -> planes       chroma is the mean of the pixels it serves
    planes -> to_blob  -> float32 BGR  each plane scaled first, then one matrix

All arithmetic is OpenCV's: one pass a plane, no threads unless cv2.setNumThreads allows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.colour import Colour
from mpflow.picture import PixelFormat

Plane = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Bgr = npt.NDArray[np.uint8]
Matrix = npt.NDArray[np.float64]

_NEUTRAL = 128


def to_bgr(
    planes: Sequence[Plane], size: tuple[int, int], pixel_format: PixelFormat, colour: Colour
) -> Bgr:
    """Turn crops of all planes into uint8 BGR of ``size`` (width, height)."""
    width, height = size
    if not width * height:
        return np.zeros((height, width, 3), np.uint8)
    luma, *chroma = planes
    matrix = _from_stored(pixel_format, colour)
    if pixel_format.gray:
        gray = luma * np.float32(matrix[0, 0]) + np.float32(_black(matrix, colour))
        return _bytes(cv2.merge([np.rint(gray).clip(0, 255)] * 3))
    xs, ys = pixel_format.chroma_shift
    spread = [_spread(plane, xs, ys)[:height, :width] for plane in _separate(chroma)]
    stored = cv2.merge([luma, *spread])
    if stored.dtype != np.uint8:
        stored = stored.astype(np.float32)
    mixed = cv2.transform(stored, matrix.astype(np.float32))
    return _bytes(mixed if mixed.dtype == np.uint8 else np.rint(mixed).clip(0, 255))


def from_bgr(patch: Bgr, pixel_format: PixelFormat, colour: Colour) -> tuple[Plane, ...]:
    """Turn an aligned uint8 BGR patch into planes of the format."""
    source = patch if pixel_format.depth == 8 else patch.astype(np.float32)
    luma, *chroma = cv2.split(cv2.transform(source, colour.yuv_from_bgr.astype(np.float32)))
    if pixel_format.gray:
        return (_store(luma, pixel_format),)
    halved = [_store(block_mean(plane, pixel_format), pixel_format) for plane in chroma]
    if pixel_format.interleaved:
        halved = [cv2.merge(halved)]
    return (_store(luma, pixel_format), *halved)


def plane_weights(mask: Floats, pixel_format: PixelFormat) -> tuple[npt.NDArray[np.uint8], ...]:
    """Spread a mask of the picture (height, width), 0..1, to every plane as 0..255.

    A chroma sample takes the mean of the pixels it serves.
    """
    luma = np.rint(mask * 255).clip(0, 255).astype(np.uint8)
    coarse = luma if pixel_format.gray else block_mean(luma, pixel_format)
    return (luma, *[coarse] * (len(pixel_format.planes) - 1))


def block_mean(plane: Plane, pixel_format: PixelFormat) -> Plane:
    """The mean over the pixels that share a chroma sample; sides round up."""
    xs, ys = pixel_format.chroma_shift
    if not xs and not ys:
        return plane
    height, width = plane.shape
    padded = cv2.copyMakeBorder(
        plane, 0, height % (1 << ys), 0, width % (1 << xs), cv2.BORDER_REPLICATE
    )
    size = (padded.shape[1] >> xs, padded.shape[0] >> ys)
    return _plane(cv2.resize(padded, size, interpolation=cv2.INTER_AREA))


def to_blob(
    planes: Sequence[Plane], pixel_format: PixelFormat, colour: Colour, out: Floats
) -> float:
    """Scale a frame into ``out`` (3, rows, columns), top left, and return the scale.

    The longer side decides; what is left over is 0. The planes are scaled as they are and the
    matrix comes after, on the few pixels that are left.
    """
    rows, columns = map(int, out.shape[1:])
    height, width = planes[0].shape
    scale: float = min(columns / width, rows / height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    filled = out[:, : size[1], : size[0]]
    matrix = _from_stored(pixel_format, colour)
    luma, *chroma = (shrink(plane, size) for plane in (planes[0], *_separate(planes[1:])))
    if chroma:
        _mix(luma, chroma, matrix, filled)
    else:
        filled[:] = luma * np.float32(matrix[0, 0]) + np.float32(_black(matrix, colour))
    np.clip(filled, 0, 255, out=filled)
    out[:, size[1] :] = 0
    out[:, : size[1], size[0] :] = 0
    return scale


def shrink(plane: Plane, size: tuple[int, int]) -> Plane:
    """Scale a plane to ``size`` (width, height): halve while it can be, then interpolate.

    Halving by the mean is the one reduction OpenCV does fast; the last step is less than two,
    so it skips no pixel. A single odd column or row at the far edge is left out of a halving.
    """
    width, height = size
    while plane.shape[1] >= 2 * width and plane.shape[0] >= 2 * height:
        half = (plane.shape[1] // 2, plane.shape[0] // 2)
        even = plane[: 2 * half[1], : 2 * half[0]]
        plane = _plane(cv2.resize(even, half, interpolation=cv2.INTER_AREA))
    if plane.shape[:2] == (height, width):
        return plane
    return _plane(cv2.resize(plane, size, interpolation=cv2.INTER_LINEAR))


def _mix(luma: Plane, chroma: Sequence[Plane], matrix: Matrix, out: Floats) -> None:
    """Write B, G and R: B and R need one colour difference each, G both."""
    u, v = chroma
    (by, bu, _, b0), (gy, gu, gv, g0), (ry, _, rv, r0) = matrix.tolist()
    cv2.addWeighted(luma, by, u, bu, b0, dst=out[0], dtype=cv2.CV_32F)
    cv2.addWeighted(luma, gy, u, gu, g0, dst=out[1], dtype=cv2.CV_32F)
    cv2.scaleAdd(v.astype(np.float32), gv, out[1], dst=out[1])
    cv2.addWeighted(luma, ry, v, rv, r0, dst=out[2], dtype=cv2.CV_32F)


def _from_stored(pixel_format: PixelFormat, colour: Colour) -> Matrix:
    """BGR from samples as they lie in memory, the unused low bits included."""
    matrix = colour.bgr_from_yuv.copy()
    matrix[:, :3] /= 1 << pixel_format.low_bits
    return matrix


def _black(matrix: Matrix, colour: Colour) -> float:
    """The offset of a picture without colour: neutral chroma put into the blue row."""
    neutral = _NEUTRAL << (colour.depth - 8)
    return float(matrix[0, 3] + matrix[0, 1] * neutral)


def _separate(chroma: Sequence[Plane]) -> Sequence[Plane]:
    """U and V as two planes, whether they came interleaved or not."""
    return cv2.split(chroma[0]) if len(chroma) == 1 else chroma


def _spread(plane: Plane, xs: int, ys: int) -> Plane:
    if not xs and not ys:
        return plane
    size = (plane.shape[1] << xs, plane.shape[0] << ys)
    return _plane(cv2.resize(plane, size, interpolation=cv2.INTER_NEAREST))


def _store(plane: Plane, pixel_format: PixelFormat) -> Plane:
    if pixel_format.depth == 8:
        return plane
    peak = (1 << pixel_format.depth) - 1
    return np.rint(plane).clip(0, peak).astype(np.uint16) << pixel_format.low_bits


def _plane(array: Any) -> Plane:
    result: Plane = array
    return result


def _bytes(array: Any) -> Bgr:
    return np.ascontiguousarray(array, np.uint8)
