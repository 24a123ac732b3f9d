"""How large a batch may be after a stage ran out of memory: half of what failed, and more later.

    failed with 8 -> 4 from now on -> failed with 4 -> 2
    10 s without trouble -> one batch of 4 -> it fits: 4 from now on
                                           `-> it fails: 2 again, the next try in 20 s, 40 s, ...

Memory is shared with others (a GPU above all), so what did not fit once may fit later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST_PAUSE_NS = 10_000_000_000
LONGEST_PAUSE_NS = 640_000_000_000


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """What memory has allowed so far: up to ``known`` frames of the ``wanted`` ones at once.

    At ``probe_at`` (nanoseconds of a monotonic clock) twice as many are tried; ``pause_ns`` is how
    long it took to wait for that.
    """

    wanted: int
    known: int
    pause_ns: int = FIRST_PAUSE_NS
    probe_at: int = 0

    @classmethod
    def none(cls, wanted: int) -> BatchLimit:
        """Nothing has failed yet."""
        return cls(wanted, wanted)

    @classmethod
    def recalled(cls, wanted: int, known: int, now: int) -> BatchLimit:
        """Go on with what the worker before this one had learned; 0 when that is nothing."""
        if not 0 < known < wanted:
            return cls.none(wanted)
        return cls(wanted, known, FIRST_PAUSE_NS, now + FIRST_PAUSE_NS)

    @property
    def lowered(self) -> bool:
        """Whether less is allowed than wanted."""
        return self.known < self.wanted

    def allowed(self, now: int) -> int:
        """The most frames in the next batch: twice what is known to fit when it is time to try."""
        if self.lowered and now >= self.probe_at:
            return min(self.wanted, 2 * self.known)
        return self.known

    def failed(self, size: int, now: int) -> BatchLimit:
        """What follows from a batch of ``size`` frames for which there was no memory."""
        probe = self.lowered and size > self.known
        pause = min(LONGEST_PAUSE_NS, 2 * self.pause_ns) if probe else FIRST_PAUSE_NS
        known = self.known if probe else max(1, min(self.known, size // 2))
        return replace(self, known=known, pause_ns=pause, probe_at=now + pause)

    def fitted(self, size: int, now: int) -> BatchLimit:
        """What follows from a batch that was worked on: a larger one than before was the proof."""
        if size <= self.known:
            return self
        return replace(self, known=size, pause_ns=FIRST_PAUSE_NS, probe_at=now + FIRST_PAUSE_NS)

    def resized(self, wanted: int) -> BatchLimit:
        """The same memory for another job, whose ring has room for other batches."""
        if not self.lowered:
            return self.none(wanted)
        return replace(self, wanted=wanted, known=min(self.known, wanted))
