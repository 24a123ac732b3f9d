"""Decoding a live input: without delay of its own, and with less effort where it cannot keep up."""

from __future__ import annotations

from typing import Any, cast

import av
from av import Packet, VideoFrame
from av.codec.context import Flags, ThreadType
from av.container import InputContainer
from av.video.stream import VideoStream

from mpflow.media.lag import Effort
from mpflow.media.probe import picture_stream


class LiveDecoder:
    """The decoder of one connection. Threads share one picture: frame threads would keep some."""

    def __init__(self, container: InputContainer, address: str, threads: int) -> None:
        self.stream: VideoStream = picture_stream(container, address)
        self._context = context = self.stream.codec_context
        context.thread_type = ThreadType.SLICE
        context.thread_count = threads
        if context.codec.canonical_name == "av1":  # dav1d keeps frames unless it is told not to
            context.flags |= Flags.low_delay
        self._effort = Effort.ALL
        self.damaged = 0

    @property
    def effort(self) -> Effort:
        """What is decoded at present."""
        return self._effort

    @effort.setter
    def effort(self, effort: Effort) -> None:
        if effort is not self._effort:
            self._context.skip_frame = "NONREF" if effort is Effort.REFERENCES else "DEFAULT"
            self._effort = effort

    def decode(self, packet: Packet[Any] | None) -> list[VideoFrame]:
        """The pictures that come out; those that cannot be decoded are counted."""
        try:
            pictures = self._context.decode(cast("Packet[VideoStream] | None", packet))
        except av.FFmpegError:
            self.damaged += packet is not None
            return []
        self.damaged += sum(picture.is_corrupt for picture in pictures)
        return pictures
