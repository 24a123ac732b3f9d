"""The encoder's picture made from a frame in the ring: over the same memory where that is safe."""

from __future__ import annotations

from av import Codec, VideoFrame
from av.video.reformatter import VideoReformatter

from mpflow.frame import Frame, Plane
from mpflow.media.encoder import Shape, zero_copy
from mpflow.media.pixels import plane_view
from mpflow.spec import VideoInfo


class PictureMaker:
    """Turns frames of one run into pictures for one encoder.

    Planes are handed over without a copy when the encoder is known to be done with them in time
    and the size allows it; odd sides are copied, and padded by repeating the edge if need be.
    """

    def __init__(self, codec: Codec, shape: Shape, video: VideoInfo) -> None:
        self._shape = shape
        self._format = video.pixel_format.replace("yuvj", "yuv")
        if shape.pixel_format.startswith("yuvj"):
            self._format = shape.pixel_format
        even = video.width % 2 == 0 and video.height % 2 == 0
        padded = (shape.width, shape.height) != (video.width, video.height)
        self._convert = shape.pixel_format != self._format
        self._direct = even and not padded and (self._convert or zero_copy(codec))
        self._full = video.range == 2 or video.pixel_format.startswith("yuvj")
        self._reformatter = VideoReformatter()

    def __call__(self, frame: Frame) -> VideoFrame:
        """A picture with the frame's pixels, its picture type left to the encoder."""
        planes = frame.export()
        if self._direct:
            picture = VideoFrame.from_dlpack(planes, format=self._format)
        else:
            picture = self._copy(planes)
        if self._convert:
            level = 2 if self._full else 1
            picture = self._reformatter.reformat(
                picture,
                format=self._shape.pixel_format,
                src_color_range=level,
                dst_color_range=level,
                threads=1,
            )
        return picture

    def _copy(self, planes: tuple[Plane, ...]) -> VideoFrame:
        """Copy planes into a picture of the encoder's size, repeating the last row and column."""
        picture = VideoFrame(self._shape.width, self._shape.height, self._format)
        for index, plane in enumerate(planes):
            target = plane_view(picture, index, plane.shape[2:], plane.dtype)
            rows, columns = plane.shape[:2]
            target[:rows, :columns] = plane
            target[:rows, columns:] = target[:rows, columns - 1 : columns]
            target[rows:] = target[rows - 1 : rows]
        return picture
