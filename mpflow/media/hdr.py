"""HDR facts that travel beside the picture: read from the first frame, told to the encoder.

The encoders of FFmpeg take them as parameters of their own, each in its own spelling; what an
encoder cannot be told is named, so that nothing is lost in silence.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction

# AVMasteringDisplayMetadata: ten rationals (R, G, B, white as x, y; then min and max luminance)
# and two flags, as libavutil/mastering_display_metadata.h has them.
_MASTERING = struct.Struct("=20iii")
_LIGHT = struct.Struct("=II")
# Units of SMPTE ST 2086 as H.264 and H.265 carry them.
_CHROMA_UNIT = 50_000
_LUMINANCE_UNIT = 10_000

_PARAMETERS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}

_OTHER = {
    "DYNAMIC_HDR_PLUS": "HDR10+ dynamic metadata",
    "DYNAMIC_HDR_VIVID": "HDR Vivid metadata",
    "DOVI_RPU_BUFFER": "Dolby Vision metadata",
    "DOVI_METADATA": "Dolby Vision metadata",
    "AMBIENT_VIEWING_ENVIRONMENT": "ambient viewing environment",
    "ICC_PROFILE": "ICC colour profile",
    "SPHERICAL": "spherical (360 degrees) projection",
    "STEREO3D": "stereo 3D layout",
    "A53_CC": "closed captions inside the picture stream",
    "FILM_GRAIN_PARAMS": "film grain parameters",
}
_STATIC = {
    "MASTERING_DISPLAY_METADATA": "HDR mastering display metadata",
    "CONTENT_LIGHT_LEVEL": "HDR content light level",
}


def encoder_parameters(codec: str, side_data: Mapping[str, bytes]) -> dict[str, str]:
    """Encoder options (name -> value) that carry the mastering display and light level."""
    option = _PARAMETERS.get(codec)
    if option is None:
        return {}
    parts = []
    mastering = side_data.get("MASTERING_DISPLAY_METADATA")
    if mastering and (text := _mastering(codec, mastering)):
        parts.append(text)
    light = side_data.get("CONTENT_LIGHT_LEVEL")
    if light:
        name = {"libx264": "cll", "libx265": "max-cll", "libsvtav1": "content-light"}[codec]
        most, average = _LIGHT.unpack_from(light)
        parts.append(f"{name}={most},{average}")
    return {option: ":".join(parts)} if parts else {}


def lost(codec: str, side_data: Mapping[str, bytes]) -> list[str]:
    """What the first picture carries that the output will not."""
    gone = [text for name, text in _OTHER.items() if name in side_data]
    if codec not in _PARAMETERS:
        gone += [text for name, text in _STATIC.items() if name in side_data]
    return sorted(set(gone))


def _mastering(codec: str, data: bytes) -> str:
    """The mastering display in an encoder's words; empty where it is incomplete."""
    values = _MASTERING.unpack_from(data)
    has_primaries, has_luminance = values[20:]
    if not (has_primaries and has_luminance):
        return ""
    pairs = zip(values[0:20:2], values[1:20:2], strict=True)
    red_x, red_y, green_x, green_y, blue_x, blue_y, white_x, white_y, low, high = (
        Fraction(top, bottom or 1) for top, bottom in pairs
    )
    points = {
        "G": (green_x, green_y),
        "B": (blue_x, blue_y),
        "R": (red_x, red_y),
        "WP": (white_x, white_y),
    }
    if codec == "libsvtav1":
        text = "".join(f"{k}({float(x):.5f},{float(y):.5f})" for k, (x, y) in points.items())
        return f"mastering-display={text}L({float(high):.4f},{float(low):.4f})"
    text = "".join(
        f"{k}({round(x * _CHROMA_UNIT)},{round(y * _CHROMA_UNIT)})" for k, (x, y) in points.items()
    )
    light = f"L({round(high * _LUMINANCE_UNIT)},{round(low * _LUMINANCE_UNIT)})"
    name = "mastering-display" if codec == "libx264" else "master-display"
    return f"{name}={text}{light}"
