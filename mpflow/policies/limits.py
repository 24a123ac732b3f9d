"""How long a stage may show no sign of life: what the user said, else derived from its pace.

The pace is what a batch (for the ends of the pipeline: a frame) took on average between two
looks. The slowest such average counts, so one quiet stretch does not make the limit tight.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mpflow.shm import WorkerStats

FACTOR = 20.0
"""So many times the slowest average service time is no longer slow but hung."""

FLOOR_S = 15.0
END_FLOOR_S = 60.0
UNMEASURED_S = 60.0
"""The ends read and write files, disks and networks; and nothing is known before a first batch."""


@dataclass
class Pace:
    """The slowest average service time of each stage so far, in seconds."""

    _slowest: dict[int, float] = field(default_factory=dict)
    _last: dict[int, WorkerStats] = field(default_factory=dict)

    def note(self, worker: int, stage: int, row: WorkerStats) -> None:
        """Take in a worker's counters."""
        last = self._last.get(worker, row)
        self._last[worker] = row
        done = row.batches - last.batches or row.frames - last.frames
        if done > 0:
            mean = (row.busy_ns - last.busy_ns) / done / 1e9
            self._slowest[stage] = max(mean, self._slowest.get(stage, 0.0))

    def limit(self, stage: int, *, asked: float, at_an_end: bool) -> float:
        """Seconds without a sign of life after which a worker of the stage is taken for hung."""
        if asked > 0:
            return asked
        slowest = self._slowest.get(stage)
        if slowest is None:
            return UNMEASURED_S
        return max(END_FLOOR_S if at_an_end else FLOOR_S, FACTOR * slowest)
