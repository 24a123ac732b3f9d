"""Counters and times of each worker, in the segment: one row a worker, one writer a row, no lock.

A reader sees each number whole, though two of them may be of different moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from mpflow.shm.errors import UnknownWorker
from mpflow.shm.histogram import Histogram, bucket
from mpflow.shm.layout import BUCKETS, STATS_ROW, TIMES_ROW
from mpflow.shm.segment import Segment


class Doing(IntEnum):
    """What a worker says it is doing. BUILDING (an engine, a download) is never taken for a hang.

    IDLE is also what a row says before its worker has said anything.
    """

    IDLE = 0
    WORKING = 1
    WAITING = 2
    BUILDING = 3


@dataclass(frozen=True)
class WorkerStats:
    """One worker's counters, in the order of their cells. Times are nanoseconds."""

    heartbeat_ns: int
    """When the worker last said that it lives, on the monotonic clock."""
    frames: int
    """Frames given on."""
    batches: int
    """Batches worked on."""
    busy_ns: int
    """Time inside the stage."""
    wait_input_ns: int
    """Time waiting for a frame."""
    wait_slot_ns: int
    """Time waiting for a free slot."""
    state: int
    """What the worker is doing, one of ``Doing``."""
    damaged: int
    """Packets that could not be decoded."""
    shed: int = 0
    """Frames it dropped."""
    degraded: int = 0
    """Frames it gave on with less than was asked."""
    missed: int = 0
    """Pictures it had no slot for."""
    undelivered: int = 0
    """Frames that came to the end and could not be delivered, or were given up before."""
    reconnects: int = 0
    """How often its stream came back."""
    out_of_memory: int = 0
    """How often a batch was too large for its memory."""
    sessions: int = 0
    """Models it loaded."""
    batch_limit: int = 0
    """The largest batch it takes at present."""
    cpu_ns: int = 0
    """Time on processors, all its threads together."""
    service_ns: int = 0
    """Sum of the times its frames were worked on."""
    waited_ns: int = 0
    """Sum of the times its frames waited for it."""
    age_ns: int = 0
    """Sum of the ages its frames had when they left it."""


class Times(NamedTuple):
    """One worker's histograms: how long frames were worked on, how long they waited, their age."""

    service: Histogram
    waited: Histogram
    age: Histogram


_CELLS = {name: cell for cell, name in enumerate(WorkerStats.__dataclass_fields__)}
_SERVICE, _WAITED, _AGE = (_CELLS[name] for name in ("service_ns", "waited_ns", "age_ns"))

COUNTS = (
    "shed",
    "degraded",
    "missed",
    "undelivered",
    "reconnects",
    "out_of_memory",
    "sessions",
)
"""What ``Stats.count`` counts: everything that is rare."""

_COUNTED = {name: _CELLS[name] for name in COUNTS}


class Stats:
    """The row of one worker. Only that worker adds; anybody may take a snapshot."""

    HEARTBEAT, FRAMES, BATCHES, BUSY, WAIT_INPUT, WAIT_SLOT, STATE, DAMAGED = range(8)

    def __init__(self, segment: Segment, worker: int) -> None:
        _check(segment, worker)
        at = segment.geometry.stats_row_at(worker)
        self._row = segment.bytes[at : at + STATS_ROW].cast("Q")
        self._times = _times_row(segment, worker)

    def beat(self, now_ns: int) -> None:
        """Say "alive" at ``now_ns`` on the monotonic clock."""
        self._row[self.HEARTBEAT] = now_ns

    def set_state(self, state: int) -> None:
        """Say what the worker is doing, one of ``Doing``."""
        self._row[self.STATE] = state

    def add(  # noqa: PLR0913 - one name for each counter
        self,
        *,
        frames: int = 0,
        batches: int = 0,
        busy_ns: int = 0,
        wait_input_ns: int = 0,
        wait_slot_ns: int = 0,
        damaged: int = 0,
    ) -> None:
        """Add to the counters that are named."""
        row = self._row
        for cell, more in (
            (self.FRAMES, frames),
            (self.BATCHES, batches),
            (self.BUSY, busy_ns),
            (self.WAIT_INPUT, wait_input_ns),
            (self.WAIT_SLOT, wait_slot_ns),
            (self.DAMAGED, damaged),
        ):
            if more:
                row[cell] += more

    def count(self, name: str, more: int = 1) -> None:
        """Add to one of ``COUNTS``; raises KeyError for any other name."""
        self._row[_COUNTED[name]] += more

    def time(self, service_ns: int, waited_ns: int) -> None:
        """Take in how long one frame was worked on, and how long it had waited before."""
        row, times = self._row, self._times
        if service_ns > 0:
            row[_SERVICE] += service_ns
        if waited_ns > 0:
            row[_WAITED] += waited_ns
        times[bucket(service_ns)] += 1
        times[BUCKETS + bucket(waited_ns)] += 1

    def age(self, nanoseconds: int) -> None:
        """Take in how old a frame was when it left this worker."""
        if nanoseconds > 0:
            self._row[_AGE] += nanoseconds
        self._times[2 * BUCKETS + bucket(nanoseconds)] += 1

    def set_batch_limit(self, frames: int) -> None:
        """Say how large a batch may be at present."""
        self._row[_CELLS["batch_limit"]] = frames

    def set_cpu(self, nanoseconds: int) -> None:
        """Say how much processor time was used so far."""
        self._row[_CELLS["cpu_ns"]] = nanoseconds

    def snapshot(self) -> WorkerStats:
        """Read the row."""
        return WorkerStats(*self._row[: len(_CELLS)].tolist())


def read_stats(segment: Segment) -> tuple[WorkerStats, ...]:
    """Read the counters of all workers."""
    return tuple(Stats(segment, worker).snapshot() for worker in range(segment.geometry.workers))


def read_times(segment: Segment, worker: int) -> Times:
    """Read one worker's histograms."""
    _check(segment, worker)
    cells = _times_row(segment, worker).tolist()
    row = Stats(segment, worker).snapshot()
    sums = (row.service_ns, row.waited_ns, row.age_ns)
    return Times(
        *(
            Histogram(tuple(cells[k * BUCKETS : (k + 1) * BUCKETS]), total)
            for k, total in enumerate(sums)
        )
    )


def _check(segment: Segment, worker: int) -> None:
    if not 0 <= worker < segment.geometry.workers:
        raise UnknownWorker(f"no worker {worker} in {segment.geometry}", worker=worker)


def _times_row(segment: Segment, worker: int) -> memoryview:
    at = segment.geometry.times_row_at(worker)
    return segment.bytes[at : at + TIMES_ROW].cast("Q")
