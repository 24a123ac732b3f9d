"""Looks at a running pipeline and says how it goes, as a Snapshot.

    counters, ages in the ring        at every look (the supervisor's tick)
    histograms, /proc, the machine    once a second, kept for ten: the window

Nothing here takes the ring's lock, and no token is read.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mpflow.advice import Load, bottleneck
from mpflow.errors import ConfigError
from mpflow.graph import plan_workers, worker_threads
from mpflow.health import IDLE, STILL_S, trouble
from mpflow.importer import stage_class
from mpflow.processes import MachineWatch, cpu_seconds, own_memory
from mpflow.shm import (
    Doing,
    Segment,
    StageAges,
    Times,
    WorkerStats,
    read_stats,
    read_times,
    ready_ages,
)
from mpflow.snapshot import Snapshot, StageView
from mpflow.spec import Helm, JobSpec, PipelineSpec, StageSpec
from mpflow.views import (
    NO_SPREADS,
    NO_TIMES,
    NOTHING,
    Sample,
    Seat,
    StageFacts,
    Window,
    buckets_of,
    spreads,
    stage_view,
    together,
    worker_view,
)

WINDOW_S = 10.0
SAMPLE_S = 1.0
EARLY_S = 2.0
"""So long after a job's begin samples are taken more often: somebody waits for first figures."""

EARLY_SAMPLE_S = 0.25


@dataclass(frozen=True, slots=True)
class Standing:
    """What the supervisor knows of a job and shared memory does not.

    ``shed`` are frames that the supervisor itself has dropped, by number of the stage they stood
    at, and ``lost`` those that a dead last stage had. Without a ``segment`` there is no job, or it
    has not begun.
    """

    state: str = IDLE
    workers: Sequence[Seat] = ()
    segment: Segment | None = None
    total: int | None = None
    ahead: int = 0
    helm: Helm = field(default_factory=Helm)
    restarts: int = 0
    alerts: Mapping[str, int] = field(default_factory=dict)
    shed: Mapping[int, int] = field(default_factory=dict)
    lost: int = 0


