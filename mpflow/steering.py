"""Steers the pipeline of a run: looks at it, lets the policies decide, and tells the workers.

    survey -> Snapshot -> load, pressure -> mode, ladder, limits of age -> Helm -> every worker
                 |------> scaling -> crew (workers), threads
                 |------> ages: what nobody takes in time is shed, who never lets go is killed
                 `------> alerts, metrics, whoever asks

The policies are pure functions (mpflow.policies); here is what they remember, and what is done.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from mpflow.crew import Crew
from mpflow.jobrun import JobRun
from mpflow.launch import WorkerHandle
from mpflow.lifecycle import JobState
from mpflow.policies import alerting, expiry, ladder, load, pressure, scaling, shedding
from mpflow.policies.single_frame import ModeState, Wish, choose_mode
from mpflow.shm import Doing, LockTimeout, State, Why, frame_ages, read_stats, shed_stale
from mpflow.snapshot import Snapshot
from mpflow.spec import Helm, PipelineSpec
from mpflow.survey import Standing, Survey
from mpflow.trouble import Trouble
from mpflow.wheel import Wheel

_FLOWING = (JobState.RUNNING, JobState.STOPPING, JobState.CONCLUDING)
_LOCK_S = 0.01
"""How long the ring's lock is waited for: a look comes again soon."""


@dataclass
class Minds:
    """What the policies remember of one job."""

    load: load.LoadState = field(default_factory=load.LoadState)
    pressure: pressure.PressureState = field(default_factory=pressure.PressureState)
    mode: ModeState = field(default_factory=ModeState)
    level: ladder.LadderState = field(default_factory=ladder.LadderState)
    limits: shedding.ShedState = field(default_factory=shedding.ShedState)
    expiry: expiry.ExpiryState = field(default_factory=expiry.ExpiryState)
    age: alerting.AgeWatch = field(default_factory=alerting.AgeWatch)
    scaling: scaling.ScalingState = field(default_factory=scaling.ScalingState)


