"""Cutting a range of frames into chunks: of so many frames or seconds, or so many of them.

A chunk is one task of a farm: long enough that starting a run (a second or two) does not count,
short enough that a machine which is taken away loses little.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from mpflow.errors import ConfigError
from mpflow.farm.numbers import Range

DEFAULT_SECONDS = 60.0
"""The length of a chunk where nothing was asked."""

MOST_CHUNKS = 100_000


@dataclass(frozen=True, slots=True)
class Split:
    """How long chunks shall be: one of the three at most; all None takes DEFAULT_SECONDS."""

    frames: int | None = None
    seconds: float | None = None
    count: int | None = None

    def check(self) -> None:
        """Raise ConfigError where more than one is given."""
        names = {
            "--chunk-frames": self.frames,
            "--chunk-seconds": self.seconds,
            "--chunks": self.count,
        }
        given = [name for name, value in names.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} contradict each other", cure="give one")

    def chunks(self, start: int, stop: int, rate: Fraction | None) -> tuple[Range, ...]:
        """Frames ``[start, stop)`` as chunks, none empty, none beyond ``stop``.

        Of a length, only the last one is shorter; of a number, lengths differ by one at most.
        ``rate`` is frames a second. Raises ConfigError for what cannot be.
        """
        self.check()
        total = stop - start
        if self.count is not None:
            return _evenly(start, total, self.count)
        length = self.frames if self.frames is not None else self._in_frames(rate)
        if total > length * MOST_CHUNKS:
            raise ConfigError(
                f"chunks of {length} frames would be {-(-total // length)} of them",
                cure=f"make them longer: at most {MOST_CHUNKS} chunks",
            )
        return tuple((at, min(at + length, stop)) for at in range(start, stop, length))

    def _in_frames(self, rate: Fraction | None) -> int:
        if rate is None:
            raise ConfigError(
                "the input does not say how many frames a second it has",
                cure="give --chunk-frames, the length of a chunk, or --chunks, their number",
            )
        seconds = DEFAULT_SECONDS if self.seconds is None else self.seconds
        return max(1, round(Fraction(seconds) * rate))


def _evenly(start: int, total: int, count: int) -> tuple[Range, ...]:
    if not 1 <= count <= min(total, MOST_CHUNKS):
        raise ConfigError(
            f"{total} frames cannot be split into {count} chunks",
            cure=f"give --chunks from 1 to {min(total, MOST_CHUNKS)}",
        )
    cuts = [start + number * total // count for number in range(count + 1)]
    return tuple(pairwise(cuts))
