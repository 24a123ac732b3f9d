"""Setting up the output's container.

mp4 and mov are written as ``hybrid_fragmented`` with ``delay_moov``: a killed run leaves a file
that plays as far as it came, with exact time stamps, and a finished one is an ordinary file.
The muxer then waits for the first packet of every track, with all that came before in memory; where
a track starts late, its header is written at once instead: memory stays bounded and the finished
file is as exact, but of a killed run less plays, with stamps that are off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction

import av
from av.container import OutputContainer

from mpflow.errors import ConfigError
from mpflow.media.output import OutputFile
from mpflow.media.source import ffmpeg_name

FRAGMENTED = frozenset({"mp4", "mov", "ipod", "3gp", "3g2", "psp"})
_NO_VIDEO_FILE = frozenset({"image2", "gif", "null", "hls", "dash", "segment"})
# A stream that has nothing to say delays the others' packets by this much at most, in microseconds.
_INTERLEAVE_US = 500_000
# The finest clock that the start of each track is rounded to in mp4 and mov.
_FINEST_CLOCK = 1 << 30
# Encoders to name where another does not fit, best first, and what they write.
_ENCODERS = {
    "libx264": "h264",
    "libvpx-vp9": "vp9",
    "mpeg4": "mpeg4",
    "mpeg2video": "mpeg2video",
    "libtheora": "theora",
    "mjpeg": "mjpeg",
    "ffv1": "ffv1",
}
_CURE = "end it in .mp4, .mkv, .mov or .webm"


class Fragments(Enum):
    """How mp4 and mov are cut into fragments, as muxer flags.

    The muxer loses cover art in fragments, so a file with some has none.
    """

    EXACT = ("hybrid_fragmented", "delay_moov")
    HEADER_FIRST = ("hybrid_fragmented", "empty_moov")
    NONE = ()


def open_muxer(file: OutputFile) -> OutputContainer:
    """The muxer for the final name's extension; nothing is written yet. Raises ConfigError."""
    name = str(file.final)
    try:
        container = av.open(ffmpeg_name(str(file.partial)), "w")
    except ValueError as error:
        suffix = file.final.suffix or "no extension"
        raise ConfigError(
            f"{name!r} has {suffix}, which names no kind of video file", cure=_CURE
        ) from error
    if container.format.name in _NO_VIDEO_FILE:
        raise ConfigError(f"{name!r} would not be one video file", cure=_CURE)
    return container


def set_muxer_options(
    container: OutputContainer,
    time_bases: Sequence[Fraction],
    *,
    anonymous: bool,
    metadata_keys: bool,
    fragments: Fragments,
) -> None:
    """Options for exact starts, short queues and files that survive a kill.

    ``time_bases`` are the tracks' own, the picture's first. ``anonymous`` leaves out the muxer's
    name and version; ``metadata_keys`` makes room for tags that mp4 has no box for.
    """
    options = {"flush_packets": "1", "max_interleave_delta": str(_INTERLEAVE_US)}
    if anonymous:
        options["fflags"] = "+bitexact"
    if container.format.name in ("matroska", "webm"):
        options["avoid_negative_ts"] = "disabled"  # sound may start before 0: move nothing
    if container.format.name == "avi":
        options["avoid_negative_ts"] = "make_zero"  # it would fill the time before with frames
    if container.format.name in FRAGMENTED:
        flags = list(fragments.value)
        flags += ["use_metadata_tags"] if metadata_keys else []
        if fragments is Fragments.HEADER_FIRST:
            options["use_editlist"] = "1"
        if flags:
            options["movflags"] = "".join(f"+{flag}" for flag in flags)
        options["movie_timescale"] = str(_clock(time_bases))
    container.container_options.update(options)


def fitting_encoder(container: OutputContainer) -> str:
    """An encoder whose pictures the container can hold; empty where there is none to name."""
    for name, coding in _ENCODERS.items():
        if coding in container.supported_codecs:
            return name
    return ""


def _clock(bases: Sequence[Fraction]) -> int:
    """A clock on which every track's start is exact, or at least the first's (the picture's)."""
    clock = bases[0].denominator
    for base in bases[1:]:
        finer = math.lcm(clock, base.denominator)
        if finer > _FINEST_CLOCK:
            break
        clock = finer
    return clock
