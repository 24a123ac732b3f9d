"""Which stages would do more with more workers or threads, and which would do with fewer.

How many workers a stage needs is told by the best rate there is: what the stages that cannot grow
allow, the cores, and in a live run the frames that come.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from mpflow.policies.capacity import Figures, free_cores, most_by_cores, most_by_workers
from mpflow.snapshot import Snapshot, StageView

WORTH = 1.1
"""A move must promise a tenth more frames."""

ENOUGH = 0.95
"""So much of the workers that a rate asks for will do: the last one would mostly wait."""

SPARE = 0.6
"""With one worker less, a stage that gives one back is busy for no more than this."""

BUSY = 0.9
"""From here on a stage is taken to be the limit."""

FREE_CORE = 0.5
"""A thread more needs so much of a core."""

ONLY_WAITS = 0.1
"""The share of a core under which a worker only waits, for a device or for something else."""

LIVE_HEADROOM = 1.1
"""Live frames come in their own time: stages are made for a tenth more of them."""

LOSES = 0.02
"""The share of lost frames that makes a difference in a live run."""


@dataclass(frozen=True, slots=True)
class Move:
    """How many workers, or threads in each worker, a stage is to have in all from now on."""

    stage: str
    workers: int | None
    threads: int | None
    reason: str

    @property
    def what(self) -> str:
        """What there will be, as a sentence names it."""
        return f"{self.workers} workers" if self.threads is None else f"{self.threads} threads"


@dataclass(frozen=True, slots=True)
class Outlook:
    """All that decides a move. ``banned`` has ``detect.more``, ``.fewer`` or ``.threads``."""

    snapshot: Snapshot
    measured: Figures
    cores: int
    banned: Collection[str] = ()

    @property
    def free(self) -> float:
        """Cores that nobody uses."""
        return free_cores(self.measured, self.snapshot, self.cores)

    def may_grow(self, stage: StageView) -> bool:
        """Whether there is a seat that may be tried."""
        return (
            stage.auto and stage.workers < stage.seats and f"{stage.name}.more" not in self.banned
        )

    def share(self, stage: StageView, workers: int) -> float:
        """How busy each of so many workers would be."""
        return self.measured.busy[stage.name] / max(1, workers)

    def move(
        self, stage: StageView, *, workers: int | None = None, threads: int | None = None
    ) -> Move:
        """A move, with what speaks for it."""
        move = Move(stage.name, workers, threads, "")
        busy = self.share(stage, stage.workers)
        return Move(
            stage.name,
            workers,
            threads,
            f"{move.what} for {stage.name}: it is {busy:.0%} busy, {self.free:.1f} cores are free",
        )


def more_workers(outlook: Outlook) -> tuple[Move, ...]:
    """More workers for the stages that need them to reach the best rate there is."""
    rate = _best_rate(outlook)
    if math.isinf(rate) or not _worth(outlook, rate):
        return ()
    return tuple(
        outlook.move(stage, workers=workers)
        for stage in outlook.snapshot.stages
        if outlook.may_grow(stage)
        and (workers := _workers_for(outlook, stage, rate)) > stage.workers
    )


def more_threads(outlook: Outlook, threaded: Collection[str]) -> tuple[Move, ...]:
    """Free cores for the busiest stage, if it can use threads and can have no more workers."""
    busiest = max(outlook.snapshot.stages, key=lambda stage: outlook.share(stage, stage.workers))
    workers = max(1, busiest.workers)
    if (
        busiest.name not in threaded
        or outlook.may_grow(busiest)
        or f"{busiest.name}.threads" in outlook.banned
        or outlook.share(busiest, workers) < BUSY
        or outlook.free < FREE_CORE * workers
    ):
        return ()
    threads = min(outlook.cores, busiest.threads + max(1, int(outlook.free / workers)))
    return (outlook.move(busiest, threads=threads),) if threads > busiest.threads else ()


def one_less(outlook: Outlook) -> Move | None:
    """A worker less for the stage that can do with it most easily."""
    spare = [
        (share, at)
        for at, stage in enumerate(outlook.snapshot.stages)
        if stage.auto
        and stage.workers > 1
        and f"{stage.name}.fewer" not in outlook.banned
        and (share := outlook.share(stage, stage.workers - 1)) <= SPARE
    ]
    if not spare:
        return None
    stage = outlook.snapshot.stages[min(spare)[1]]
    return outlook.move(stage, workers=stage.workers - 1)


def _best_rate(outlook: Outlook) -> float:
    """Frames a second with all workers there can be, on the cores that are free."""
    most = [most_by_cores(outlook.measured, outlook.free)]
    if outlook.snapshot.live:
        most.append(LIVE_HEADROOM * outlook.measured.arrivals)
    for stage in outlook.snapshot.stages:
        workers = stage.seats if outlook.may_grow(stage) else max(1, stage.workers)
        most.append(most_by_workers(workers, outlook.measured.cost[stage.name]))
    return min(most)


def _worth(outlook: Outlook, rate: float) -> bool:
    """Whether a rate is worth a trial. A live run that loses nothing has all there is, and wants
    more only where a stage is close to its limit."""
    if outlook.snapshot.live and outlook.measured.lost < LOSES:
        auto = (stage for stage in outlook.snapshot.stages if stage.auto)
        return any(outlook.share(stage, stage.workers) >= BUSY for stage in auto)
    return rate >= WORTH * outlook.measured.rate


def _workers_for(outlook: Outlook, stage: StageView, rate: float) -> int:
    """As many as the rate takes, at most twice those there are; four times where no core is used:
    more would be a leap in the dark, with a model's memory for each."""
    needed = math.ceil(ENOUGH * rate * outlook.measured.cost[stage.name])
    crew = [w.cpu_ratio for w in outlook.snapshot.workers if w.stage == stage.name and w.active]
    leap = 4 if max(crew, default=1.0) < ONLY_WAITS else 2
    return min(needed, stage.seats, leap * max(1, stage.workers))