class Survey:
    """Keeps what a window needs. The clock comes in as an argument, in monotonic seconds."""

    def __init__(self, run: str, spec: PipelineSpec, cores: int, now: float | None = None) -> None:
        self._run = run
        self._spec = spec
        self._cores = cores
        self._began = time.monotonic() if now is None else now
        self._plans = plan_workers(spec)
        self._rows = [
            tuple(plan.id for plan in self._plans if plan.stage == number)
            for number in range(len(spec.stages))
        ]
        self._advice = [advice_of(stage) for stage in spec.stages]
        self._machine = MachineWatch(self._began)
        self._own_memory = 0
        self.begin(None, self._began)

    def begin(self, job: JobSpec | None, now: float) -> None:
        """A job begins, or (None) there is none: what was seen before does not count."""
        self._job = "" if job is None else job.id
        self._live = self._spec.live if job is None else job.live
        self._job_began = now
        self._segment: Segment | None = None
        self._samples: deque[Sample] = deque()
        self._pids: dict[int, tuple[int, float]] = {}
        self._cpu_seconds = [0.0] * len(self._plans)
        self._high = [0] * len(self._rows)
        self._spreads = [NO_SPREADS] * len(self._rows)
        self._moved: tuple[int, float] | None = None

    def look(self, standing: Standing, now: float) -> Snapshot:
        """How it goes right now."""
        counts = self._counts(standing)
        self._sample(standing, counts, now)
        first, last = self._samples[0], self._samples[-1]
        window = Window(first, last, counts, now - first.at)
        return self._snapshot(standing, window, now)

    def _counts(self, standing: Standing) -> tuple[WorkerStats, ...]:
        if standing.segment is None:
            return (NOTHING,) * len(self._plans)
        if standing.segment is not self._segment:
            self._segment = standing.segment
            self._samples.clear()  # the counters begin anew
        return read_stats(standing.segment)

    def _sample(self, standing: Standing, counts: tuple[WorkerStats, ...], now: float) -> None:
        """Keep this moment, if it is time for one."""
        samples = self._samples
        early = now - self._job_began < EARLY_S
        every = EARLY_SAMPLE_S if early else SAMPLE_S
        if samples and now - samples[-1].at < every:
            return
        times = self._read_times(standing.segment)
        pids = [seat.pid for seat in standing.workers]
        self._count_cpu(pids)
        memory = (*(own_memory(pid) for pid in pids), *[0] * (len(counts) - len(pids)))
        self._own_memory = own_memory(os.getpid())
        self._machine.look(now)
        samples.append(Sample(now, counts, times, tuple(self._cpu_seconds), memory))
        while now - samples[0].at > WINDOW_S:
            samples.popleft()
        pairs = zip(samples[0].times, times, strict=True)
        self._spreads = [spreads(before, after) for before, after in pairs]

    def _read_times(self, segment: Segment | None) -> tuple[Times, ...]:
        """The histograms of each stage."""
        if segment is None:
            return (NO_TIMES,) * len(self._rows)
        return tuple(together([read_times(segment, row) for row in rows]) for rows in self._rows)

    def _count_cpu(self, pids: Sequence[int | None]) -> None:
        """Add up what each place's processes have used since the job began."""
        for place, pid in enumerate(pids):
            if pid is None:
                continue
            used = cpu_seconds(pid)
            known, before = self._pids.get(place, (pid, used))
            if pid != known:
                before = 0.0  # it was started since
            self._cpu_seconds[place] += max(used - before, 0.0)
            self._pids[place] = (pid, max(used, before) if pid == known else used)

    def _snapshot(self, standing: Standing, window: Window, now: float) -> Snapshot:
        spec, helm, segment, counts = self._spec, standing.helm, standing.segment, window.counts
        ages: Sequence[StageAges] = ()
        if segment is not None:
            ages = ready_ages(segment, time.monotonic_ns())
        stages = self._stages(standing, window, ages)
        slots = segment.geometry.slots if segment is not None else 0
        everybody = range(len(counts))
        sink = [len(counts) - 1]
        wrong = self._trouble(standing, window, stages, now)
        loads = [Load(stage.name, stage.busy_ratio, stage.advice) for stage in stages]
        undelivered = sum(row.undelivered for row in counts) + standing.lost
        ring = segment.geometry.total_bytes if segment is not None else 0
        return Snapshot(
            run=self._run,
            name=spec.name,
            pid=os.getpid(),
            job=self._job,
            preset=spec.preset,
            state=standing.state,
            time=time.time(),
            uptime=now - self._began,
            window=window.seconds,
            live=self._live,
            mode=helm.mode,
            level=helm.level,
            notes=helm.notes,
            reason=helm.reason,
            slots=slots,
            free=slots - sum(each.depth + each.held for each in ages),
            frames=counts[-1].frames + standing.ahead,
            total=standing.total,
            rate=window.rate(window.sum(sink, "frames")),
            dropped=sum(stage.shed for stage in stages) + undelivered,
            undelivered=undelivered,
            missed=sum(row.missed for row in counts),
            degraded=counts[-1].degraded,
            damaged=sum(row.damaged for row in counts),
            restarts=standing.restarts,
            reconnects=sum(row.reconnects for row in counts),
            age=self._spreads[-1].age,
            idle_ratio=window.idle_ratio(everybody),
            bottleneck=bottleneck(loads, cpu=self._machine.cpu, live=self._live),
            memory=sum(window.last.memory) + self._own_memory + ring,
            memory_share=self._machine.memory,
            cpu_share=self._machine.cpu,
            healthy=not wrong,
            trouble=wrong,
            stages=stages,
            workers=tuple(
                worker_view(seat, seat.plan.id, window)
                for seat in standing.workers
                if seat.pid is not None or seat.active
            ),
            alerts=dict(standing.alerts),
            ages=buckets_of(window.last.times[-1].age),
        )

    def _stages(
        self, standing: Standing, window: Window, ages: Sequence[StageAges]
    ) -> tuple[StageView, ...]:
        active = [seat.plan.stage for seat in standing.workers if seat.active]
        views = []
        for number, spec in enumerate(self._spec.stages):
            age = ages[number] if ages else StageAges()
            self._high[number] = max(self._high[number], age.depth)
            facts = StageFacts(
                spec=spec,
                rows=self._rows[number],
                workers=active.count(number),
                holds=sum(s.demand.holds for s in standing.workers if s.plan.stage == number),
                threads=self._threads(spec, number, standing.helm),
                ages=age,
                high_water=self._high[number],
                shed=standing.shed.get(number, 0),
                advice=self._advice[number],
                spreads=self._spreads[number],
                times=window.last.times[number],
            )
            views.append(stage_view(facts, window))
        return tuple(views)

    def _threads(self, spec: StageSpec, number: int, helm: Helm) -> int:
        """Threads each worker of a stage may use."""
        asked = {**spec.options, **helm.options.get(spec.name, {})}.get("threads", 0)
        return asked or worker_threads(self._plans[self._rows[number][0]], self._cores)

    def _trouble(
        self, standing: Standing, window: Window, stages: Sequence[StageView], now: float
    ) -> str:
        frames = window.counts[-1].frames
        if self._moved is None or frames != self._moved[0] or standing.state != "running":
            self._moved = frames, now
        alive = {seat.plan.stage for seat in standing.workers if seat.active and _lives(seat)}
        missing = [stage.name for k, stage in enumerate(stages) if k not in alive]
        slowest = max((stage.service.mean for stage in stages), default=0.0)
        return trouble(
            standing.state,
            missing=missing,
            still=now - self._moved[1],
            building=any(row.state == Doing.BUILDING for row in window.counts),
            patience=max(STILL_S, 3 * slowest),
        )


def _lives(seat: Seat) -> bool:
    """Whether there is somebody to work; the caller, in a worker's place, has no pid here."""
    return str(seat.machine.state) not in ("failed", "backoff", "stopped", "vacant")


def advice_of(stage: StageSpec) -> str:
    """What would help the stage; nothing when the caller stands in its place."""
    try:
        return stage_class(stage.target).advice
    except ConfigError:
        return ""
