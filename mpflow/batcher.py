"""When a batch is ready: by size, by deadline, or because nothing more is on its way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mpflow.policies.batching import BatchLimit
from mpflow.tokens import Mode


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """At most ``max_batch`` frames; the first waits at most ``max_wait_ns`` for the others."""

    max_batch: int = 1
    max_wait_ns: int = 0

    def room(self, size: int) -> int:
        """How many more frames fit."""
        return max(0, self.max_batch - size)

    def wait_left(self, size: int, *, first: int, now: int, nothing_comes: bool) -> int:
        """Nanoseconds the batch may still wait; 0 means it goes now.

        ``first`` is when its oldest frame was taken. A batch never waits for frames of which
        nobody knows whether they come (``nothing_comes``).
        """
        if size == 0 or self.room(size) == 0 or nothing_comes:
            return 0
        return max(0, first + self.max_wait_ns - now)


SINGLE = BatchPolicy()
"""One frame at a time, none waits: what a pipeline under load does with every stage."""


class Batching:
    """One worker's batches: what its stage asks for, as far as memory and the load allow it.

    It lives as long as the worker, so what was learned of the memory is kept from job to job.
    """

    def __init__(self) -> None:
        self._asked = SINGLE
        self._limit = BatchLimit.none(1)

    def begin(self, asked: BatchPolicy, known: int, now: int) -> None:
        """A job begins: ``known`` is the limit that the worker before this one left, 0 for none."""
        if self._limit.lowered:
            self._limit = self._limit.resized(asked.max_batch)
        else:
            self._limit = BatchLimit.recalled(asked.max_batch, known, now)
        self._asked = asked

    @property
    def limit(self) -> int:
        """The most frames that are known to fit at once."""
        return self._limit.known

    def policy(self, now: int, mode: Mode = Mode.THROUGHPUT) -> BatchPolicy:
        """What holds for the next batch."""
        if mode is Mode.SINGLE_FRAME:
            return SINGLE
        if not self._limit.lowered:
            return self._asked
        return replace(self._asked, max_batch=self._limit.allowed(now))

    def worked(self, size: int, now: int) -> bool:
        """Note a batch that was worked on; whether that raised the limit."""
        before, self._limit = self._limit, self._limit.fitted(size, now)
        return self._limit is not before

    def ran_out(self, size: int, now: int) -> bool:
        """Note a batch for which there was no memory; whether the limit is lower from now on."""
        before, self._limit = self._limit, self._limit.failed(size, now)
        return self._limit.known < before.known
