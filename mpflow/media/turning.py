"""Turning pictures upright, for outputs that are watched while they are made.

A file says by how much its pictures have to be turned; a stream is shown as it comes. So a live
output turns them itself, where its input says that they are to be turned.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import msgspec
from av import Codec, VideoFrame
from av.filter import Graph

from mpflow.frame import Frame
from mpflow.media.encoder import Shape
from mpflow.media.pictures import PictureMaker
from mpflow.spec import VideoInfo

_FILTERS = {1: ("transpose=cclock",), 2: ("hflip", "vflip"), 3: ("transpose=clock",)}
"""FFmpeg's filters by quarter turns counter-clockwise, as a display matrix counts."""


def quarter_turns(video: VideoInfo) -> int:
    """How often pictures are turned by 90 degrees counter-clockwise to stand upright, 0 to 3."""
    return round(video.rotation / 90) % 4


def upright(video: VideoInfo) -> VideoInfo:
    """A picture stream as it is once it stands upright."""
    width, height, aspect = video.width, video.height, video.sample_aspect
    if quarter_turns(video) % 2:
        width, height = height, width
        aspect = None if aspect is None else (aspect[1], aspect[0])
    return msgspec.structs.replace(
        video, width=width, height=height, sample_aspect=aspect, rotation=0
    )


class UprightPictures:
    """Pictures for one encoder, made from frames as they were decoded and turned upright."""

    def __init__(self, codec: Codec, shape: Shape, video: VideoInfo) -> None:
        """``shape`` is the encoder's, of upright pictures; ``video`` the stream as it came."""
        turns = quarter_turns(video)
        if turns % 2:
            shape = replace(shape, width=shape.height, height=shape.width)
        self._make = PictureMaker(codec, shape, video)
        self._turn = Turner(turns)

    def __call__(self, frame: Frame) -> VideoFrame:
        """A picture with the frame's pixels, upright."""
        return self._turn(self._make(frame))


class Turner:
    """Turns pictures of one size and format by quarters; with 0 turns they stay as they are."""

    def __init__(self, turns: int) -> None:
        self._filters = _FILTERS.get(turns % 4, ())
        self._graph: Graph | None = None

    def __call__(self, picture: VideoFrame) -> VideoFrame:
        """The picture, turned; its time stamp stays."""
        if not self._filters:
            return picture
        if self._graph is None:
            self._graph = self._make(picture)
        picture.pts = picture.pts or 0
        self._graph.push(picture)
        return self._graph.vpull()

    def _make(self, picture: VideoFrame) -> Graph:
        graph = Graph()
        node = graph.add_buffer(
            width=picture.width,
            height=picture.height,
            format=picture.format,
            time_base=picture.time_base or Fraction(1),
        )
        # some formats are turned as others, and come back as they were
        for text in (*self._filters, f"format={picture.format.name}", "buffersink"):
            name, _, arguments = text.partition("=")
            after = graph.add(name, arguments)
            node.link_to(after)
            node = after
        graph.configure()
        return graph
