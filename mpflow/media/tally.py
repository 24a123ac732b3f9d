"""What was read of an input, counted once however often a part of it is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from av import Packet
from av.video.stream import VideoStream

_SEAM = 2
"""So many packets before the seam of joined files at most, the demuxer notices it."""


@dataclass(slots=True)
class Tally:
    """Counters of one input. Packets have numbers in file order, frames as they are shown.

    Only what lies beyond the farthest packet so far counts, and between the time stamps ``low``
    and ``high``; nothing does while ``muted``.
    """

    warn: Callable[[str], None]
    frames: int = 0
    packets: int = 0
    bad_packets: int = 0
    torn_stretches: int = 0
    corrupt_frames: int = 0
    broken_stretches: int = 0
    warnings: list[str] = field(default_factory=list)
    low: int | None = None
    high: int | None = None
    muted: bool = False
    _reached: int = 0
    _fresh: bool = True
    _torn: int = 0
    _clock: int | None = None

    @property
    def seen(self) -> int:
        """Packets that are gone or could not be decoded, and pictures that came out damaged."""
        return self.bad_packets + self.torn_stretches + self.corrupt_frames

    def begin(self, frame: int, low: int | None, high: int | None, *, muted: bool) -> None:
        """A reading begins that gives on frames from this number on."""
        self.frames = max(self.frames, frame)
        self.low, self.high, self.muted = low, high, muted

    def read(self, number: int, packet: Packet[VideoStream]) -> None:
        """Take notice of a packet that is about to be decoded."""
        self._fresh = number >= self._reached
        self._reached = max(self._reached, number + 1)
        self._note_torn(packet)
        if self._counts(packet):
            self.packets += not packet.is_discard

    def failed(self, packet: Packet[VideoStream] | None) -> None:
        """Take notice of a packet that cannot be decoded."""
        self.bad_packets += self._counts(packet)
        self._torn = 0  # once is enough

    def broken(self) -> None:
        """Take notice of a stretch that cannot be demuxed."""
        self.broken_stretches += self._fresh and not self.muted

    def given(self, number: int, *, corrupt: bool) -> None:
        """Take notice of a frame that is given on."""
        if number >= self.frames:
            self.frames = number + 1
            self.corrupt_frames += corrupt

    def say(self, text: str) -> None:
        """Warn once for each text."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.warn(text)

    def _note_torn(self, packet: Packet[VideoStream]) -> None:
        """Count a stretch where the demuxer says that packets are torn: others may be gone.

        Not where the clock jumps back soon after: files were joined there.
        """
        clock, self._clock = self._clock, packet.dts
        if clock is not None and packet.dts is not None and packet.dts < clock:
            self._torn = 0
        elif self._torn:
            self._torn -= 1
            self.torn_stretches += not self._torn
        if packet.is_corrupt and self._counts(packet):
            self._torn = _SEAM

    def _counts(self, packet: Packet[VideoStream] | None) -> bool:
        if self.muted or not self._fresh:
            return False
        stamp = packet.pts if packet is not None else None
        if stamp is None:
            return True
        early = self.low is not None and stamp < self.low
        late = self.high is not None and stamp >= self.high
        return not (early or late)
