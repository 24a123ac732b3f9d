"""A pipeline whose stages' workers come and go, as a simulation steered by the real policy.

Each stage takes ``cost`` seconds for a frame, ``cpu`` of them on a core; it does what its workers
and the cores allow, and the slowest stage is the pipeline's pace. Workers join after ``opening``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import sights

from mpflow.policies.scaling import Move, ScalingState, scale
from mpflow.snapshot import Snapshot, StageView, WorkerView


@dataclass
class Crew:
    """One stage. ``most`` is a rate that no number of workers exceeds (a device they share)."""

    name: str
    cost: float
    cpu: float = 0.0
    seats: int = 1
    most: float = float("inf")
    workers: int = 1
    threads: int = 1
    joining: float = 0.0
    frames: float = 0.0
    busy: list[float] = field(default_factory=list)
    cpu_ratio: float = 0.0

    def pace(self) -> float:
        """Frames a second, with all threads at work on one frame."""
        return min(self.most, self.workers * self.threads / self.cost)


@dataclass
class ScalingPlant:
    """``noise`` is the largest relative error of each stage's time at each look."""

    crews: list[Crew]
    cores: float = 2.0
    fps: float | None = None
    noise: float = 0.0
    opening: float = 0.5
    threaded: tuple[str, ...] = ()
    others: float = 0.0
    seed: int = 1
    now: float = 0.0
    lost: float = 0.0
    frames: float = 0.0
    rate: float = 0.0
    moves: list[tuple[float, Move]] = field(default_factory=list)
    state: ScalingState = ScalingState()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        for crew in self.crews:
            crew.busy = [0.0] * crew.seats

    def run(self, seconds: float, tick: float = 0.1) -> None:
        """Go on for so long."""
        for _ in range(round(seconds / tick)):
            self.now += tick
            self._work(tick)
            self._steer()

    def workers(self) -> dict[str, int]:
        return {crew.name: crew.workers for crew in self.crews}

    def told(self) -> list[tuple[str, int | None]]:
        """Every move: the stage, and its workers or threads from then on."""
        return [(move.stage, move.workers or move.threads) for _, move in self.moves]

    def _work(self, tick: float) -> None:
        scatter = [1 + self.random.uniform(-self.noise, self.noise) for _ in self.crews]
        paces = [crew.pace() * each for crew, each in zip(self.crews, scatter, strict=True)]
        on_cpu = sum(crew.cost * crew.cpu for crew in self.crews)
        by_cores = (self.cores - self.others) / on_cpu if on_cpu else float("inf")
        arrivals = self.fps or float("inf")
        self.rate = min(*paces, by_cores, arrivals)
        crowded = by_cores <= min(*paces, arrivals)
        for crew, pace in zip(self.crews, paces, strict=True):
            share = min(1.0, self.rate / pace)
            if crowded and self.rate > 0.7 * pace:
                share = 1.0  # busy, though mostly waiting for a core
            crew.frames += self.rate * tick
            crew.cpu_ratio = self.rate * crew.cost * crew.cpu / crew.workers
            for number in range(crew.workers):
                crew.busy[number] += share * tick
        self.frames += self.rate * tick
        if self.fps:
            self.lost += (self.fps - self.rate) * tick

    def snapshot(self) -> Snapshot:
        """What is seen of it."""
        return sights.snapshot(
            [self._stage(crew) for crew in self.crews],
            [worker for crew in self.crews for worker in self._workers(crew)],
            live=self.fps is not None,
            frames=int(self.frames),
            dropped=int(self.lost),
            rate=self.rate,
            cpu_share=min(1.0, (self.others + self._used()) / self.cores),
        )

    def _used(self) -> float:
        return sum(crew.cpu_ratio * crew.workers for crew in self.crews)

    def _stage(self, crew: Crew) -> StageView:
        return sights.stage(
            crew.name,
            crew.cost,
            workers=crew.workers,
            seats=crew.seats,
            auto=crew.seats > 1,
            threads=crew.threads,
            frames=int(crew.frames),
            rate=self.rate,
        )

    def _workers(self, crew: Crew) -> Iterator[WorkerView]:
        for number in range(crew.seats):
            active = number < crew.workers
            yield sights.worker(
                crew.name,
                number,
                active=active,
                state="busy" if active and self.now >= crew.joining else "starting",
                busy=crew.busy[number],
                cpu_ratio=crew.cpu_ratio if active else 0.0,
            )

    def _steer(self) -> None:
        self.state, moves = scale(
            self.state,
            self.snapshot(),
            self.now,
            cores=round(self.cores),
            threaded=self.threaded,
        )
        for move in moves:
            crew = next(crew for crew in self.crews if crew.name == move.stage)
            crew.workers = move.workers or crew.workers
            crew.threads = move.threads or crew.threads
            crew.joining = self.now + self.opening
            self.moves.append((round(self.now, 1), move))
