"""Ranges of frames: whether an input has them.

A range is half open and counted from 0, as frames are shown. In a file whose time stamps can be
trusted it is a span of time, from the first frame's stamp to that of the frame behind the last, so
neighbouring ranges meet whatever damage lies between.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mpflow.errors import ConfigError
from mpflow.urls import shown

Span = tuple[Fraction, Fraction | None]
"""Seconds on the input's clock; the end is not included, and None stands for the input's own."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames from ``start`` up to, not including, ``stop``; None stands for all that follow."""

    start: int = 0
    stop: int | None = None

    @property
    def some(self) -> bool:
        """Whether these may be fewer than all."""
        return self.start != 0 or self.stop is not None

    def count(self, frames: int) -> int:
        """How many these are, in an input of so many frames."""
        return (frames if self.stop is None else self.stop) - self.start

    def check(self, path: str, frames: int) -> None:
        """Raise ConfigError that names the frames there are, where these are not among them."""
        stop = frames if self.stop is None else self.stop
        if 0 <= self.start < stop <= frames:
            return
        there = f"{frames} frames, 0-{frames - 1}" if frames != 1 else "1 frame, 0"
        raise ConfigError(
            f"{shown(path)!r} has {there}; it does not have {self}",
            cure=f"ask for some of {there.rpartition(', ')[2]}",
            facts={"frames": frames, "start": self.start, "stop": self.stop},
        )

    def __str__(self) -> str:
        """As a user types it, both ends included."""
        if self.stop is None:
            return f"frames {self.start}-"
        if self.stop <= self.start:
            return f"frames from {self.start} up to {self.stop}"
        last = self.stop - 1
        return f"frames {self.start}-{last}" if last > self.start else f"frame {last}"


ALL_FRAMES = Frames()
