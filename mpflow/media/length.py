"""How long an input says it is, against how far its packets came: whether it was cut off.

The structure of the file decides where it tells (mpflow.media.whole); durations say how many
frames are missing, and decide alone where only they are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from av import Packet
from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from mpflow.media.whole import Ending, ending
from mpflow.spec import MediaInfo

_MATROSKA = "matroska,webm"
# How much earlier than promised a file may end where its duration is an estimate.
_SLACK_S = 1.0
# Where it is exact: what rounding takes, beside the last frame's own length.
_ROUNDING_S = 0.05
_CLOCK = re.compile(r"^(\d+):(\d\d):(\d\d(?:\.\d+)?)$")


@dataclass(frozen=True, slots=True)
class Cut:
    """A file that was cut off, and the frames it should have had, where anything tells."""

    expected: int | None


class Length:
    """Follows the packets of one input, and judges its end."""

    def __init__(self, container: InputContainer, stream: VideoStream, media: MediaInfo) -> None:
        self._media = media
        self._index = stream.index
        self._counted = stream.frames
        self._promised = _promised(container, media)
        self._track = _track_end(stream) if media.container == _MATROSKA else None
        self._ends: dict[int, float] = {}
        self._last: float | None = None
        self._longest = 0.0

    def note(self, packet: Packet[Stream]) -> None:
        """Take notice of a packet of any stream, so that one that goes on longer is no surprise."""
        stamp = packet.pts if packet.pts is not None else packet.dts
        if stamp is None or not packet.size:
            return
        end = float((stamp + (packet.duration or 0)) * packet.time_base)
        index = packet.stream_index
        before = self._ends.get(index, end)
        self._ends[index] = max(end, before)
        if index == self._index:
            self._longest = max(self._longest, end - before)

    def cut(self, frames: int) -> Cut | None:
        """Judge the end, all packets read and so many frames decoded; None for a whole file."""
        state = ending(self._media.path, self._media.container)
        if state is Ending.WHOLE:
            return None
        missing = self._missing()
        if state is Ending.UNKNOWN and missing <= self._slack():
            return None
        return Cut(self._expected(frames, missing))

    def _expected(self, frames: int, missing: float) -> int | None:
        """Frames until the promised end, by the average rate; AVI counts them itself."""
        if self._media.container == "avi":
            return self._counted if self._counted > frames else None
        rate = self._rate()
        if missing * rate < 0.5 or self._video_was_over():
            return None
        start = (self._media.video.start or 0) * Fraction(*self._media.video.time_base)
        return max(frames + 1, round((self._end() - float(start)) * rate))

    def _missing(self) -> float:
        """How much earlier than promised the last packet ended, in seconds."""
        if self._promised is None or not self._ends:
            return 0.0
        if self._track is not None and self._index in self._ends:
            return self._end() - self._ends[self._index]
        return self._promised - max(self._ends.values())

    def _end(self) -> float:
        """When the picture should end, on the clock of the time stamps."""
        promised = self._promised or 0.0
        return promised if self._track is None else min(promised, self._track)

    def _slack(self) -> float:
        if self._media.container != _MATROSKA:
            return _SLACK_S
        return max(2 / self._rate(), self._longest) + _ROUNDING_S

    def _video_was_over(self) -> bool:
        """Whether other streams go on for so long that the picture had ended before the cut."""
        mine = self._ends.get(self._index)
        if self._track is not None or mine is None:
            return False
        return mine < max(self._ends.values()) - _SLACK_S

    def _rate(self) -> float:
        rate = self._media.video.average_rate
        return float(Fraction(*rate)) if rate else 25.0


def _promised(container: InputContainer, media: MediaInfo) -> float | None:
    """When the file says it ends, on the clock of its time stamps.

    Matroska counts its duration from 0, not from its first packet.
    """
    if not media.duration:
        return None
    start = 0.0 if media.container == _MATROSKA else (container.start_time or 0) / 1e6
    return media.duration + start


def _track_end(stream: VideoStream) -> float | None:
    """When a Matroska file says that the picture ends: writers leave it as a tag of the track."""
    for key, value in stream.metadata.items():
        if key.upper().startswith("DURATION") and (match := _CLOCK.match(value)):
            hours, minutes, seconds = match.groups()
            return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    return None
