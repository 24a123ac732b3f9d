"""Which pictures of a reading are given on."""

from __future__ import annotations

from dataclasses import dataclass

from mpflow.media.index import Index
from mpflow.media.ranges import Frames
from mpflow.spec import Place


@dataclass(slots=True)
class Gate:
    """Lets pictures through from ``low`` (a time stamp) on, after ``skip`` more, and up to ``high``
    (a time stamp, not included) or for ``left`` pictures. ``number`` is the next frame's.

    It keeps what it let through in mind: another reading of the same input goes on after that.
    """

    number: int
    low: int | None = None
    high: int | None = None
    skip: int = 0
    left: int | None = None

    def closed(self, stamp: int | None = None) -> bool:
        """Whether no picture may follow, from this time stamp on."""
        beyond = stamp is not None and self.high is not None and stamp >= self.high
        return beyond or self.left == 0

    def admits(self, stamp: int) -> bool:
        """Decide on the next picture of a reading."""
        if self.low is not None and stamp < self.low:
            return False
        self.low = stamp + 1
        if self.skip:
            self.skip -= 1
            return False
        self.number += 1
        if self.left is not None:
            self.left -= 1
        return True


def gate_at(place: Place, index: Index, wanted: Frames) -> Gate:
    """What to let through from a place on, among the wanted frames.

    By time stamps where they can be trusted, else by counting all pictures of a reading. A range
    that ends with the index ends with the input.
    """
    start = wanted.start
    stop = None if wanted.stop is None or wanted.stop >= index.frames else wanted.stop
    first = start + place.frame
    low = None if place.after is None else place.after + 1
    if not index.clean:
        left = None if stop is None else max(0, stop - first)
        return Gate(place.frame, low, skip=first if low is None else 0, left=left)
    high = None if stop is None else index.stamps[stop]
    counted = place.counted and low is None
    if low is None:
        number = start if counted else first
        low = index.stamps[number] if number < index.frames else index.stamps[-1] + 1
    nothing = low > index.stamps[-1] or (high is not None and low >= high)
    skip = place.frame if counted else 0
    return Gate(place.frame, low, high, skip, left=0 if nothing else None)
