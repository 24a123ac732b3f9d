"""Time stamps of a live input: packets and pictures on the run's one time line."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from av import Packet, VideoFrame

from mpflow.media.liveclock import SECOND, LiveClock, PacedClock
from mpflow.media.timeline import Stamps, usual_step
from mpflow.spec import VideoInfo

_USUAL_STEP = SECOND // 25


class LiveStamps:
    """Stamps packets before they are decoded, so that pictures come out with theirs.

    ``zero`` and ``after`` (a picture's time stamp) are what a worker before this one left.
    """

    def __init__(self, *, paced: bool) -> None:
        self._base = Fraction(0)
        self._stamps = Stamps(1)
        self.clock: LiveClock | PacedClock = (
            PacedClock(step=_USUAL_STEP) if paced else LiveClock(step=_USUAL_STEP)
        )

    def settle(self, video: VideoInfo) -> None:
        """Take the run's time base and usual step."""
        self._base = Fraction(*video.time_base)
        rate = Fraction(*video.average_rate) if video.average_rate else None
        self._stamps = Stamps(usual_step(self._base, rate))
        self.clock.step = self.nanoseconds(self._stamps.step)

    def resume(self, zero: int | None, after: int | None) -> None:
        """Go on after the time stamp of a picture; ``zero`` as in MediaInfo."""
        step = self.clock.step
        last = None if after is None else self.nanoseconds(after)
        self._stamps.last = after
        if isinstance(self.clock, PacedClock):
            self.clock = PacedClock(step=step, after=last)
        else:
            self.clock = LiveClock(step=step, zero=zero, after=last)

    @property
    def step(self) -> int:
        """The usual distance of two pictures, in the run's time base."""
        return self._stamps.step

    def nanoseconds(self, stamp: int) -> int:
        """A time stamp of the run's time base."""
        return round(stamp * self._base * SECOND)

    def ticks(self, nanoseconds: int) -> int:
        """Nanoseconds of the time line in the run's time base."""
        return round(nanoseconds / (self._base * SECOND))

    def packet(self, packet: Packet[Any], at: int) -> int:
        """Stamp the picture's next packet, which came ``at`` a moment; returns when it is decoded
        on the time line, in nanoseconds."""
        dts, pts = _nanoseconds(packet.dts, packet), _nanoseconds(packet.pts, packet)
        placed = self.clock.place(dts, pts, at)
        shift, tick = self.clock.shift, packet.time_base * SECOND
        if shift is None or packet.pts is None:
            packet.pts = packet.dts = round(placed / tick)
            return placed
        packet.pts += round(shift / tick)
        if packet.dts is not None:
            packet.dts += round(shift / tick)
        return placed

    def in_base(self, picture: VideoFrame) -> int | None:
        """A decoded picture's time stamp in the run's time base."""
        if picture.pts is None or picture.time_base is None:
            return None
        return round(picture.pts * picture.time_base / self._base)

    def picture(self, picture: VideoFrame) -> int:
        """The time stamp of the next picture: later than the one before."""
        return self._stamps.next(self.in_base(picture), 0)

    def duration(self, picture: VideoFrame) -> int:
        """How long a picture is shown, in the run's time base."""
        own = round((picture.duration or 0) * (picture.time_base or 0) / self._base)
        return own or self._stamps.step

    def sound(self, packet: Packet[Any]) -> tuple[int, int] | None:
        """A packet of sound's pts and dts, in its own time base; None where it fits no picture."""
        pts = packet.pts if packet.pts is not None else packet.dts
        moment = _nanoseconds(pts, packet)
        if pts is None or moment is None or self.clock.follow(moment) is None:
            return None
        ticks = round((self.clock.shift or 0) / (packet.time_base * SECOND))
        return pts + ticks, (packet.dts if packet.dts is not None else pts) + ticks


def _nanoseconds(stamp: int | None, packet: Packet[Any]) -> int | None:
    base = packet.time_base
    return None if stamp is None else stamp * base.numerator * SECOND // base.denominator
