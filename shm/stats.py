"""Counters of each worker, in the segment: one row a worker, one writer a row, no lock.

A reader sees each counter whole, though two counters may be of different moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from mpflow.shm.errors import UnknownWorker
from mpflow.shm.layout import STATS_ROW
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


class Stats:
    """The row of one worker. Only that worker adds; anybody may take a snapshot."""

    HEARTBEAT, FRAMES, BATCHES, BUSY, WAIT_INPUT, WAIT_SLOT, STATE, DAMAGED = range(8)
    CELLS: ClassVar[int] = 8

    def __init__(self, segment: Segment, worker: int) -> None:
        if not 0 <= worker < segment.geometry.workers:
            raise UnknownWorker(f"no worker {worker} in {segment.geometry}", worker=worker)
        at = segment.geometry.stats_row_at(worker)
        self._row = segment.bytes[at : at + STATS_ROW].cast("Q")

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

    def snapshot(self) -> WorkerStats:
        """Read the row."""
        return WorkerStats(*self._row[: self.CELLS].tolist())


def read_stats(segment: Segment) -> tuple[WorkerStats, ...]:
    """Read the counters of all workers."""
    return tuple(Stats(segment, worker).snapshot() for worker in range(segment.geometry.workers))
