"""Workers and stages as a snapshot shows them, made of their counters at two moments.

first ............ window ............ last        counters and histograms only ever grow,
                                                   so a difference is what came in between
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol

from mpflow.accounts import Spread
from mpflow.graph import Demand, WorkerPlan
from mpflow.lifecycle import Machine, WorkerState, restarts
from mpflow.shm import Doing, Histogram, StageAges, Times, WorkerStats
from mpflow.snapshot import BUCKET_EDGES_S, Buckets, StageView, WorkerView
from mpflow.spec import StageSpec

NOTHING = WorkerStats(0, 0, 0, 0, 0, 0, 0, 0)
NO_TIMES = Times(Histogram(), Histogram(), Histogram())


class Seat(Protocol):
    """A worker's place, as the supervisor keeps it."""

    @property
    def plan(self) -> WorkerPlan:
        """Its number in the ring, and its stage."""

    @property
    def label(self) -> str:
        """How messages name it."""

    @property
    def pid(self) -> int | None:
        """The process that has it."""

    @property
    def machine(self) -> Machine[WorkerState]:
        """The state it is in."""

    @property
    def demand(self) -> Demand:
        """What its stage asks for."""

    @property
    def active(self) -> bool:
        """Whether somebody works there, or is about to."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment: counters, seconds on processors and bytes by worker, histograms by stage."""

    at: float
    counts: tuple[WorkerStats, ...]
    times: tuple[Times, ...]
    cpu: tuple[float, ...]
    memory: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spreads:
    """The times of one stage's frames in a window."""

    service: Spread
    waited: Spread
    age: Spread


NO_SPREADS = Spreads(Spread(), Spread(), Spread())


@dataclass(frozen=True, slots=True)
class Window:
    """What came between two moments, ``seconds`` apart; ``counts`` are those of right now."""

    first: Sample
    last: Sample
    counts: tuple[WorkerStats, ...]
    seconds: float

    def more(self, worker: int, name: str) -> int:
        """By how much a worker's counter has grown."""
        grown: int = getattr(self.counts[worker], name) - getattr(self.first.counts[worker], name)
        return max(grown, 0)

    def sum(self, workers: Sequence[int], name: str) -> int:
        """The same of several workers."""
        return sum(self.more(worker, name) for worker in workers)

    def rate(self, amount: float) -> float:
        """So much in the window is so much a second."""
        return amount / self.seconds if self.seconds > 0 else 0.0

    def idle_ratio(self, workers: Sequence[int]) -> float:
        """The share of frames' time with these workers in which nobody worked on them."""
        waited, service = self.sum(workers, "waited_ns"), self.sum(workers, "service_ns")
        whole = waited + service
        return waited / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class StageFacts:
    """What a stage's counters do not tell: its place in the ring, and how it is set up."""

    spec: StageSpec
    rows: tuple[int, ...]
    workers: int
    holds: int
    threads: int
    ages: StageAges
    high_water: int
    shed: int
    advice: str
    spreads: Spreads
    times: Times


def stage_view(facts: StageFacts, window: Window) -> StageView:
    """One stage: all its workers together."""
    rows, spec = facts.rows, facts.spec
    counts = [window.counts[row] for row in rows]
    frames, batches = window.sum(rows, "frames"), window.sum(rows, "batches")
    busy = window.rate(window.sum(rows, "busy_ns") / 1e9)
    return StageView(
        name=spec.name,
        workers=facts.workers,
        seats=spec.workers,
        auto=spec.auto,
        threads=facts.threads,
        depth=facts.ages.depth,
        held=facts.ages.held,
        oldest=facts.ages.oldest_ns / 1e9,
        high_water=facts.high_water,
        frames=sum(row.frames for row in counts),
        rate=window.rate(frames),
        batch=frames / batches if batches else 0.0,
        busy_ratio=min(busy / facts.workers, 1.0) if facts.workers else 0.0,
        idle_ratio=window.idle_ratio(rows),
        service=facts.spreads.service,
        waited=facts.spreads.waited,
        shed=sum(row.shed for row in counts) + facts.shed,
        degraded=sum(row.degraded for row in counts),
        advice=facts.advice,
        services=buckets_of(facts.times.service),
        holds=facts.holds,
    )


def worker_view(seat: Seat, worker: int, window: Window) -> WorkerView:
    """One worker."""
    now = window.counts[worker]
    cpu = window.last.cpu[worker] - window.first.cpu[worker]
    between = window.last.at - window.first.at
    return WorkerView(
        label=seat.label,
        stage=seat.plan.spec.name,
        pid=seat.pid,
        state=str(seat.machine.state),
        doing=Doing(now.state).name.lower(),
        active=seat.active,
        frames=now.frames,
        batches=now.batches,
        busy=now.busy_ns / 1e9,
        waiting=(now.wait_input_ns + now.wait_slot_ns) / 1e9,
        busy_ratio=min(window.rate(window.more(worker, "busy_ns") / 1e9), 1.0),
        cpu=window.last.cpu[worker],
        cpu_ratio=cpu / between if between > 0 else 0.0,
        memory=window.last.memory[worker],
        batch_limit=now.batch_limit,
        restarts=restarts(seat.machine),
    )


def spreads(first: Times, last: Times) -> Spreads:
    """How the times that came between two moments are spread."""
    return Spreads(*(spread_of(after - before) for before, after in zip(first, last, strict=True)))


def spread_of(times: Histogram) -> Spread:
    """A histogram in seconds, for people; all but the mean are off by at most a sixteenth."""
    count = times.count
    if not count:
        return Spread()
    p50, p90, p95, p99 = (times.quantile(share) / 1e9 for share in (0.5, 0.9, 0.95, 0.99))
    return Spread(count, times.total / count / 1e9, p50, p90, p95, p99, times.largest / 1e9)


def buckets_of(times: Histogram) -> Buckets:
    """A histogram by the edges that everybody knows."""
    edges = (round(edge * 1e9) for edge in BUCKET_EDGES_S)
    return Buckets(tuple(times.below(edge) for edge in edges), times.count, times.total / 1e9)


def together(times: Sequence[Times]) -> Times:
    """The histograms of several workers as one."""
    return reduce(lambda a, b: Times(*map(add, a, b)), times)
