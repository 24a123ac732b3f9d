"""What a worker sees of the ring without the lock: hints for decisions, never the decision.

Each cell is read whole, though two cells may be of different moments.
"""

from __future__ import annotations

from mpflow.shm import board
from mpflow.shm.segment import Segment
from mpflow.shm.word import Word


class Looking:
    """The part of a ring that only reads; ``stage`` is the worker's."""

    segment: Segment
    stage: int
    _first: int

    @property
    def epoch(self) -> int:
        """The current epoch; a lease of another one is stale and should be freed."""
        return self.segment.epoch

    @property
    def published(self) -> int:
        """The next frame to decode."""
        return self.segment.published

    @property
    def end(self) -> int | None:
        """How many frames the input has, once known."""
        return self.segment.end

    def upstream_empty(self) -> bool:
        """Whether no frame can reach this stage any more, unless a worker dies."""
        return board.upstream_empty(self.segment.snapshot(), self._first, self.stage)

    def upstream_idle(self) -> bool:
        """Whether no frame is on its way to this stage, though more may be published."""
        return board.upstream_idle(self.segment.snapshot(), self._first, self.stage)

    def words(self) -> list[Word]:
        """Every slot's word."""
        return self.segment.words()

    def depth(self, stage: int) -> int:
        """How many frames wait for a stage."""
        return self.segment.depth(stage)
