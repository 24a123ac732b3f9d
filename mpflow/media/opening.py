"""Opening an output: encoder and muxer set up as the input asks, its other streams added.

Everything that cannot be had is found out here, before the first frame: as an error where it was
asked for, as a warning where it is a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import av
import msgspec
from av import Codec, VideoCodecContext
from av.codec.context import ThreadType
from av.container import OutputContainer
from av.video.stream import VideoStream

from mpflow.errors import ConfigError
from mpflow.media import hdr
from mpflow.media.copy import StreamCopy
from mpflow.media.encoder import Settings, Shape, choose_shape, encoder_options
from mpflow.media.muxer import (
    FRAGMENTED,
    Fragments,
    fitting_encoder,
    open_muxer,
    set_muxer_options,
)
from mpflow.media.output import OutputFile, explain_write
from mpflow.media.parameters import check_crf, check_parameters
from mpflow.media.pictures import PictureMaker
from mpflow.media.probe import Closeup, closeup
from mpflow.media.timeline import Stamps, usual_step
from mpflow.spec import MediaInfo, VideoInfo

# Code tags that players want in place of the muxer's own.
_TAGS = {("mp4", "hevc"): "hvc1", ("mov", "hevc"): "hvc1"}


@dataclass(frozen=True, slots=True)
class Keep:
    """Whether pictures that were not worked on, and tags about people and places, are kept."""

    streams: bool = True
    metadata: bool = True


@dataclass(slots=True)
class Opened:
    """What exists while an output is written. ``durations`` are those of frames in the encoder."""

    container: OutputContainer
    stream: VideoStream
    copy: StreamCopy
    pictures: PictureMaker
    stamps: Stamps
    durations: dict[int, int] = field(default_factory=dict)


class Opening:
    """Sets one output up for one input; ``say`` takes the warnings."""

    def __init__(
        self, media: MediaInfo, settings: Settings, keep: Keep, say: Callable[[str], None]
    ) -> None:
        self._media = media
        self._settings = settings
        self._keep = keep
        self._say = say

    def open(self, file: OutputFile, source: str, codec: Codec) -> Opened:
        """Open everything and write the header; ``source`` is the input that is copied from."""
        video = self._media.video
        look = closeup(source, video.index)
        options = encoder_options(codec, self._settings, look.side_data)
        check_crf(codec.name, options)
        container = open_muxer(file)
        copy = StreamCopy(
            source,
            video.index,
            keep_streams=self._keep.streams,
            keep_metadata=self._keep.metadata,
            warn=self._say,
        )
        try:
            clocked = _counted(video) if container.format.name == "avi" else video
            shape = choose_shape(codec, clocked, options, self._configure, self._say)
            check_parameters(codec, options, shape, self._configure)
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
                raise explain_write(file, error) from error
            raise
        step = usual_step(shape.time_base, _rate(video))
        return Opened(container, stream, copy, PictureMaker(codec, shape, video), Stamps(step))

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
            fitting = fitting_encoder(container)
            raise ConfigError(
                f"{container.format.name} files cannot hold pictures coded by {codec.name}",
                cure=f"give --codec {fitting}, or end the output's name in .mkv"
                if fitting
                else "end the output's name in .mkv",
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
        # As FFmpeg's own tools do. PyAV asks for slice threads only, with which x264 cuts every
        # picture in slices: larger files, and threads that wait for each other at each picture.
        context.thread_type = ThreadType.AUTO
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


def _fragments(container: OutputContainer, copy: StreamCopy) -> Fragments:
    if container.format.name not in FRAGMENTED:
        return Fragments.NONE
    if copy.has_cover:
        return Fragments.NONE
    return Fragments.HEADER_FIRST if copy.has_late_track() else Fragments.EXACT


def _counted(video: VideoInfo) -> VideoInfo:
    """The same picture on a clock that ticks once a frame: AVI shows one at each tick."""
    rate = _rate(video)
    return msgspec.structs.replace(video, time_base=(rate.denominator, rate.numerator))


def _rate(video: VideoInfo) -> Fraction:
    return Fraction(*video.average_rate) if video.average_rate else Fraction(25)
