"""Counters: what a worker adds to its row, and what the supervisor reads from all rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from mpflow.errors import ContractError
from mpflow.shm import COUNTS as COUNTERS
from mpflow.shm import Doing, Segment, State, Stats, Word, WorkerStats, read_stats

__all__ = ["COUNTERS", "Meter", "Progress", "suspect"]

PROGRESS_EVERY_S = 0.25

_CPU_EVERY_NS = 100_000_000
"""How often a worker says how much processor time it used: asking costs a call of the system."""


class Meter:
    """One worker's counters, all times in nanoseconds."""

    def __init__(self, segment: Segment, worker: int) -> None:
        self._row = Stats(segment, worker)
        self._cpu_due = 0
        self.outside_ns = 0
        """Time in which the stage itself has waited for the world outside."""
        self.doing(Doing.WORKING)

    def worked(
        self, nanoseconds: int, *, frames: int = 0, batches: int = 0, damaged: int = 0
    ) -> None:
        """Add time spent working and what came of it."""
        self._row.add(busy_ns=nanoseconds, frames=frames, batches=batches, damaged=damaged)
        self._row.beat(time.monotonic_ns())
        self.cpu()

    def timed(self, service_ns: int, waited_ns: int) -> None:
        """Take in how long one frame was worked on, and how long it had waited before."""
        self._row.time(service_ns, waited_ns)

    def age(self, nanoseconds: int) -> None:
        """Take in how old a frame was when it left this worker."""
        self._row.age(nanoseconds)

    def count(self, name: str, more: int = 1) -> None:
        """Add to one of ``COUNTERS``."""
        if name not in COUNTERS:
            raise ContractError(
                f"there is no counter {name}", cure=f"the counters are {', '.join(COUNTERS)}"
            )
        self._row.count(name, more)

    def cpu(self) -> None:
        """Say how much processor time this process has used, now and then."""
        now = time.monotonic_ns()
        if now >= self._cpu_due:
            self._cpu_due = now + _CPU_EVERY_NS
            self._row.set_cpu(time.process_time_ns())

    @contextmanager
    def outside(self) -> Iterator[None]:
        """A stage waits for the world outside: time waited, and no hang."""
        self.doing(Doing.WAITING)
        began = time.monotonic_ns()
        try:
            yield
        finally:
            waited = time.monotonic_ns() - began
            self.outside_ns += waited
            self._row.add(wait_input_ns=waited)
            self.doing(Doing.WORKING)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Let the supervisor know that a block takes long and is no hang."""
        self.doing(Doing.BUILDING)
        try:
            yield
        finally:
            self.doing(Doing.WORKING)

    @property
    def damaged(self) -> int:
        """Packets and pictures lost so far, by whoever was this worker."""
        return self._row.snapshot().damaged

    @property
    def batch_limit(self) -> int:
        """The largest batch that fits its memory, by whoever was this worker; 0 is not known."""
        return self._row.snapshot().batch_limit

    @batch_limit.setter
    def batch_limit(self, frames: int) -> None:
        self._row.set_batch_limit(frames)

    def ran_out_of_memory(self) -> None:
        """Count a batch for which there was no memory."""
        self._row.count("out_of_memory")

    def doing(self, what: Doing) -> None:
        """Say what the worker is at."""
        self._row.set_state(what)
        self._row.beat(time.monotonic_ns())

    def waited_for_input(self, nanoseconds: int) -> None:
        """Add time without a frame to work on."""
        self._row.add(wait_input_ns=nanoseconds)
        self.cpu()

    def waited_for_slot(self, nanoseconds: int) -> None:
        """Add time without a free slot."""
        self._row.add(wait_slot_ns=nanoseconds)
        self.cpu()


class Placed(Protocol):
    """A worker that has a name."""

    @property
    def label(self) -> str:
        """How messages name it."""


class Place(Protocol):
    """A worker's place in the pipeline."""

    @property
    def stage(self) -> int:
        """The number of its stage."""


class Progress:
    """One job's counters over time: rate, time left, and whether anything still moves.

    With frames under way and no counter moving for ``patience`` seconds, something hangs. The
    clock comes in as an argument, in seconds.
    """

    def __init__(self, patience: float = 60.0) -> None:
        self.patience = patience
        self.counts: tuple[WorkerStats, ...] = ()
        self.ahead = 0
        """Frames that are done without having been counted: those of an earlier run."""
        self.first_frame: float | None = None
        self._labels: list[str] = []
        self._told: float | None = None
        self._moved: float | None = None

    def frames_at(self, worker: int) -> int:
        """Frames a worker has given on; -1 is the sink."""
        return self.counts[worker].frames if self.counts else 0

    def look(
        self, segment: Segment, workers: Sequence[Placed], total: int | None, now: float
    ) -> dict[str, Any] | None:
        """Read all rows; the news to tell when it is time for some."""
        counts = read_stats(segment)
        if self._moved is None or _moving(counts) != _moving(self.counts):
            self._moved = now
        self.counts = counts
        self._labels = [worker.label for worker in workers]
        if self.first_frame is None and counts[-1].frames:
            self.first_frame = now
        if self.first_frame is None or (
            self._told is not None and now - self._told < PROGRESS_EVERY_S
        ):
            return None
        self._told = now
        return self._news(total, now)

    def stalled(self, now: float) -> bool:
        """Whether nothing has moved for longer than the patience lasts."""
        return self._moved is not None and now - self._moved > self.patience

    def moved(self, now: float) -> None:
        """Take it that something moved: a worker is being replaced."""
        self._moved = now

    def forgive(self, seconds: float) -> None:
        """The supervisor itself was stopped for so long: that was nobody's stall."""
        if self._moved is not None:
            self._moved += seconds

    def _news(self, total: int | None, now: float) -> dict[str, Any]:
        frame = self.counts[-1].frames
        elapsed = now - (self.first_frame or now)
        fps = (frame - 1) / elapsed if elapsed > 0 else 0.0  # the first news comes with no rate
        done = frame + self.ahead
        left = None if not total or not fps else max(0.0, (total - done) / fps)
        stages = {
            label: {
                "frames": count.frames,
                "busy_ratio": _share(count.busy_ns, count),
            }
            for label, count in zip(self._labels, self.counts, strict=True)
        }
        return {
            "frame": done,
            "total": total,
            "fps": round(fps, 2),
            "eta_s": None if left is None else round(left, 1),
            "dropped": 0,
            "stages": stages,
        }


def suspect(words: Sequence[Word], workers: Sequence[Place]) -> int:
    """Which worker the pipeline waits for: the one that has the oldest frame, or should take it.

    With no frame under way that is the source.
    """
    oldest = min(
        (word for word in words if word.state is not State.FREE),
        key=lambda word: word.seq,
        default=None,
    )
    if oldest is None:
        return 0
    if oldest.state is not State.READY:
        return oldest.worker
    return next(i for i, worker in enumerate(workers) if worker.stage == oldest.stage)


def _moving(counts: Sequence[WorkerStats]) -> list[int]:
    """What changes as long as the pipeline lives."""
    return [count.frames for count in counts]


def _share(nanoseconds: int, count: WorkerStats) -> float:
    whole = count.busy_ns + count.wait_input_ns + count.wait_slot_ns
    return round(nanoseconds / whole, 3) if whole else 0.0
