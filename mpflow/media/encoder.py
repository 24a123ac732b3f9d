"""Choosing and opening a video encoder: options, pixel format, size, time base.

    settings -> options -> try to open -> (pad odd sides | constant rate) -> Encoder

Whatever had to give way is said in a warning; whatever was asked for and cannot be had is an
error that names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import av
from av import Codec, VideoCodecContext, VideoFormat
from av.codec.codec import Capabilities, UnknownCodecError, find_best_pix_fmt_of_list
from av.codec.context import CodecOption, OptionFlags

from mpflow.errors import ConfigError
from mpflow.media.hdr import encoder_parameters
from mpflow.spec import VideoInfo

# Encoders that have copied the picture by the time ``encode`` returns (checked with weak
# references to the planes), so that they can be given the ring's own memory.
COPYING = frozenset(
    {"libx264", "libx264rgb", "libx265", "libvpx", "libvpx-vp9", "libsvtav1", "ffv1"}
)

# What an encoder is told where nothing was asked: quality near transparent, speed first.
_DEFAULTS: dict[str, dict[str, str]] = {
    "libx264": {"crf": "18", "preset": "veryfast"},
    "libx265": {"crf": "20", "preset": "veryfast"},
    "libsvtav1": {"crf": "28", "preset": "10"},
    "libvpx-vp9": {"crf": "24", "cpu-used": "5", "deadline": "good", "row-mt": "1"},
    "libvpx": {"crf": "10", "cpu-used": "5", "deadline": "good", "b": "4M"},
    "mpeg4": {"qmin": "2", "qmax": "5"},
    # limited range inside JPEG is FFmpeg's own way; converting the range would change every pixel
    "mjpeg": {"qmin": "2", "qmax": "4", "strict": "unofficial"},
}
# Options that set the rate or quality another way: with one of them no default quality is set.
_RATE_OPTIONS = frozenset({"crf", "qp", "b", "cq", "qscale", "global_quality", "lossless", "cqp"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked of the encoder; None leaves a choice to the codec's defaults."""

    codec: str = "libx264"
    crf: float | None = None
    preset: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """How pictures are given to the encoder: size, pixel format, time base."""

    width: int
    height: int
    pixel_format: str
    time_base: Fraction


def find_encoder(name: str) -> Codec:
    """The encoder of that name; raises ConfigError with close matches."""
    try:
        codec = Codec(name, "w")
    except (UnknownCodecError, RuntimeError) as error:
        names = sorted(n for n in av.codecs_available if _is_video_encoder(n))
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.75) or ["libx264", "libx265"]
        raise ConfigError(
            f"there is no video encoder {name!r}", cure=f"did you mean {', '.join(close)}?"
        ) from error
    if codec.type != "video":
        raise ConfigError(f"{name!r} is no video encoder", cure="libx264 is the default")
    return codec


def threads_for(codec: str, cores: int) -> int:
    """Threads an encoder gets on so many cores.

    x264 is given half as many again, which is its own rule: its threads wait for each other's
    rows. Its rule is applied here because x264 itself knows nothing of a container's limit.
    """
    return cores * 3 // 2 if codec == "libx264" else cores


def held_pictures(settings: Settings) -> int:
    """Pictures whose memory may still be in use after ``encode`` returns.

    Encoders with frame threads keep one picture a thread and one more; whoever is known neither
    to copy nor to have frame threads is given a copy, and holds none.
    """
    codec = find_encoder(settings.codec)
    if codec.name in COPYING or not _has_frame_threads(codec):
        return 0
    return max(1, settings.threads) + 1


def zero_copy(codec: Codec) -> bool:
    """Whether the encoder may be given the ring's own memory."""
    return codec.name in COPYING or _has_frame_threads(codec)


def encoder_options(
    codec: Codec, settings: Settings, side_data: Mapping[str, bytes]
) -> dict[str, str]:
    """All options for the encoder; raises ConfigError for one that it does not have."""
    context = codec.create("video")
    known = {
        option.name
        for group in _groups(context)
        for option in group
        if option.flags & OptionFlags.ENCODING_PARAM
    }
    asked = dict(settings.options)
    if settings.crf is not None:
        asked.setdefault("crf", f"{settings.crf:g}")
    if settings.preset is not None:
        asked.setdefault("preset", settings.preset)
    for key in asked:
        if key not in known:
            raise _unknown_option(codec.name, key, known)
    defaults = _DEFAULTS.get(codec.name, {})
    if _RATE_OPTIONS & asked.keys():
        defaults = {k: v for k, v in defaults.items() if k not in _RATE_OPTIONS}
    merged = {**defaults, **asked}
    for key, value in encoder_parameters(codec.name, side_data).items():
        merged[key] = f"{value}:{merged[key]}" if key in merged else value
    return merged


