"""How long a stage may show no sign of life: what the user said, else derived from its pace.

The pace is what a batch (for the ends of the pipeline: a frame) took on average between two
looks. The slowest such average of the last few thousand counts: one quick stretch does not make
the limit tight, and one slow stretch does not make it wide for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mpflow.shm import WorkerStats

FACTOR = 20.0
"""So many times the slowest average service time is no longer slow but hung."""

FLOOR_S = 15.0
END_FLOOR_S = 60.0
UNMEASURED_S = 60.0
LIVE_FLOOR_S = 5.0
"""The ends read and write files, disks and networks; nothing is known before a first batch; and in
a live run a hung stage is a hole in the picture."""


REMEMBERED = 2000
"""So many batches, or frames, at least count for the pace, and twice as many at most."""


@dataclass(slots=True)
class _Slowest:
    """The slowest average of late, in seconds: of the batches that are counted, and before."""

    before: float = 0.0
    now: float = 0.0
    done: int = 0

    def note(self, mean: float, done: int) -> None:
        """Take in one more average, of so many batches."""
        self.now = max(self.now, mean)
        self.done += done
        if self.done >= REMEMBERED:
            self.before, self.now, self.done = self.now, 0.0, 0


@dataclass
class Pace:
    """The slowest average service time of each stage of late; no limit is below ``floor``."""

    floor: float = FLOOR_S
    _slowest: dict[int, _Slowest] = field(default_factory=dict)
    _last: dict[int, WorkerStats] = field(default_factory=dict)

    def note(self, worker: int, stage: int, row: WorkerStats) -> None:
        """Take in a worker's counters."""
        last = self._last.get(worker, row)
        self._last[worker] = row
        done = row.batches - last.batches or row.frames - last.frames
        if done > 0:
            mean = (row.busy_ns - last.busy_ns) / done / 1e9
            self._slowest.setdefault(stage, _Slowest()).note(mean, done)

    def limit(self, stage: int, *, asked: float, at_an_end: bool) -> float:
        """Seconds without a sign of life after which a worker of the stage is taken for hung."""
        if asked > 0:
            return asked
        slowest = self._slowest.get(stage)
        if slowest is None:
            return UNMEASURED_S
        floor = END_FLOOR_S if at_an_end else self.floor
        return max(floor, FACTOR * slowest.before, FACTOR * slowest.now)
