"""Decoding times for pictures of several encoders, one after another, in one stream.

    pts, sorted:      0  1  2  3  4 ...          depth 2
    dts of packets:  -2 -1  0  1  2 ...

Each encoder makes its own, which run into each other where one chunk's frames come faster than
the next one's. The times that always fit are the sorted pts themselves, later by the most places
that any packet comes before its turn.
"""

from __future__ import annotations

from collections.abc import Sequence


class DecodingTimes:
    """Gives each chunk's packets decoding times that go on where those of the last chunk ended.

    ``depth`` is the most places that a packet may come before its turn; ``step`` is the usual
    distance of two frames in ticks.
    """

    def __init__(self, depth: int, step: int) -> None:
        self.depth = depth
        self._step = step
        self._line: list[int] = []
        self.last: int | None = None

    def fits(self, pts: Sequence[int]) -> bool:
        """Whether no packet comes before its turn by more places than ``depth``."""
        order = sorted(pts)
        return all(pts[at] >= order[at - self.depth] for at in range(self.depth, len(pts)))

    def in_line(self, pts: Sequence[int]) -> list[int]:
        """The pts, moved forward where they are not later than the last chunk's."""
        moved: dict[int, int] = {}
        last = self.last
        for stamp in sorted(pts):
            last = moved[stamp] = stamp if last is None else max(stamp, last + 1)
        return [moved[stamp] for stamp in pts]

    def of(self, pts: Sequence[int]) -> list[int]:
        """The decoding times of the next chunk's packets."""
        if not pts:
            return []
        order = sorted(pts)
        line = (self._line if self.last is not None else self._lead(order)) + order
        self._line, self.last = line[len(pts) :], order[-1]
        return line[: len(pts)]

    def _lead(self, order: Sequence[int]) -> list[int]:
        """The times before the first picture: as far apart as the first pictures are."""
        if len(order) > self.depth:
            back = order[self.depth] - order[0]
            return [stamp - back for stamp in order[: self.depth]]
        return [order[0] - number * self._step for number in range(self.depth, 0, -1)]