class Steering:
    """Steers one job after another; what the owner asked for stays from job to job."""

    def __init__(
        self, spec: PipelineSpec, wheel: Wheel, survey: Survey, trouble: Trouble, cores: int
    ) -> None:
        self.wheel = wheel
        self.wish = Wish.AUTO
        self.max_latency = spec.max_latency
        self.latest: Snapshot | None = None
        self._spec = spec
        self._survey = survey
        self._trouble = trouble
        self._cores = cores
        self._run: JobRun | None = None
        self._crew: Crew | None = None
        self._minds = Minds()
        self._after: dict[str, float] = {}
        self._shed: dict[int, int] = {}
        self._reason = ""

    def begin(self, run: JobRun, crew: Crew, now: float) -> None:
        """From here on it is about this job; its workers begin with what is in force."""
        # what did not help with the last input need not be tried with this one at once
        known = replace(self._minds.scaling, samples=(), trial=None)
        self._run, self._crew, self._minds = run, crew, Minds(scaling=known)
        self._after, self._shed, self._reason = {}, {}, ""
        self._survey.begin(run.job, now)
        snapshot = self._look(run, now)
        if self._spec.live:
            self._limit_ages(snapshot)
        run.steer(self._helm())

    def tick(self, now: float) -> None:
        """Look, decide, act."""
        run = self._run
        if run is None:
            self.latest = self._survey.look(Standing(), now)
            return
        snapshot = self._look(run, now)
        if run.segment is None or not run.machine.is_in(*_FLOWING):
            return
        self._decide(snapshot, now)
        self._scale(snapshot, now)
        self._expire(run, now)
        self._watch_age(snapshot, now)
        helm = self._helm()
        if helm != run.helm:
            run.steer(helm)

    def say(self, reason: str) -> None:
        """The owner has changed something: the workers hear of it at once."""
        self._reason = reason
        if self._run is not None:
            self._trouble.steered(reason)
            self._run.steer(self._helm())

    def end(self) -> None:
        """The job is over."""
        self._run = self._crew = None
        self._survey.begin(None, time.monotonic())

    def news(self) -> dict[str, Any]:
        """What a progress line tells of the load."""
        seen = self.latest
        if seen is None:
            return {}
        return {
            "backlog": sum(stage.depth for stage in seen.stages),
            "age_p99": round(seen.age.p99, 4) if seen.age.count else None,
            "mode": str(seen.mode),
            "level": seen.level,
            "dropped": seen.dropped,
            "missed": seen.missed,
            "degraded": seen.degraded,
            "reconnects": seen.reconnects,
        }

    def _look(self, run: JobRun, now: float) -> Snapshot:
        standing = Standing(
            state=str(run.machine.state),
            workers=run.workers,
            segment=run.segment,
            total=run.total,
            ahead=run.ahead,
            helm=run.helm,
            restarts=run.rescue.count,
            alerts=self._trouble.counts,
            shed=self._shed,
            lost=run.lost_with_sink,
        )
        self.latest = self._survey.look(standing, now)
        return self.latest

    def _helm(self) -> Helm:
        minds = self._minds
        stages = () if self.latest is None else self.latest.stages
        workers = {stage.name: max(stage.workers, 1) for stage in stages}
        mode, level = minds.mode.mode, minds.level.level
        helm = self.wheel.helm(mode, level, self._after, self._reason, workers)
        return msgspec.structs.replace(helm, max_latency=self.max_latency)

    def _decide(self, snapshot: Snapshot, now: float) -> None:
        """Mode, ladder, and from which age on a frame comes too late."""
        minds, spec = self._minds, self._spec
        if spec.live:
            self._limit_ages(snapshot)
        minds.load, weight = load.measure(minds.load, snapshot, now, max_latency=self.max_latency)
        minds.pressure, felt = pressure.feel(minds.pressure, snapshot, now)
        minds.mode, changed = choose_mode(
            minds.mode,
            weight,
            felt,
            now,
            wish=self.wish,
            allowed=spec.live or spec.degrades,
            level=minds.level.level,
            max_latency=self.max_latency,
        )
        if changed is not None:
            self._tell(changed.reason, changed.reason)
        minds.level, climbed = ladder.choose_level(
            minds.level,
            weight,
            felt,
            now,
            top=len(self.wheel.rungs) if spec.degrades else 0,
            mode=minds.mode.mode,
            wish=self.wish,
        )
        if climbed is not None:
            notes = ", ".join(ladder.in_force(self.wheel.rungs, climbed.level).notes)
            text = f"ladder at {climbed.level} ({notes or 'nothing given up'}): {climbed.reason}"
            self._tell(text, climbed.reason)

    def _tell(self, text: str, reason: str) -> None:
        self._reason = reason
        self._trouble.steered(text)

    def _limit_ages(self, snapshot: Snapshot) -> None:
        minds = self._minds
        minds.limits, limits = shedding.choose_limits(
            minds.limits, snapshot, max_latency=self.max_latency, skip=self._helm().skip
        )
        if limits is None:
            return
        self._after = dict(limits.after)
        if limits.impossible:
            self._trouble.alert("latency", limits.impossible)

    def _scale(self, snapshot: Snapshot, now: float) -> None:
        """Give workers and threads to the stage that holds the others up."""
        crew = self._crew
        if crew is None or not (crew.stages or self.wheel.threaded):
            return
        minds = self._minds
        threaded = self.wheel.threaded if crew.stages else ()
        minds.scaling, moves = scaling.scale(
            minds.scaling, snapshot, now, cores=self._cores, threaded=threaded
        )
        for move in moves:
            if move.threads is not None:
                self.wheel.threads[move.stage] = move.threads
                self._trouble.steered(f"{move.stage}: {move.reason}")
            if move.workers is not None:
                crew.reach(move.stage, move.workers, move.reason)

    def _expire(self, run: JobRun, now: float) -> None:
        """Shed what nobody takes in time, and kill who keeps a frame beyond its time to live."""
        assert run.segment is not None and run.ring is not None
        lifetime, now_ns = self._spec.lifetime, time.monotonic_ns()
        if self._spec.live:
            names = [stage.name for stage in self._spec.stages]
            limits = shedding.ready_limits(self._after, names, lifetime)
            self._shed_ready(run, [int(limit * 1e9) for limit in limits], now_ns)
        if not lifetime:
            return
        held = self._held(run, now_ns)
        self._minds.expiry, kills = expiry.judge(
            self._minds.expiry, held, now, ttl=lifetime, live=self._spec.live
        )
        for kill in kills:
            handle = run.workers[kill.worker]
            if isinstance(handle, WorkerHandle) and handle.alive:
                self._trouble.note("warning", kill.reason, handle.plan.spec.name)
                handle.end(kill.reason)

    def _shed_ready(self, run: JobRun, limits: Sequence[int], now_ns: int) -> None:
        assert run.segment is not None and run.ring is not None
        try:
            dropped = shed_stale(
                run.segment, run.ring.bells, limits, now_ns, Why.STALE, within=_LOCK_S
            )
        except LockTimeout:
            return  # whoever keeps the lock is found out by the watch for hangs
        for each in dropped:
            self._shed[each.stage] = self._shed.get(each.stage, 0) + 1

    def _held(self, run: JobRun, now_ns: int) -> list[expiry.HeldFrame]:
        """The frames that somebody holds."""
        assert run.segment is not None
        rows = read_stats(run.segment)
        silent = rows[0].state == Doing.WAITING
        held = []
        for slot, word, age_ns in frame_ages(run.segment, now_ns):
            if word.state not in (State.HELD, State.WORK):
                continue
            handle = run.workers[word.worker]
            excused = (
                not isinstance(handle, WorkerHandle)
                or handle.killed
                or not handle.begun
                or rows[word.worker].state in (Doing.BUILDING, Doing.WAITING)
                or (silent and handle.demand.holds > 0)  # it waits for what does not come
            )
            held.append(
                expiry.HeldFrame(slot, word.seq, word.worker, handle.label, age_ns / 1e9, excused)
            )
        return held

    def _watch_age(self, snapshot: Snapshot, now: float) -> None:
        limit = alerting.age_limit(self._spec, self.max_latency)
        if not limit:
            return
        self._minds.age, news = alerting.watch_age(self._minds.age, snapshot, now, limit=limit)
        if news is None:
            return
        if news.over:
            self._trouble.alert("p99", news.reason)
        else:
            self._trouble.note("info", news.reason)
