"""Time stamps made fit for use: jumps back are bridged, missing ones are filled, order is kept.

Reader and copier each run ``Continuity`` over the same video packets, so that both arrive at the
same offsets and sound stays with the picture.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from av import Packet
from av.stream import Stream
from av.video.stream import VideoStream

_S = TypeVar("_S", bound=Stream)

JUMP_BACK_S = Fraction(1, 10)
_LEAP_AHEAD_S = Fraction(10)


class Continuity:
    """Bridges places where the video's time stamps jump back (files joined, a restarted camera).

    The shift is found on the video's packets alone, in file order; ``offsets`` holds what has to
    be added, in seconds, to the stamps of each part. One packet far off that the next one does not
    confirm is damage: it loses its stamps instead.
    """

    def __init__(self) -> None:
        self.offsets = [Fraction(0)]
        self._last: Fraction | None = None
        self._end = Fraction(0)
        self._held: list[Packet[VideoStream]] = []
        self._held_at = Fraction(0)

    def feed(self, packet: Packet[VideoStream]) -> list[Packet[VideoStream]]:
        """Take the video's next packet; gives those whose stamps are settled, shifted."""
        if packet.dts is None:
            if self._held:
                self._held.append(packet)
                return []
            return [self.shift(packet)]
        raw = packet.dts * packet.time_base
        settled = self._settle(raw) if self._held else []
        if self._strange(raw, self._last):
            self._held, self._held_at = [packet], raw
            return settled
        self._note(raw, packet)
        return [*settled, self.shift(packet)]

    def flush(self) -> list[Packet[VideoStream]]:
        """The packets still held back at the end of the file."""
        return self._settle(None) if self._held else []

    @property
    def jumps(self) -> int:
        """How often the stamps jumped back so far."""
        return len(self.offsets) - 1

    def shift(self, packet: Packet[_S], part: int = -1) -> Packet[_S]:
        """Add the offset of a part (the latest, if not told) to a packet's stamps."""
        offset = self.offsets[part]
        ticks = round(offset / packet.time_base) if offset else 0
        if ticks and packet.pts is not None:
            packet.pts += ticks
        if ticks and packet.dts is not None:
            packet.dts += ticks
        return packet

    def _settle(self, following: Fraction | None) -> list[Packet[VideoStream]]:
        """Decide on the held packet by the one that follows: a real jump, or damage."""
        held, self._held = self._held, []
        if self._is_damage(following):
            held[0].pts = held[0].dts = None
            return [held[0], *map(self.shift, held[1:])]
        if self._last is not None and self._held_at < self._last:
            self.offsets.append(self.offsets[-1] + self._end - self._held_at)
            self._end = self._held_at
        self._note(self._held_at, held[0])
        return [self.shift(packet) for packet in held]

    def _is_damage(self, following: Fraction | None) -> bool:
        """Whether the stream goes on as if the held packet had not been there."""
        if following is None:
            return self._last is not None and self._held_at < self._last
        return not self._strange(following, self._last)

    @staticmethod
    def _strange(raw: Fraction, last: Fraction | None) -> bool:
        return last is not None and not (last - JUMP_BACK_S <= raw <= last + _LEAP_AHEAD_S)

    def _note(self, raw: Fraction, packet: Packet[VideoStream]) -> None:
        self._last = raw
        self._end = max(self._end, raw + (packet.duration or 0) * packet.time_base)


class Stamps:
    """Gives every frame a time stamp that is later than the one before.

    ``step`` is the usual distance of two frames, in ticks of the time base.
    """

    def __init__(self, step: int) -> None:
        self.step = max(1, step)
        self.filled = 0
        self.moved = 0
        self.last: int | None = None

    def next(self, pts: int | None, duration: int) -> int:
        """The stamp of the next frame: its own, or the best guess where that cannot be."""
        if pts is None:
            self.filled += 1
            pts = 0 if self.last is None else self.last + self.step
        elif self.last is not None and pts <= self.last:
            self.moved += 1
            pts = self.last + 1
        self.last = pts
        if duration > 0:
            self.step = duration
        return pts


def usual_step(time_base: Fraction, rate: Fraction | None) -> int:
    """Ticks between two frames at an average rate; 25 frames a second where it is unknown."""
    return max(1, round(1 / (time_base * (rate or Fraction(25)))))
