"""When a batch is ready: by size, by deadline, or because nothing more will come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """At most ``max_batch`` frames; the first waits at most ``max_wait_ns`` for the others."""

    max_batch: int = 1
    max_wait_ns: int = 0

    def room(self, size: int) -> int:
        """How many more frames fit."""
        return max(0, self.max_batch - size)

    def wait_left(self, size: int, *, first: int, now: int, upstream_empty: bool) -> int:
        """Nanoseconds the batch may still wait; 0 means it goes now.

        ``first`` is when its oldest frame was taken. A batch never waits for an upstream that
        has nothing left to give.
        """
        if size == 0 or self.room(size) == 0 or upstream_empty:
            return 0
        return max(0, first + self.max_wait_ns - now)
