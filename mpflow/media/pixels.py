"""Pixel formats: which of them the ring holds, and copying planes out of FFmpeg's pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from av import VideoFormat, VideoFrame
from av.video.reformatter import ColorRange, VideoReformatter
from numpy.typing import NDArray

from mpflow.frame import PIXEL_FORMATS
from mpflow.spec import VideoInfo

Plane = NDArray[Any]


def ring_format(source_format: str) -> str:
    """The format a decoded picture has in the ring: its own where the ring holds it.

    Anything else becomes 4:2:0, of ten bits where it is deeper than eight.
    """
    if source_format in PIXEL_FORMATS:
        return source_format
    depth = max(part.bits for part in VideoFormat(source_format).components)
    return "yuv420p" if depth <= 8 else "yuv420p10le"


def is_rgb(pixel_format: str) -> bool:
    """Whether the format holds red, green and blue (or a palette of them)."""
    return VideoFormat(pixel_format).is_rgb or pixel_format == "pal8"


def copy_planes(picture: VideoFrame, planes: Sequence[Plane]) -> None:
    """Copy a decoded picture into planes of the same size and format, row by row."""
    for index, plane in enumerate(planes):
        plane[...] = plane_view(picture, index, plane.shape[2:], plane.dtype)


def plane_view(
    picture: VideoFrame, index: int, channels: tuple[int, ...], dtype: np.dtype[Any]
) -> Plane:
    """One plane of a picture as an array (rows, columns, *channels), without its padding.

    A negative line size means that the rows are stored from the last to the first.
    """
    plane = picture.planes[index]
    line = plane.line_size
    offset = 0 if line >= 0 else (plane.height - 1) * -line
    item = dtype.itemsize
    within = (item,) if not channels else (channels[0] * item, item)
    shape = (plane.height, plane.width, *channels)
    return np.ndarray(shape, dtype, memoryview(plane), offset, (line, *within))


class Conform:
    """Brings a picture to the geometry and format of the run (scaling is bilinear)."""

    def __init__(self, video: VideoInfo) -> None:
        self._video = video
        self._reformatter = VideoReformatter()

    def fits(self, picture: VideoFrame) -> bool:
        """Whether the picture already has the geometry and format of the ring."""
        video = self._video
        return (picture.width, picture.height, picture.format.name) == (
            video.width,
            video.height,
            video.pixel_format,
        )

    @property
    def conversion(self) -> str:
        """A sentence on what every picture loses; empty where the ring holds them as they are."""
        video = self._video
        if video.pixel_format == video.source_format:
            return ""
        return (
            f"pictures are converted from {video.source_format} to {video.pixel_format},"
            " so untouched frames are not bit-exact"
        )

    def change(self, picture: VideoFrame) -> str:
        """A sentence on a picture that is not like the first one; empty where it is."""
        video = self._video
        first = (video.source_format, video.width, video.height)
        if (picture.format.name, picture.width, picture.height) == first:
            return ""
        return (
            f"the picture changes to {picture.width}x{picture.height} {picture.format.name}"
            f" on the way; it is brought to {video.width}x{video.height} {video.pixel_format}"
        )

    def __call__(self, picture: VideoFrame) -> VideoFrame:
        """The picture in the ring's geometry and format."""
        video = self._video
        rgb = is_rgb(picture.format.name)
        source_range = ColorRange.JPEG if rgb else _range(picture.color_range)
        return self._reformatter.reformat(
            picture,
            width=video.width,
            height=video.height,
            format=video.pixel_format,
            src_colorspace=None if rgb else _swscale_matrix(picture.colorspace, picture),
            dst_colorspace=_swscale_matrix(video.matrix, picture),
            src_color_range=source_range,
            dst_color_range=_range(video.range) or source_range,
            threads=1,
        )


def _range(value: int) -> int:
    """FFmpeg's colour range as swscale takes it; an unknown one is limited."""
    return int(value) if value in (1, 2) else int(ColorRange.MPEG)


def _swscale_matrix(matrix: int, picture: VideoFrame) -> int:
    """swscale's number (SWS_CS_*) of an H.273 matrix; untagged is 709 from 720 lines on."""
    known = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
    if matrix in known:
        return known[matrix]
    return 1 if picture.height >= 720 or picture.width >= 1280 else 5
