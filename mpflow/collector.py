"""Takes a worker's batches from the ring, and learns how large they may be.

take what is ready -> room left, and more on its way? -> wait, take again -> the batch
worked on, or no memory for it -> the limit, kept in shared memory for whoever comes next
"""

from __future__ import annotations

import time

from mpflow.batcher import Batching, BatchPolicy
from mpflow.desk import Desk
from mpflow.shm import Lease


class Collector:
    """One stage's batches in one job. ``live`` inputs are waited for, others never."""

    def __init__(self, desk: Desk, batching: Batching, asked: BatchPolicy, *, live: bool) -> None:
        self._desk = desk
        self._batching = batching
        self._live = live
        self._suspect: Lease | None = None
        batching.begin(asked, desk.meter.batch_limit, time.monotonic_ns())
        desk.meter.batch_limit = batching.limit

    @property
    def policy(self) -> BatchPolicy:
        """What holds for the next batch; in single-frame mode one frame that waits for no other."""
        return self._batching.policy(time.monotonic_ns(), self._desk.orders.helm.mode)

    @property
    def has_put_by(self) -> bool:
        """Whether a frame was taken that has not been given out."""
        return self._suspect is not None

    def collect(self) -> list[Lease]:
        """Take what is ready, and wait for more as long as the policy says."""
        desk = self._desk
        if self._suspect is not None:
            batch, self._suspect = [self._suspect], None
            return batch
        policy = self.policy
        batch = desk.ring.take_batch(policy.max_batch)
        first = time.monotonic_ns()
        while batch and policy.room(len(batch)) and not (batch[-1].alone or desk.orders.over):
            now, idle = time.monotonic_ns(), self._nothing_comes()
            left = policy.wait_left(len(batch), first=first, now=now, nothing_comes=idle)
            if left == 0:
                break
            desk.meter.waited_for_input(desk.wait(left / 1e9))
            batch += desk.ring.take_batch(policy.room(len(batch)))
        if len(batch) > 1 and batch[-1].alone:  # a suspect goes by itself, after the others
            self._suspect = batch.pop()
        return batch

    def forget(self) -> None:
        """Let go of what was taken and not given out: it is made again."""
        if self._suspect is not None:
            self._desk.ring.free(self._suspect)
            self._suspect = None

    def worked(self, size: int) -> None:
        """A batch of so many frames was worked on."""
        if self._batching.worked(size, time.monotonic_ns()):
            self._keep_limit()
            self._desk.tell("log", level="info", text=f"{size} frames at once fit again", frame=-1)

    def ran_out(self, size: int) -> None:
        """There was no memory for a batch of so many frames: the next ones are smaller."""
        self._desk.meter.ran_out_of_memory()
        if self._batching.ran_out(size, time.monotonic_ns()):
            self._keep_limit()
            self._desk.tell(
                "warning",
                text=f"{self._desk.name} ran out of memory with {size} frames at once:"
                f" at most {self._batching.limit} from now on",
            )

    def _nothing_comes(self) -> bool:
        """Whether a batch had better not wait. A live input will send something; in other runs
        frames wait for others only while some are on their way."""
        ring = self._desk.ring
        return ring.upstream_empty() if self._live else ring.upstream_idle()

    def _keep_limit(self) -> None:
        """Let the report show it, and whoever takes this worker's place find it."""
        self._desk.meter.batch_limit = self._batching.limit
        self._desk.tell("fact", key="batch_limit", value=self._batching.limit)
