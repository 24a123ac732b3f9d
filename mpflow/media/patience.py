"""How long a live input is waited for, and when a connection that lives is as good as lost.

    dialled ---- opening ----> open ---- first picture ----> pictures ---- reading, or their pace
            `-> nothing opens      `-> nothing comes, or no picture             `-> they stop

FFmpeg bounds its own waits, but for those inside a device's driver; and it knows nothing of
pictures: where a sender begins anew as another stream, the old one is waited for in vain.
"""

from __future__ import annotations

from dataclasses import dataclass
from errno import ETIMEDOUT

import av

# How long an input may send packets before one of them is a key frame that can be decoded, and
# before the first few pictures tell how often they come.
FIRST_PICTURE_S = 30.0
# What FFmpeg takes beyond a bound of its own.
MARGIN_S = 2.0
# Pictures that stay away for so many times what is usual do not come any more.
_STEPS = 4.0
_FEW = 3
# When FFmpeg gives up it hands out what it had kept back, sound before pictures.
_LAST_S = 1.0
# Without a packet for so long it is not only the picture that does not come.
_STILL_S = 0.2


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for the first connection, for a packet, for an input's return; and how far
    decoding may be behind."""

    opening: float = 10.0
    reading: float = 5.0
    retry: float = 30.0
    lag: float = 1.0


class Unseen(Exception):
    """Packets come, and no picture of them: for ``seconds``, or at all."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(
            "no picture came" if seconds is None else f"no picture came for {round(seconds, 1):g} s"
        )


class Watch:
    """Watches one connection after the other. Moments are seconds on one clock.

    ``reading`` bounds the wait for a packet, and for a picture unless they come more seldom;
    ``step`` is how far apart pictures usually are.
    """

    def __init__(self, reading: float) -> None:
        self.step = 0.0
        self._reading = reading
        self._came = self._seen = self._since = 0.0
        self.dialled(0.0, opening=0.0)

    def dialled(self, now: float, *, opening: float) -> None:
        """Another connection is tried, and ought to be there within ``opening``."""
        self._until = now + opening
        self._is_open = False
        self._pictures = 0
        self._gap = 0.0
        self.excused(now)

    @property
    def is_open(self) -> bool:
        """Whether the connection is there."""
        return self._is_open

    def opened(self, now: float) -> None:
        """It is there."""
        self._is_open = True
        self.excused(now)

    def came(self, now: float) -> None:
        """A packet came."""
        self._came = now

    def seen(self, now: float) -> None:
        """A picture came."""
        if self._pictures:
            self._gap = max(self._gap, now - self._since)
        self._pictures += 1
        self._seen = self._since = now

    def excused(self, now: float) -> None:
        """Nobody looked up to now."""
        self._came = self._seen = self._since = now

    def trouble(self, now: float, *, skips: bool) -> Exception | None:
        """Why the connection is as good as lost, if it is. ``skips`` says that pictures are left
        out up to the next key frame."""
        if not self._is_open:
            return av.ExitError(ETIMEDOUT, "it does not open") if now > self._until else None
        if now - self._came > self._reading + MARGIN_S:
            return av.ExitError(ETIMEDOUT, "nothing comes")
        if skips and now - self._seen <= FIRST_PICTURE_S:
            self._since = now
        comes = now - self._came < _STILL_S
        limit = self._limit
        return Unseen(limit) if comes and now - self._since > limit + _LAST_S else None

    @property
    def _limit(self) -> float:
        """How long a picture may take: longer as long as it is not known how often they come."""
        least = FIRST_PICTURE_S if self._pictures < _FEW else 0.0
        return max(self._reading, least, max(self.step, self._gap) * _STEPS)
