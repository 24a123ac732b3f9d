"""How long frames took at each stage and waited before it, from the stamps on their tokens.

Small histograms with logarithmic buckets: a few hundred counters for any number of frames, each
time off by at most one part in sixteen. The largest and the mean are exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from mpflow.accounts import Latency, Spread, StageLatency
from mpflow.tokens import Stamp

_BITS = 4
"""Buckets per doubling, as a power of two: 16 of them keep the error of a quantile small."""

_BUCKETS = (64 - _BITS + 1) << _BITS
"""Enough for 64 bits of nanoseconds."""


class Histogram:
    """Counts of times, in nanoseconds."""

    __slots__ = ("counts", "largest", "total")

    def __init__(self) -> None:
        self.counts = [0] * _BUCKETS
        self.total = 0
        self.largest = 0

    def add(self, value: int) -> None:
        """Count one; a negative one counts as none, since clocks of two cores may differ a bit."""
        # several of these for every frame: an if takes half the time of max()
        if value < 0:  # noqa: PLR1730
            value = 0
        self.total += value
        if value > self.largest:  # noqa: PLR1730
            self.largest = value
        shift = value.bit_length() - _BITS - 1
        self.counts[(shift << _BITS) + (value >> shift) if shift > 0 else value] += 1

    @property
    def count(self) -> int:
        """How many."""
        return sum(self.counts)

    def quantile(self, share: float) -> int:
        """A time that ``share`` of all do not exceed, in nanoseconds; 0 without any."""
        rank = share * self.count
        seen = 0
        for bucket, count in enumerate(self.counts):
            seen += count
            if count and seen >= rank:
                return min(_middle(bucket), self.largest)
        return 0

    def spread(self) -> Spread:
        """The same in seconds, for people."""
        count = self.count
        return Spread(
            count=count,
            mean=_seconds(self.total / count) if count else 0.0,
            p50=_seconds(self.quantile(0.5)),
            p90=_seconds(self.quantile(0.9)),
            p95=_seconds(self.quantile(0.95)),
            p99=_seconds(self.quantile(0.99)),
            max=_seconds(self.largest),
        )


class LatencyBook:
    """The times of all frames that came to the end, stage by stage."""

    def __init__(self) -> None:
        self._whole = Histogram()
        self._stages: dict[str, tuple[Histogram, Histogram]] = {}

    def note(self, born: int, stamps: Sequence[Stamp]) -> None:
        """Take in one frame's stamps, in the order of the stages."""
        before = born
        for stamp in stamps:
            pair = self._stages.get(stamp.stage)
            if pair is None:
                pair = self._stages[stamp.stage] = (Histogram(), Histogram())
            pair[0].add(stamp.ended - stamp.started)
            pair[1].add(stamp.started - before)
            before = stamp.ended
        self._whole.add(before - born)

    def summary(self) -> Latency:
        """Everything so far."""
        waiting = sum(waits.total for _, waits in self._stages.values())
        whole = self._whole.total
        return Latency(
            whole=self._whole.spread(),
            idle_ratio=round(min(waiting / whole, 1.0), 4) if whole else 0.0,
            stages=tuple(
                StageLatency(name, service.spread(), waits.spread())
                for name, (service, waits) in self._stages.items()
            ),
        )


def _middle(bucket: int) -> int:
    """The middle of a bucket's times."""
    shift = max((bucket >> _BITS) - 1, 0)
    return ((bucket - (shift << _BITS)) << shift) + ((1 << shift) >> 1)


def _seconds(nanoseconds: float) -> float:
    return round(nanoseconds / 1e9, 7)
