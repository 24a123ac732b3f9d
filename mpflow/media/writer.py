"""Writing the output: pictures encoded from the ring, everything else copied beside them.

    frame.export -> VideoFrame over the same memory -> encoder -> muxer -> NAME.partial.EXT
                                                       copy ---^             finish -> NAME.EXT

What was written when a run is killed or the disk is full stays under the partial name if it plays.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import av
from av import Codec, Packet, VideoCodecContext
from av.container import OutputContainer
from av.video.stream import VideoStream

from mpflow.errors import ConfigError, InternalError, MpflowError, ResourceError
from mpflow.frame import Frame
from mpflow.media import hdr
from mpflow.media.copy import StreamCopy
from mpflow.media.encoder import Settings, Shape, choose_shape, encoder_options, find_encoder
from mpflow.media.muxer import FRAGMENTED, Fragments, open_muxer, set_muxer_options
from mpflow.media.output import OutputFile, output_error
from mpflow.media.pictures import PictureMaker
from mpflow.media.probe import Closeup, closeup
from mpflow.media.salvage import playable
from mpflow.media.timeline import Stamps, usual_step
from mpflow.spec import JobSpec, MediaInfo, SinkSummary, VideoInfo
from mpflow.tokens import Token

_FROM_ZERO = frozenset({"mpegts", "flv", "mpeg", "vob", "svcd"})
_TAGS = {("mp4", "hevc"): "hvc1", ("mov", "hevc"): "hvc1"}


@dataclass(frozen=True, slots=True)
class Keep:
    """Whether pictures that were not worked on, and tags about people and places, are kept."""

    streams: bool = True
    metadata: bool = True


@dataclass(slots=True)
class _Open:
    """What exists between begin and finish."""

    container: OutputContainer
    stream: VideoStream
    copy: StreamCopy
    pictures: PictureMaker
    stamps: Stamps
    durations: dict[int, int] = field(default_factory=dict)


class MediaWriter:
    """One output file, from its partial name to its final one."""

    def __init__(
        self,
        job: JobSpec,
        media: MediaInfo,
        settings: Settings,
        keep: Keep,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.warnings: list[str] = []
        self._warn = warn
        self._media = media
        self._settings = settings
        self._keep = keep
        self._file = OutputFile(job)
        self._input = job.input
        self._open: _Open | None = None
        self._written = 0
        self._done: SinkSummary | None = None

    def open(self) -> None:
        """Check everything, open encoder and muxer, write the header. Raises ConfigError,
        OutputError, InputError or ResourceError; nothing is left behind then.
        """
        codec = find_encoder(self._settings.codec)
        self._file.prepare()
        try:
            self._open = self._start(codec)
        except BaseException:
            self._file.discard()
            raise

    def write(self, token: Token, frame: Frame) -> None:
        """Encode one frame; the copied streams follow up to the same time."""
        state = self._opened()
        picture = state.pictures(frame)
        base = Fraction(*token.time_base)
        encoder_base = state.stream.codec_context.time_base
        pts = None if token.pts is None else round(token.pts * base / encoder_base)
        picture.pts = state.stamps.next(pts, 0)
        picture.time_base = encoder_base
        state.durations[picture.pts] = round(token.duration * base / encoder_base)
        try:
            self._mux(state, state.stream.encode(picture))
        except (av.FFmpegError, OSError) as error:
            raise self._explain(error) from error

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the file properly; a complete one gets its final name. Safe to call again."""
        if self._done is None:
            self._done = self._finish(complete=complete)
        return self._done

    def close(self) -> None:
        """Let go of the file, whatever happened; what can be played is kept under its partial
        name.
        """
        if self._open is not None:
            self.finish(complete=False)

    def _finish(self, *, complete: bool) -> SinkSummary:
        state, self._open = self._opened(), None
        try:
            self._mux(state, state.stream.encode(None))
            if complete:
                state.copy.drain(state.container)
            state.container.close()
        except (av.FFmpegError, OSError) as error:
            self._done = self._salvage(state)
            if complete:
                raise self._explain(error) from error
            return self._done
        finally:
            state.copy.close()
        if not self._written:
            self._file.discard()
            return self._summary(complete=False, playable_frames=0)
        if not complete:
            return self._partial_summary()
        size = self._file.commit()
        return SinkSummary(
            frames=self._written,
            path=str(self._file.final),
            size=size,
            warnings=tuple(self.warnings),
        )

    def _salvage(self, state: _Open) -> SinkSummary:
        """Close a file that could not be written any further, and keep it if it plays."""
        with suppress(av.FFmpegError, OSError):  # the first error is the one that counts
            state.container.close()
        return self._partial_summary()

    def _partial_summary(self) -> SinkSummary:
        frames = playable(self._file.partial)
        if frames:
            self._file.release()
        else:
            self._file.discard()
        return self._summary(complete=False, playable_frames=frames)

    def _summary(self, *, complete: bool, playable_frames: int) -> SinkSummary:
        path = self._file.partial
        return SinkSummary(
            frames=playable_frames,
            path=str(path) if playable_frames else "",
            size=path.stat().st_size if playable_frames else 0,
            complete=complete,
            playable=bool(playable_frames),
            warnings=tuple(self.warnings),
        )

    def _start(self, codec: Codec) -> _Open:
        video = self._media.video
        look = closeup(self._input, video.index)
        options = encoder_options(codec, self._settings, look.side_data)
        container = open_muxer(self._file)
        copy = StreamCopy(
            self._input,
            video.index,
            keep_streams=self._keep.streams,
            keep_metadata=self._keep.metadata,
            warn=self._say,
        )
        try:
            shape = choose_shape(codec, video, options, self._configure, self._say)
            stream = copy.add_to(
                container, lambda: self._add_picture(container, codec, shape, options, look)
            )
            set_muxer_options(
                container,
                [shape.time_base, *copy.time_bases()],
                anonymous=not self._keep.metadata,
                metadata_keys=copy.needs_metadata_keys(container),
                fragments=_fragments(container, copy),
            )
            self._say_losses(container, codec, look)
            if copy.has_cover and container.format.name in FRAGMENTED:
                self._say("with cover art in it, nothing of the file plays if the run is killed")
            stream.codec_context.open(strict=False)
            container.start_encoding()
        except BaseException as error:
            copy.close()
            if isinstance(error, OSError | av.FFmpegError):
                raise self._explain(error) from error
            raise
        step = usual_step(shape.time_base, _rate(video))
        return _Open(container, stream, copy, PictureMaker(codec, shape, video), Stamps(step))

    def _add_picture(
        self,
        container: OutputContainer,
        codec: Codec,
        shape: Shape,
        options: dict[str, str],
        look: Closeup,
    ) -> VideoStream:
        try:
            stream = cast(
                VideoStream, container.add_stream(codec.name, rate=_rate(self._media.video))
            )
        except ValueError as error:
            raise ConfigError(
                f"{container.format.name} files cannot hold pictures coded by {codec.name}",
                cure="choose another --codec, or end the output's name in .mkv",
            ) from error
        context = stream.codec_context
        self._configure(context, shape)
        context.options = dict(options)
        stream.time_base = shape.time_base
        tag = _TAGS.get((container.format.name, codec.canonical_name))
        if tag:
            context.codec_tag = tag
        if look.interlaced:
            context.field_order = look.field_order
        if look.matrix is not None:
            stream.set_display_matrix(look.matrix)
        return stream

    def _configure(self, context: VideoCodecContext, shape: Shape) -> None:
        """Tell the encoder about size, format, clock, colours and threads."""
        video = self._media.video
        context.width, context.height = shape.width, shape.height
        context.pix_fmt = shape.pixel_format
        context.time_base = shape.time_base
        context.framerate = _rate(video)
        if video.sample_aspect:
            context.sample_aspect_ratio = Fraction(*video.sample_aspect)
        full = video.range == 2 or video.pixel_format.startswith("yuvj")
        context.color_range = 2 if full else video.range
        context.color_primaries = video.primaries
        context.color_trc = video.transfer
        context.colorspace = video.matrix
        context.thread_count = self._settings.threads

    def _say_losses(self, container: OutputContainer, codec: Codec, look: Closeup) -> None:
        lost = hdr.lost(codec.name, look.side_data)
        if lost:
            self._say(f"{codec.name} cannot carry these over: {', '.join(lost)}")
        if look.interlaced:
            self._say("the pictures are interlaced; their lines are kept as they are")
        name = container.format.name
        if name == "avi":
            self._say("avi keeps no time stamps: frames are shown at a constant rate")
        if self._media.video.rotation and name in ("avi", "mpegts", "mpeg", "flv"):
            self._say(f"{name} cannot hold the rotation of {self._media.video.rotation} degrees")

    def _mux(self, state: _Open, packets: list[Packet[VideoStream]]) -> None:
        for packet in packets:
            if packet.pts is not None:
                duration = state.durations.pop(packet.pts, 0)
                packet.duration = duration or state.stamps.step
            if not self._written:
                self._say_shift(state, packet)
            until = (packet.dts if packet.dts is not None else 0) * packet.time_base
            state.container.mux_one(packet)
            self._written += 1
            state.copy.pump(state.container, until)

    def _say_shift(self, state: _Open, first: Packet[VideoStream]) -> None:
        """Say that a container without times before 0 moves everything by the encoder's delay."""
        name = state.container.format.name
        if name in _FROM_ZERO and first.dts is not None and first.dts < 0:
            delay = float(-first.dts * first.time_base)
            self._say(f"{name} has no times before 0: everything is moved by {delay:.3f} s")

    def _opened(self) -> _Open:
        if self._open is None:
            raise InternalError("the output is not open")
        return self._open

    def _explain(self, error: Exception) -> MpflowError:
        """What a failed write means; a full disk is told apart from everything else."""
        if isinstance(error, OSError):
            return output_error(self._file.partial, error)
        code = getattr(error, "errno", None)
        if code == errno.ENOSPC:
            return ResourceError("the disk is full", cure="free some space")
        if isinstance(error, av.ArgumentError):
            return ConfigError(
                f"the output {str(self._file.final)!r} cannot be written like this: {error}",
                cure="try .mkv",
            )
        return InternalError(f"{str(self._file.final)!r} could not be written: {error}")

    def _say(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self._warn(text)


def _fragments(container: OutputContainer, copy: StreamCopy) -> Fragments:
    if container.format.name not in FRAGMENTED:
        return Fragments.NONE
    if copy.has_cover:
        return Fragments.NONE
    return Fragments.HEADER_FIRST if copy.has_late_track() else Fragments.EXACT


def _rate(video: VideoInfo) -> Fraction:
    return Fraction(*video.average_rate) if video.average_rate else Fraction(25)


__all__ = ["Keep", "MediaWriter", "Settings"]
