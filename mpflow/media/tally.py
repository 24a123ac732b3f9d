"""What was read of an input, counted once however often a part of it is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from av import Packet
from av.video.stream import VideoStream


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
    corrupt_frames: int = 0
    broken_stretches: int = 0
    warnings: list[str] = field(default_factory=list)
    low: int | None = None
    high: int | None = None
    muted: bool = False
    _reached: int = 0
    _fresh: bool = True

    @property
    def seen(self) -> int:
        """Packets that could not be decoded, and pictures that came out damaged."""
        return self.bad_packets + self.corrupt_frames

    def begin(self, frame: int, low: int | None, high: int | None, *, muted: bool) -> None:
        """A reading begins that gives on frames from this number on."""
        self.frames = max(self.frames, frame)
        self.low, self.high, self.muted = low, high, muted

    def read(self, number: int, packet: Packet[VideoStream]) -> None:
        """Take notice of a packet that is about to be decoded."""
        self._fresh = number >= self._reached
        self._reached = max(self._reached, number + 1)
        if self._counts(packet):
            self.packets += not packet.is_discard

    def failed(self, packet: Packet[VideoStream] | None) -> None:
        """Take notice of a packet that cannot be decoded."""
        self.bad_packets += self._counts(packet)

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

    def _counts(self, packet: Packet[VideoStream] | None) -> bool:
        if self.muted or not self._fresh:
            return False
        stamp = packet.pts if packet is not None else None
        if stamp is None:
            return True
        early = self.low is not None and stamp < self.low
        late = self.high is not None and stamp >= self.high
        return not (early or late)
