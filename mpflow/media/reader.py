"""Reading an input's pictures in presentation order, whatever state the file is in.

    demux -> bridge jumps -> decode -> conform to one geometry -> time stamp -> av.VideoFrame

A packet that cannot be decoded is counted and skipped; so is a stretch of the file that cannot be
demuxed. What went wrong is told once each, in sentences, and in the counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import cast

import av
from av import Packet, VideoFrame
from av.codec.context import ThreadType
from av.video.stream import VideoStream

from mpflow.errors import InputError
from mpflow.media.length import Cut, Length
from mpflow.media.pixels import Conform
from mpflow.media.source import open_input, shown
from mpflow.media.timeline import Continuity, Stamps, usual_step
from mpflow.spec import MediaInfo, SourceSummary
from mpflow.urls import is_url

# How often demuxing is taken up again after an error before the rest of the file is given up.
_RESUMES = 100


class VideoReader:
    """Iterates over the pictures of one input.

    Every picture has the size and format that ``media.video`` names, and a ``pts`` in its time
    base that is later than the one before. ``warn`` is told each oddity once.
    """

    def __init__(
        self,
        path: str,
        media: MediaInfo,
        *,
        threads: int = 0,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.frames = 0
        self.packets = 0
        self.bad_packets = 0
        self.corrupt_frames = 0
        self.warnings: list[str] = []
        self._path = path
        self._media = media
        self._warn = warn
        self._container = open_input(path)
        self._stream = cast(VideoStream, self._container.streams[media.video.index])
        self._context = self._stream.codec_context
        self._context.thread_type = ThreadType.AUTO
        self._context.thread_count = threads
        self._conform = Conform(media.video)
        self._continuity = Continuity()
        rate = media.video.average_rate
        time_base = Fraction(*media.video.time_base)
        self._stamps = Stamps(usual_step(time_base, Fraction(*rate) if rate else None))
        self._broken_stretches = 0
        self._exhausted = False
        self._first_dts: int | None = None
        self._length = Length(self._container, self._stream, media)
        self._cut: Cut | None = None

    @property
    def damaged(self) -> int:
        """Packets and pictures that were lost or came out damaged."""
        seen = self.bad_packets + self.corrupt_frames
        if seen and self._exhausted and self._media.video.codec != "vp8":
            return max(seen, self.packets - self.frames)
        return seen + self._broken_stretches + self._cut_somewhere

    def __iter__(self) -> Iterator[VideoFrame]:
        self._say_conversion()
        for packet in chain(self._packets(), (None,)):
            for picture in self._decode(packet):
                yield self._finish(picture)
        self._exhausted = True
        self._look_back()

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def summary(self) -> SourceSummary:
        """What was read so far."""
        return SourceSummary(
            frames=self.frames,
            damaged=self.damaged,
            expected=self.expected,
            warnings=tuple(self.warnings),
        )

    @property
    def expected(self) -> int | None:
        """Frames the file should have: by its index, by its duration if it ends early."""
        video = self._media.video
        if video.frames is not None:
            return video.frames
        if self._cut is not None and self._cut.expected is not None:
            return self._cut.expected
        return self.packets if self._exhausted and self.damaged else None

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        """The video's packets, with their stamps settled.

        All streams are read, so that a video track that ends before the sound does is not taken
        for a file that was cut off.
        """
        for _ in range(_RESUMES):
            try:
                for packet in self._container.demux():
                    self._length.note(packet)
                    if packet.size and packet.stream_index == self._stream.index:
                        self.packets += not packet.is_discard
                        yield from self._continuity.feed(cast("Packet[VideoStream]", packet))
                break
            except av.InvalidDataError:
                self._broken_stretches += 1
            except av.FFmpegError as error:
                self._broken_stretches += 1
                self._say(f"reading {shown(self._path)!r} stopped early: {error.strerror}")
                break
        yield from self._continuity.flush()

    def _decode(self, packet: Packet[VideoStream] | None) -> list[VideoFrame]:
        """Decode one packet; None drains the decoder."""
        try:
            return self._context.decode(packet)
        except av.FFmpegError:
            self.bad_packets += 1
            return []

    def _finish(self, picture: VideoFrame) -> VideoFrame:
        """Count the picture, bring it to the run's geometry, and stamp it."""
        self.frames += 1
        self.corrupt_frames += picture.is_corrupt
        pts, duration = self._stamp(picture), picture.duration
        if not self._conform.fits(picture):
            self._say_change(picture)
            picture = self._conform(picture)
        moved = self._stamps.moved
        picture.pts = self._stamps.next(pts, duration)
        picture.duration = duration if duration > 0 else self._stamps.step
        if self._stamps.moved > moved:
            self._say("some frames had time stamps out of order; they were moved forward")
        return picture

    def _stamp(self, picture: VideoFrame) -> int | None:
        """The picture's own time, as far as the container has one.

        AVI has none, and what FFmpeg makes up for it is wrong with reordered pictures; the
        decoding times count right, from the first picture on.
        """
        if self._media.container != "avi":
            return picture.pts if picture.pts is not None else picture.dts
        if picture.dts is None:
            return None
        if self._first_dts is None:
            self._first_dts = picture.dts
        return picture.dts - self._first_dts

    def _look_back(self) -> None:
        """Say what only the end of the file tells: whether it was cut off."""
        name, known = shown(self._path), self._media.video.frames
        self._cut = self._length.cut(self.frames)
        expected = self.expected
        is_short = expected is not None and self.frames < expected
        if is_short and (self._cut is not None or not self.damaged):
            self._say(f"{name!r} ends early: {self.frames} of {expected} frames could be read")
        elif self._cut is not None and known is None:
            self._say(f"{name!r} was cut off, {self.frames} frames read")
        if self.damaged > self._cut_somewhere:
            counts = f"{self.damaged} damaged packets or frames"
            self._say(f"{name!r} is damaged: {counts}, {self.frames} frames read")
        if self._continuity.jumps:
            self._say(f"{name!r} has time stamps that jump back; the parts were joined")

    @property
    def _cut_somewhere(self) -> bool:
        """Whether the file was cut off and nothing tells how many frames it had."""
        unknown = self._media.video.frames is None
        return self._cut is not None and self._cut.expected is None and unknown

    def _say_conversion(self) -> None:
        video = self._media.video
        if video.pixel_format != video.source_format:
            self._say(
                f"pictures are converted from {video.source_format} to {video.pixel_format},"
                " so untouched frames are not bit-exact"
            )

    def _say_change(self, picture: VideoFrame) -> None:
        video = self._media.video
        if picture.format.name == video.source_format and (picture.width, picture.height) == (
            video.width,
            video.height,
        ):
            return
        self._say(
            f"the picture changes to {picture.width}x{picture.height} {picture.format.name}"
            f" on the way; it is brought to {video.width}x{video.height} {video.pixel_format}"
        )

    def _say(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self._warn(text)


def require_same(path: str, media: MediaInfo) -> None:
    """Raise InputError when a file is no longer the one that was probed."""
    if not is_url(path) and media.size and Path(path).stat().st_size != media.size:
        raise InputError(
            f"{path!r} changed while it was being read", cure="wait until it is written whole"
        )
