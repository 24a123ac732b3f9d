"""How the picture of one output is coded: found out once, then used for each of its chunks.

    input's first picture + settings + container -> Recipe -> picture stream of any container

All encoders opened by one recipe give the same header and, for the same pictures, the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import msgspec
from av import Codec, VideoCodecContext
from av.codec.context import Flags, ThreadType
from av.container import OutputContainer
from av.format import Flags as Format
from av.video.stream import VideoStream

from mpflow.errors import ConfigError
from mpflow.media import hdr
from mpflow.media.encoder import Settings, Shape, choose_shape, encoder_options, find_encoder
from mpflow.media.muxer import fitting_encoder
from mpflow.media.parameters import check_crf, check_parameters
from mpflow.media.probe import Closeup, closeup
from mpflow.media.timeline import usual_step
from mpflow.spec import MediaInfo, VideoInfo

# Code tags that players want in place of the muxer's own.
_TAGS = {("mp4", "hevc"): "hvc1", ("mov", "hevc"): "hvc1"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Encoder, its options, and the shape of its pictures, for outputs of one container."""

    codec: Codec
    video: VideoInfo
    shape: Shape
    options: dict[str, str]
    threads: int
    look: Closeup
    container: str
    global_header: bool

    @property
    def rate(self) -> Fraction:
        """Frames a second, as the encoder is told."""
        return _rate(self.video)

    @property
    def step(self) -> int:
        """Ticks from one frame to the next, where the input does not tell."""
        return usual_step(self.shape.time_base, self.rate)

    def facts(self) -> dict[str, Any]:
        """All that the coded pictures depend on, beside the pictures."""
        shape = self.shape
        return {
            "name": self.codec.name,
            "threads": self.threads,
            "size": f"{shape.width}x{shape.height}",
            "format": shape.pixel_format,
            "time_base": str(shape.time_base),
            "header": "once" if self.global_header else "with each key frame",
            "options": self.options,
        }

    def add_picture(self, container: OutputContainer) -> VideoStream:
        """Add the picture's stream to a container, its encoder set up but not open.

        Raises ConfigError where the container cannot hold it.
        """
        try:
            stream = cast(VideoStream, container.add_stream(self.codec.name, rate=self.rate))
        except ValueError as error:
            raise _does_not_fit(container, self.codec) from error
        context = stream.codec_context
        configure(context, self.shape, self.video, self.threads)
        context.options = dict(self.options)
        stream.time_base = self.shape.time_base
        self._set_header(context)
        tag = _TAGS.get((container.format.name, self.codec.canonical_name))
        if tag:
            context.codec_tag = tag
        if self.look.interlaced:
            context.field_order = self.look.field_order
        if self.look.matrix is not None:
            stream.set_display_matrix(self.look.matrix)
        return stream

    def _set_header(self, context: VideoCodecContext) -> None:
        """Put the header where the output's container wants it, whichever this container is."""
        without = context.flags & ~int(Flags.global_header)
        context.flags = without | int(Flags.global_header) if self.global_header else without


def find_recipe(
    source: str,
    media: MediaInfo,
    settings: Settings,
    container: OutputContainer,
    say: Callable[[str], None],
) -> Recipe:
    """Find out how to code the pictures of an input for a container, by trying.

    Raises ConfigError for what the encoder does not take; what it cannot keep is said.
    """
    codec = find_encoder(settings.codec)
    video = media.video
    look = closeup(source, video.index)
    options = encoder_options(codec, settings, look.side_data)
    check_crf(codec.name, options)
    name = container.format.name
    clocked = _counted(video) if name == "avi" else video

    def set_up(context: VideoCodecContext, shape: Shape) -> None:
        configure(context, shape, video, settings.threads)

    shape = choose_shape(codec, clocked, options, set_up, say)
    check_parameters(codec, options, shape, set_up)
    header = bool(container.format.flags & cast(int, Format.global_header.value))
    recipe = Recipe(codec, video, shape, options, settings.threads, look, name, header)
    _say_losses(recipe, say)
    return recipe


def configure(context: VideoCodecContext, shape: Shape, video: VideoInfo, threads: int) -> None:
    """Tell an encoder about size, format, clock, colours and threads."""
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
    context.thread_count = threads


def _does_not_fit(container: OutputContainer, codec: Codec) -> ConfigError:
    fitting = fitting_encoder(container)
    return ConfigError(
        f"{container.format.name} files cannot hold pictures coded by {codec.name}",
        cure=f"give --codec {fitting}, or end the output's name in .mkv"
        if fitting
        else "end the output's name in .mkv",
    )


def _say_losses(recipe: Recipe, say: Callable[[str], None]) -> None:
    lost = hdr.lost(recipe.codec.name, recipe.look.side_data)
    if lost:
        say(f"{recipe.codec.name} cannot carry these over: {', '.join(lost)}")
    if recipe.look.interlaced:
        say("the pictures are interlaced; their lines are kept as they are")
    name, rotation = recipe.container, recipe.video.rotation
    if name == "avi":
        say("avi keeps no time stamps: frames are shown at a constant rate")
    if rotation and name in ("avi", "mpegts", "mpeg", "flv"):
        say(f"{name} cannot hold the rotation of {rotation} degrees")


def _counted(video: VideoInfo) -> VideoInfo:
    """The same picture on a clock that ticks once a frame: AVI shows one at each tick."""
    rate = _rate(video)
    return msgspec.structs.replace(video, time_base=(rate.denominator, rate.numerator))


def _rate(video: VideoInfo) -> Fraction:
    return Fraction(*video.average_rate) if video.average_rate else Fraction(25)
