"""Time codes of a range of frames: the film's own count, begun at the range's first frame.

SMPTE ST 12-1: HH:MM:SS:FF, or HH:MM:SS;FF where the count drops numbers so that 29.97 (59.94)
frames a second keep step with the clock: the first two (four) of each minute but every tenth.
"""

from __future__ import annotations

import re
from fractions import Fraction

from av.container import OutputContainer
from av.video.stream import VideoStream

_CODE = re.compile(r"^(\d\d):(\d\d):(\d\d)([:;.])(\d\d)$")
_DAY_MINUTES = 24 * 60


def moved(code: str, frames: int, rate: Fraction) -> str:
    """The code so many frames later; one of an unknown form stays as it is."""
    match = _CODE.match(code)
    count = round(rate)
    if match is None or count < 1:
        return code
    hours, minutes, seconds, number = (int(match[group]) for group in (1, 2, 3, 5))
    dropped = 0 if match[4] == ":" else round(rate / 15)
    minute = 60 * hours + minutes
    at = (minute * 60 + seconds) * count + number - dropped * (minute - minute // 10)
    return _written(at + frames, count, dropped, match[4])


def begin_at(begin: Fraction, picture: VideoStream, output: OutputContainer) -> None:
    """Move the time codes of an output on to a time on the clock of the input's picture."""
    rate = picture.average_rate
    if not rate:
        return
    base = picture.time_base or Fraction(1)
    frames = round((begin - (picture.start_time or 0) * base) * rate)
    for tags in (output.metadata, *(stream.metadata for stream in output.streams)):
        if "timecode" in tags:
            tags["timecode"] = moved(tags["timecode"], frames, rate)


def _written(at: int, count: int, dropped: int, mark: str) -> str:
    """Frame ``at`` of a day as a code."""
    short, tens = 60 * count - dropped, 600 * count - 9 * dropped
    ten, rest = divmod(at % (_DAY_MINUTES // 10 * tens), tens)
    # Each ten minutes begin with one whole minute; the short ones follow.
    later = 0 if rest < 60 * count else 1 + (rest - 60 * count) // short
    number = ten * 600 * count + rest + dropped * later
    seconds, frame = divmod(number, count)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{frame:02}"
