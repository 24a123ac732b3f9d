"""A live pipeline as a simulation, steered by the real policies: no process, no clock.

Frames come at a steady rate; each stage has one worker and takes a set time for a frame. It takes,
sheds and supersedes as runners do, and is looked at ten times a second.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sights

from mpflow.policies.ladder import LadderState, choose_level
from mpflow.policies.load import LoadState, measure
from mpflow.policies.pressure import PressureState, feel
from mpflow.policies.shedding import ShedState, choose_limits
from mpflow.policies.single_frame import ModeState, Wish, choose_mode
from mpflow.snapshot import Snapshot, StageView
from mpflow.tokens import Mode

STEP_S, LOOK_S, WINDOW_S, DECODE_S = 0.005, 0.1, 10.0, 0.004


@dataclass
class Desk:
    """One stage: what waits for it, what it has in hand, and its counters."""

    name: str
    cost: float
    queue: list[tuple[float, int]] = field(default_factory=list)
    hand: tuple[float, int] | None = None
    until: float = 0.0
    done: int = 0
    shed: int = 0
    busy: float = 0.0
    waiting: float = 0.0
    recent: deque[tuple[float, float]] = field(default_factory=deque)


@dataclass
class LivePlant:
    """``costs`` by stage in seconds; ``ease`` by level of the ladder is a factor for all."""

    costs: Sequence[tuple[str, float]]
    fps: float = 30.0
    slots: int = 64
    max_latency: float = 2.0
    ease: Callable[[int], float] = lambda level: 1.0
    top: int = 0
    cpu: float = 0.3
    wish: Wish = Wish.AUTO
    pull: bool = False
    now: float = 0.0
    ages: list[tuple[float, float]] = field(default_factory=list)
    modes: list[tuple[float, Mode]] = field(default_factory=list)
    levels: list[tuple[float, int]] = field(default_factory=list)
    worked_in_vain: int = 0
    missed: int = 0
    news: int = 0
    alerts: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.desks = [Desk("receive", 0.001), *(Desk(name, cost) for name, cost in self.costs)]
        self.seq = 0
        self._due = 0.0
        self._look = 0.0
        self.load, self.pressure = LoadState(), PressureState()
        self.mode, self.ladder, self.shed = ModeState(), LadderState(), ShedState()

    @property
    def single(self) -> bool:
        return self.mode.mode is Mode.SINGLE_FRAME

    @property
    def delivered(self) -> int:
        return self.desks[-1].done

    @property
    def dropped(self) -> int:
        return sum(desk.shed for desk in self.desks)

    def run(self, seconds: float) -> None:
        """Go on for so long."""
        for _ in range(round(seconds / STEP_S)):
            self.now += STEP_S
            if self.now >= self._look:
                self._look += LOOK_S
                self._steer()
            self._source()
            for at in range(len(self.desks) - 1, 0, -1):
                self._work(at)

    def _source(self) -> None:
        if not self.fps:
            self._due = self.now
        while self.fps and self.now >= self._due:
            self._due += 1 / self.fps
            if self._inside() < self.slots or self._make_room():
                self.desks[1].queue.append((self.now - DECODE_S, self.seq))
                self.desks[0].done += 1
                self.desks[0].recent.append((self.now, DECODE_S))
            else:
                self.missed += 1
            self.seq += 1

    def _inside(self) -> int:
        return sum(len(desk.queue) + (desk.hand is not None) for desk in self.desks[1:])

    def _make_room(self) -> bool:
        ready = [(*frame, desk) for desk in self.desks[1:-1] for frame in desk.queue]
        if not ready:
            return False
        born, seq, desk = min(ready, key=lambda each: each[1])
        self._drop(desk, (born, seq))
        return True

    def _drop(self, desk: Desk, frame: tuple[float, int]) -> None:
        desk.queue.remove(frame)
        desk.shed += 1
        self.worked_in_vain += desk is not self.desks[1]

    def _work(self, at: int) -> None:
        desk = self.desks[at]
        if desk.hand is not None:
            desk.busy += STEP_S
            if self.now < desk.until:
                return
            self._give(at, desk.hand)
            desk.hand = None
            desk.done += 1
        limit = self.shed.after.get(desk.name, 0.0)
        for frame in [f for f in desk.queue if limit and self.now - f[0] > limit]:
            self._drop(desk, frame)
        ahead = len(self.desks[at + 1].queue) if at + 1 < len(self.desks) - 1 else 0
        if not desk.queue or (self.pull and self.single and ahead):
            desk.waiting += STEP_S
            return
        newest = self.single and at < len(self.desks) - 1
        desk.hand = (max if newest else min)(desk.queue, key=lambda frame: frame[1])
        desk.queue.remove(desk.hand)
        if newest:
            for frame in list(desk.queue):
                self._drop(desk, frame)
        cost = desk.cost * self.ease(self.ladder.level)
        desk.until = self.now + cost
        desk.recent.append((self.now, cost))

    def _give(self, at: int, frame: tuple[float, int]) -> None:
        if at + 1 < len(self.desks):
            self.desks[at + 1].queue.append(frame)
        else:
            self.ages.append((self.now, self.now - frame[0]))

    def snapshot(self) -> Snapshot:
        """What is seen of it."""
        views = [self._view(desk) for desk in self.desks]
        crew = [
            sights.worker(desk.name, busy=desk.busy, waiting=desk.waiting) for desk in self.desks
        ]
        return sights.snapshot(
            views,
            crew,
            slots=self.slots,
            free=self.slots - self._inside(),
            frames=self.delivered,
            dropped=self.dropped,
            missed=self.missed,
            mode=self.mode.mode,
            level=self.ladder.level,
            cpu_share=self.cpu,
            uptime=self.now,
        )

    def _view(self, desk: Desk) -> StageView:
        while desk.recent and desk.recent[0][0] < self.now - WINDOW_S:
            desk.recent.popleft()
        costs = sorted(cost for _, cost in desk.recent)
        count, seconds = len(costs), max(LOOK_S, min(WINDOW_S, self.now))
        service = sights.spread(0.0, 0)
        if costs:
            service = sights.spread(costs[count // 2], count, p90=costs[count * 9 // 10])
        return sights.stage(
            desk.name,
            depth=len(desk.queue),
            held=int(desk.hand is not None),
            oldest=max((self.now - born for born, _ in desk.queue), default=0.0),
            frames=desk.done,
            shed=desk.shed,
            rate=count / seconds,
            busy_ratio=min(1.0, sum(costs) / seconds),
            service=service,
        )

    def _steer(self) -> None:
        seen = self.snapshot()
        self.shed, told = choose_limits(self.shed, seen, max_latency=self.max_latency)
        self.news += told is not None
        if told is not None and told.impossible:
            self.alerts.append((round(self.now, 1), told.impossible))
        self.load, load = measure(self.load, seen, self.now, max_latency=self.max_latency)
        self.pressure, pressure = feel(self.pressure, seen, self.now)
        self.mode, mode = choose_mode(
            self.mode,
            load,
            pressure,
            self.now,
            wish=self.wish,
            allowed=True,
            level=self.ladder.level,
            max_latency=self.max_latency,
        )
        self.ladder, level = choose_level(
            self.ladder,
            load,
            pressure,
            self.now,
            top=self.top,
            mode=self.mode.mode,
            wish=self.wish,
        )
        if mode is not None:
            self.modes.append((round(self.now, 1), mode.mode))
        if level is not None:
            self.levels.append((round(self.now, 1), level.level))
