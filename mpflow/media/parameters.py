"""What an encoder would pass over in silence, found out before it starts.

A crf beyond the scale is cut off. Of parameters inside an option (x264-params=KEY=VALUE:KEY=VALUE)
FFmpeg only logs a key that the encoder does not know. libx264's older option for the same thing,
x264opts, refuses it, and so is asked first. x265 and SVT-AV1 have no such second door.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf

import av
from av import Codec, VideoCodecContext

from mpflow.errors import ConfigError
from mpflow.media.encoder import Shape, try_open

# Ends of the scale on which each encoder counts quality; most of them cut off what is beyond.
_CRF_SCALES = {
    **dict.fromkeys(("libx264", "libx264rgb", "libx265"), (0, 51)),
    **dict.fromkeys(("libvpx", "libvpx-vp9", "libaom-av1", "libsvtav1"), (0, 63)),
}
_OPTION, _STRICT = "x264-params", "x264opts"
_BETWEEN = re.compile(r"(?<!\\):")


def check_crf(codec: str, options: Mapping[str, str]) -> None:
    """Raise ConfigError for a crf beyond the encoder's scale."""
    crf = options.get("crf")
    if crf is None or codec not in _CRF_SCALES:
        return
    low, high = _CRF_SCALES[codec]
    if not low <= _number(crf) <= high:
        raise ConfigError(
            f"the encoder {codec} has no crf {crf}",
            cure=f"give one from {low} (best) to {high} (smallest file)",
        )


def check_parameters(
    codec: Codec,
    options: Mapping[str, str],
    shape: Shape,
    configure: Callable[[VideoCodecContext, Shape], None],
) -> None:
    """Raise ConfigError for a parameter that libx264 would pass over in silence."""
    if codec.name not in ("libx264", "libx264rgb") or _OPTION not in options:
        return
    others = {key: value for key, value in options.items() if key not in (_OPTION, _STRICT)}
    for parameter in _BETWEEN.split(options[_OPTION]):
        if "\\" in parameter:
            continue  # the other option has no way to write a colon inside a value
        try:
            try_open(codec, {**others, _STRICT: parameter}, shape, configure)
        except (av.FFmpegError, ValueError) as error:
            raise ConfigError(
                f"the encoder {codec.name} does not accept {parameter!r} in {_OPTION}",
                cure="x264 --fullhelp lists its parameters and their values",
            ) from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return inf