def choose_shape(
    codec: Codec,
    video: VideoInfo,
    options: Mapping[str, str],
    configure: Callable[[VideoCodecContext, Shape], None],
    warn: Callable[[str], None],
) -> Shape:
    """Find by trying how this encoder takes these pictures; raises ConfigError if it does not.

    ``configure`` sets a context up for a shape, as it will be for the real one.
    """
    exact = Shape(
        video.width,
        video.height,
        _pixel_format(codec, video, warn),
        Fraction(*video.time_base),
    )
    rate = Fraction(*video.average_rate) if video.average_rate else Fraction(25)
    padded = replace(exact, width=_even(exact.width), height=_even(exact.height))
    steady = replace(exact, time_base=1 / rate)
    both = replace(padded, time_base=1 / rate)
    failure: Exception | None = None
    for shape in dict.fromkeys((exact, padded, steady, both)):
        try:
            try_open(codec, options, shape, configure)
        except (av.FFmpegError, ValueError) as error:
            failure = failure or error
            continue
        _say_changes(codec.name, exact, shape, warn)
        return shape
    raise _blame(codec, options, exact, configure) from failure


def _say_changes(codec: str, exact: Shape, shape: Shape, warn: Callable[[str], None]) -> None:
    if (shape.width, shape.height) != (exact.width, exact.height):
        warn(
            f"{codec} takes no odd sides: {exact.width}x{exact.height} is padded to"
            f" {shape.width}x{shape.height} by repeating its edge"
        )
    if shape.time_base != exact.time_base:
        warn(f"{codec} cannot keep the input's time stamps; frames come at a constant rate")


def try_open(
    codec: Codec,
    options: Mapping[str, str],
    shape: Shape,
    configure: Callable[[VideoCodecContext, Shape], None],
) -> None:
    """Open an encoder for nothing but to see that it opens; raises what FFmpeg says."""
    context = codec.create("video")
    configure(context, shape)
    context.options = dict(options)
    context.open()


def _blame(
    codec: Codec,
    options: Mapping[str, str],
    shape: Shape,
    configure: Callable[[VideoCodecContext, Shape], None],
) -> ConfigError:
    """Find the option without which the encoder opens; if there is none, blame the encoder."""
    for key, value in options.items():
        rest = {name: text for name, text in options.items() if name != key}
        try:
            try_open(codec, rest, shape, configure)
        except (av.FFmpegError, ValueError):
            continue
        return ConfigError(
            f"the encoder {codec.name} does not accept {key}={value}",
            cure=f"see the values of {key} in ffmpeg -h encoder={codec.name}",
        )
    return ConfigError(
        f"the encoder {codec.name} does not start for {shape.width}x{shape.height}"
        f" {shape.pixel_format}",
        cure="use libx264, or check that this machine has what the encoder needs",
    )


def _pixel_format(codec: Codec, video: VideoInfo, warn: Callable[[str], None]) -> str:
    """The encoder's format nearest to the ring's; a full-range name gives way to its plain one."""
    ring = video.pixel_format
    formats = {entry.name for entry in codec.video_formats or ()}
    for name in (ring.replace("yuvj", "yuv"), ring):
        if not formats or name in formats:
            return name
    ours = VideoFormat(ring.replace("yuvj", "yuv"))
    best, _ = find_best_pix_fmt_of_list([VideoFormat(name) for name in sorted(formats)], ours)
    if best is None:
        raise ConfigError(f"the encoder {codec.name} takes no {ring} pictures", cure="use libx264")
    if _detail(best) != _detail(ours):
        warn(f"{codec.name} takes no {ring} pictures; they are converted to {best.name}")
    return str(best.name)


def _detail(pixel_format: VideoFormat) -> tuple[tuple[int, int, int], ...]:
    """Depth and size of each component: formats with the same detail differ in packing only."""
    probe = VideoFormat(pixel_format.name, 64, 64)
    return tuple((part.bits, part.width, part.height) for part in probe.components)


def _groups(context: VideoCodecContext) -> tuple[tuple[CodecOption, ...], ...]:
    supported = context.supported_options
    return supported.generic, supported.private


def _unknown_option(codec: str, key: str, known: set[str]) -> ConfigError:
    close = difflib.get_close_matches(key, sorted(known), n=3)
    cure = f"did you mean {', '.join(close)}?" if close else "leave it out"
    return ConfigError(f"the encoder {codec} has no option {key!r}", cure=cure)


def _has_frame_threads(codec: Codec) -> bool:
    return bool(int(codec.capabilities) & Capabilities.frame_threads)


def _is_video_encoder(name: str) -> bool:
    try:
        return Codec(name, "w").type == "video"
    except (UnknownCodecError, RuntimeError):
        return False


def _even(side: int) -> int:
    return side + side % 2
