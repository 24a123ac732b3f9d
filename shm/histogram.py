"""Times in buckets: eight for each doubling, so that a quantile is off by a sixteenth at most.

The unit is 1024 ns, nearly a microsecond, so that a bucket is found by shifts alone. Below eight
units each has a bucket of its own; above, the three bits behind the leading one tell which of its
doubling's eight it is. 256 buckets reach to almost five hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from mpflow.shm.layout import BUCKETS

UNIT = 10
"""A unit of time is so many bits of nanoseconds."""


def bucket(nanoseconds: int) -> int:
    """The bucket a time belongs to; one below zero is none, since clocks may differ a bit."""
    units = nanoseconds >> UNIT
    if units < 8:
        return units if units > 0 else 0
    shift = units.bit_length() - 4
    place = (shift << 3) + (units >> shift)
    return place if place < BUCKETS else BUCKETS - 1


def begin_of(place: int) -> int:
    """The shortest time of a bucket, in nanoseconds."""
    if place < 8:
        return place << UNIT
    shift = (place >> 3) - 1
    return (place - (shift << 3)) << shift + UNIT


@dataclass(frozen=True)
class Histogram:
    """How many times fell into each bucket, and their exact sum in nanoseconds.

    Two of different moments are subtracted to see what came between them; those of several
    workers are added.
    """

    counts: tuple[int, ...] = (0,) * BUCKETS
    total: int = 0

    @classmethod
    def of(cls, times: Iterable[int]) -> Self:
        """Count these times, in nanoseconds."""
        counts, total = [0] * BUCKETS, 0
        for time in times:
            counts[bucket(time)] += 1
            total += time
        return cls(tuple(counts), total)

    def __add__(self, other: Histogram) -> Histogram:
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return Histogram(counts, self.total + other.total)

    def __sub__(self, earlier: Histogram) -> Histogram:
        """What came since ``earlier``; a row that began anew counts from its beginning."""
        counts = tuple(a - b for a, b in zip(self.counts, earlier.counts, strict=True))
        if min(counts) < 0:
            return self
        return Histogram(counts, self.total - earlier.total)

    @property
    def count(self) -> int:
        """How many."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """Nanoseconds; 0 without any."""
        count = self.count
        return self.total / count if count else 0.0

    @property
    def largest(self) -> int:
        """A time that none exceeds: where the last bucket with any ends, in nanoseconds."""
        return next((begin_of(k + 1) for k in range(BUCKETS - 1, -1, -1) if self.counts[k]), 0)

    def below(self, nanoseconds: int) -> int:
        """How many are shorter than this; exact where a bucket begins, as at powers of two."""
        return sum(self.counts[: bucket(nanoseconds)])

    def quantile(self, share: float) -> int:
        """A time that ``share`` of all do not exceed, in nanoseconds; 0 without any."""
        rank = share * self.count
        seen = 0
        for place, count in enumerate(self.counts):
            seen += count
            if count and seen >= rank:
                return (begin_of(place) + begin_of(place + 1)) // 2
        return 0
