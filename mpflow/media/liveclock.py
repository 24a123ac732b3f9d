"""One time line for a live input, whatever its connections and its own clock do.

A stream's time stamps begin anywhere, jump, and begin anew with each connection. Each such part is
shifted as a whole, sound and picture alike: the first to begin at 0, the others to go on by the
clock of this machine. It is also known when a picture should have been here: its time stamp plus
the least delay of the last seconds, which makes what the network and the decoder add part of its
age. All times are nanoseconds.
"""

from __future__ import annotations

from collections import deque

SECOND = 1_000_000_000
BACK = SECOND
AHEAD = 10 * SECOND
# So much of the stream is looked at for the least delay. What never comes sooner is not late: where
# a sender's clock stood still for a while, or runs slower than this one, all that follows is later.
WINDOW = 5 * SECOND


class LiveClock:
    """Places packets of the picture on the time line, in the order in which they come.

    ``zero`` is when time stamp 0 was, on the monotonic clock; None until the first packet.
    ``after`` is the last time stamp that a worker before this one has given.
    """

    def __init__(self, *, step: int, zero: int | None = None, after: int | None = None) -> None:
        self.zero = zero
        self.step = step
        self._last = after
        self._last_at: int | None = None
        self._heard: int | None = None
        self._shift: int | None = None
        self._delays: deque[tuple[int, int]] = deque()

    @property
    def shift(self) -> int | None:
        """What is added to the time stamps of this part; None before its first."""
        return self._shift

    def joined(self) -> None:
        """Another part begins: a new connection."""
        self._shift = self._heard = None
        self._delays.clear()

    def place(self, dts: int | None, pts: int | None, at: int) -> int:
        """Where a packet that came ``at`` a moment is decoded; adds its part's shift."""
        if dts is None:
            placed = self._next(at) if self._shift is None else (self._last or 0) + self.step
        else:
            if self._shift is None or self._jumps(dts + self._shift, at):
                self._delays.clear()
                self._shift, self._heard = self._next(at) - dts, None
            placed = dts + self._shift
            self._note_delay(placed, at - placed)
        shown = placed if pts is None or self._shift is None else max(placed, pts + self._shift)
        self._last = shown if self._last is None else max(self._last, shown)
        self._last_at = at
        return placed

    def follow(self, time: int) -> int | None:
        """Where a packet of sound belongs; None where it is near no picture that is here, and near
        no sound that was: pictures may be far apart."""
        if self._shift is None or self._last is None:
            return None
        placed = time + self._shift
        if all(abs(placed - near) >= AHEAD for near in (self._last, self._heard or self._last)):
            return None
        self._heard = placed
        return placed

    def arrived(self, placed: int, now: int) -> int:
        """When a picture should have been here, on the monotonic clock; never later than now."""
        return min(now, placed + self._delays[0][1]) if self._delays else now

    def _next(self, at: int) -> int:
        """Where a part begins: on by the clock from what was last, or from zero."""
        if self._last is not None and self._last_at is not None:
            return self._last + max(self.step, at - self._last_at)
        if self.zero is None:
            self.zero = at
        ahead = at - self.zero
        return ahead if self._last is None else max(ahead, self._last + self.step)

    def _jumps(self, placed: int, at: int) -> bool:
        if self._last is None or self._last_at is None:
            return False
        ahead = placed - self._last
        return ahead < -BACK or ahead > AHEAD + (at - self._last_at)

    def _note_delay(self, placed: int, delay: int) -> None:
        """Keep what may yet be the least delay of the window: the first one is."""
        while self._delays and self._delays[-1][1] >= delay:
            self._delays.pop()
        self._delays.append((placed, delay))
        while self._delays[0][0] < placed - WINDOW:
            self._delays.popleft()


class PacedClock:
    """Plays a file: every picture is due by its time stamp, the first at once.

    Another turn of a file that is looped begins where the one before ended.
    """

    def __init__(self, *, step: int, after: int | None = None) -> None:
        self.step = step
        self._end = None if after is None else after + step
        self._shift: int | None = 0
        self._goes_on = after is not None
        self._start: int | None = None

    @property
    def shift(self) -> int | None:
        """What is added to the time stamps of this turn; None before its first."""
        return self._shift

    def joined(self) -> None:
        """Another turn begins, unless the first one is read on where somebody left it."""
        if self._end is not None and not self._goes_on:
            self._shift = None
        self._goes_on = False

    def anew(self) -> None:
        """The next turn begins with the beginning of the file whatever was before."""
        self._goes_on = False

    def place(self, dts: int | None, pts: int | None, at: int) -> int:
        """Where a packet is decoded; adds its turn's shift."""
        time = pts if pts is not None else dts
        if time is None:
            return self._end or 0
        if self._shift is None:
            self._shift = (self._end or 0) - time
        self._end = max(self._end or 0, time + self._shift + self.step)
        return (dts if dts is not None else time) + self._shift

    def follow(self, time: int) -> int | None:
        """Where a packet of sound belongs."""
        return None if self._shift is None else time + self._shift

    def due(self, placed: int, now: int) -> int:
        """When a picture is to be shown, on the monotonic clock; the first one is at once."""
        if self._start is None:
            self._start = now - placed
        return self._start + placed

    def arrived(self, placed: int, now: int) -> int:
        """The same, and never later than now; now as long as no picture was due yet."""
        return now if self._start is None else min(now, self._start + placed)
