"""A snapshot says what the counters in shared memory say, over the last seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from mpflow.graph import Demand, WorkerPlan, plan_workers
from mpflow.health import trouble
from mpflow.lifecycle import Machine, WorkerState, worker_machine
from mpflow.shm import Bell, Doing, Geometry, Ring, Segment, Stats
from mpflow.snapshot import Snapshot, StageView
from mpflow.spec import Helm, JobSpec, PipelineSpec, StageSpec
from mpflow.survey import SAMPLE_S, WINDOW_S, Standing, Survey
from mpflow.tokens import Mode

MS = 1_000_000
S = 1_000_000_000

SPEC = PipelineSpec(
    "redact",
    (
        StageSpec("decode", "mpflow.stages.decode:Decode"),
        StageSpec("detect", "mpflow.stages.detect:Detect", workers=3, auto=True),
        StageSpec("encode", "mpflow.stages.encode:Encode", options={"threads": 7}),
    ),
    name="door",
)
DECODE, DETECT, ENCODE = 0, 1, 4
"""Rows of the first worker of each stage."""


@dataclass
class Place:
    """A worker's place with nobody real in it."""

    plan: WorkerPlan
    pid: int | None = field(default_factory=os.getpid)
    active: bool = True
    demand: Demand = field(default_factory=Demand)
    machine: Machine[WorkerState] = field(default_factory=worker_machine)

    @property
    def label(self) -> str:
        return self.plan.label


class Job:
    """A job with a ring and rows of counters, and a clock of its own."""

    def __init__(self) -> None:
        self.plans = plan_workers(SPEC)
        self.segment = Segment.create(
            Geometry(slots=8, slot_bytes=4096, stages=3, workers=len(self.plans))
        )
        self.bells = [Bell.create() for _ in range(3)]
        self.rows = [Stats(self.segment, k) for k in range(len(self.plans))]
        self.places = [Place(plan) for plan in self.plans]
        for place in self.places[DETECT + 1 : ENCODE]:
            place.active, place.pid = False, None
        self.now = 1000.0
        self.survey = Survey("5c1f09ab", SPEC, 4, self.now)
        self.survey.begin(JobSpec("1", "in.mp4", "out.mp4"), self.now)

    def look(self, after: float = 0.1, **standing: object) -> Snapshot:
        self.now += after
        values = {"state": "running", "workers": self.places, "segment": self.segment, **standing}
        return self.survey.look(Standing(**values), self.now)  # type: ignore[arg-type]

    def stage(self, snapshot: Snapshot, name: str) -> StageView:
        return next(stage for stage in snapshot.stages if stage.name == name)

    def ring(self, stage: int, worker: int) -> Ring:
        return Ring(self.segment, self.bells, stage=stage, worker=worker)

    def close(self) -> None:
        self.segment.close()
        for bell in self.bells:
            bell.close()


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job()
    yield made
    made.close()


def test_before_a_job_has_a_ring_there_is_a_snapshot_all_the_same(job: Job) -> None:
    seen = job.look(state="probing", segment=None)
    assert (seen.run, seen.name, seen.job, seen.pid) == ("5c1f09ab", "door", "1", os.getpid())
    assert (seen.frames, seen.rate, seen.slots, seen.age.count) == (0, 0.0, 0, 0)
    assert [stage.name for stage in seen.stages] == ["decode", "detect", "encode"]
    assert seen.bottleneck == "" and not seen.healthy


def test_depths_and_ages_are_those_of_the_ring(job: Job) -> None:
    source, detect = job.ring(0, DECODE), job.ring(1, DETECT)
    born = time.monotonic_ns() - 3 * S
    for number in range(4):
        lease = source.alloc()
        assert lease is not None
        source.publish(lease, b"t", born=born + number * S)
    taken = detect.take()
    assert taken is not None
    seen = job.look()
    view = job.stage(seen, "detect")
    assert (view.depth, view.held, seen.slots, seen.free) == (3, 1, 8, 4)
    assert 2.0 <= view.oldest < 60.0
    assert job.stage(seen, "encode").oldest == 0.0
    detect.give(taken, b"t")
    seen = job.look()
    assert job.stage(seen, "encode").depth == 1
    rest = detect.take_batch(3)
    assert job.stage(job.look(), "detect").depth == 0
    assert job.stage(job.look(), "detect").high_water == 3
    for lease in rest:
        detect.give(lease, b"t")


def test_what_a_stage_may_keep_back_is_told(job: Job) -> None:
    job.places[DETECT].demand = Demand(holds=2)
    assert [stage.holds for stage in job.look().stages] == [0, 2, 0]


def test_rates_and_ratios_are_those_of_the_window(job: Job) -> None:
    job.look(0)
    encode, detect = job.rows[ENCODE], job.rows[DETECT]
    encode.add(frames=20, batches=20, busy_ns=S // 2, wait_input_ns=S)
    detect.add(frames=24, batches=6, busy_ns=int(1.6 * S))
    seen = job.look(2.0)
    assert seen.frames == 20 and seen.rate == pytest.approx(10.0)
    view = job.stage(seen, "detect")
    assert view.batch == 4.0 and view.busy_ratio == pytest.approx(0.8)
    assert (view.workers, view.seats, view.auto) == (1, 3, True)
    worker = next(each for each in seen.workers if each.label == "encode")
    assert (worker.busy, worker.waiting) == (0.5, 1.0)
    assert worker.busy_ratio == pytest.approx(0.25)
    assert seen.bottleneck == (
        "detect is the limit: 80 % busy;"
        " a smaller size, more workers, every=auto or a GPU would help"
    )
    job.places[DETECT + 1].active = True
    assert job.stage(job.look(0), "detect").busy_ratio == pytest.approx(0.4)


def test_what_is_older_than_the_window_does_not_count(job: Job) -> None:
    job.look(0)
    job.rows[ENCODE].add(frames=1000, batches=1000)
    job.rows[ENCODE].age(5 * S)
    for _ in range(int(WINDOW_S / SAMPLE_S) + 2):
        seen = job.look(SAMPLE_S)
    assert seen.window <= WINDOW_S + SAMPLE_S
    assert (seen.frames, seen.rate, seen.age.count) == (1000, 0.0, 0)


def test_times_are_of_all_workers_of_a_stage_and_ages_of_the_last_stage(job: Job) -> None:
    job.look(0)
    for row in (DETECT, DETECT + 1):
        for _ in range(100):
            job.rows[row].time(30 * MS, 10 * MS)
    job.rows[ENCODE].time(10 * MS, 0)
    for milliseconds in (100,) * 98 + (400, 900):
        job.rows[ENCODE].age(milliseconds * MS)
    seen = job.look(SAMPLE_S)
    view = job.stage(seen, "detect")
    assert view.service.count == 200 and view.service.mean == pytest.approx(0.03)
    assert view.service.p90 == pytest.approx(0.03, rel=1 / 16)
    assert view.waited.p50 == pytest.approx(0.01, rel=1 / 16)
    assert view.idle_ratio == pytest.approx(0.25)
    assert seen.age.count == 100 and seen.age.p50 == pytest.approx(0.1, rel=1 / 16)
    assert seen.age.p99 == pytest.approx(0.4, rel=1 / 16)
    assert 0.9 <= seen.age.max <= 0.9 * 9 / 8
    assert seen.idle_ratio == pytest.approx(2.0 / 8.01)


def test_what_was_lost_is_added_up(job: Job) -> None:
    job.look(0)
    for row, counts in {
        DECODE: {"missed": 3, "reconnects": 2, "shed": 1},
        DETECT: {"shed": 4, "degraded": 9},
        ENCODE: {"shed": 2, "degraded": 8},
    }.items():
        for name, count in counts.items():
            job.rows[row].count(name, count)
    job.rows[DECODE].add(damaged=6)
    helm = Helm(Mode.SINGLE_FRAME, 1, notes=("detect.every=2",), reason="backlog")
    seen = job.look(helm=helm, shed={1: 5}, ahead=50, total=90, restarts=1, alerts={"p99": 2})
    assert (seen.dropped, seen.missed, seen.reconnects, seen.damaged) == (12, 3, 2, 6)
    assert seen.degraded == 8 and job.stage(seen, "detect").degraded == 9
    assert job.stage(seen, "detect").shed == 9
    assert (seen.frames, seen.total, seen.restarts, seen.alerts) == (50, 90, 1, {"p99": 2})
    assert (seen.mode, seen.level, seen.notes, seen.reason) == (
        Mode.SINGLE_FRAME,
        1,
        ("detect.every=2",),
        "backlog",
    )


def test_threads_are_those_in_force(job: Job) -> None:
    seen = job.look()
    assert [stage.threads for stage in seen.stages] == [4, 1, 7]
    seen = job.look(helm=Helm(options={"detect": {"threads": 2}}))
    assert job.stage(seen, "detect").threads == 2


def test_workers_are_shown_with_what_their_processes_use(job: Job) -> None:
    job.rows[DETECT].set_batch_limit(4)
    job.rows[DETECT].set_state(Doing.BUILDING)
    for state in ("failed", "backoff", "starting"):
        job.places[DETECT].machine.move(WorkerState(state), now=1)
    job.look(0)
    began = time.process_time()
    while time.process_time() - began < 0.05:
        pass
    seen = job.look(SAMPLE_S)
    assert [worker.label for worker in seen.workers] == ["decode", "detect/0", "encode"]
    worker = seen.workers[1]
    assert (worker.doing, worker.batch_limit, worker.restarts) == ("building", 4, 1)
    assert worker.memory > 1 << 20 and worker.cpu >= 0.02 and worker.cpu_ratio == worker.cpu
    assert seen.memory >= 4 * worker.memory + job.segment.geometry.total_bytes
    assert 0.0 < seen.memory_share <= 1.0 and 0.0 <= seen.cpu_share <= 1.0


def test_a_worker_that_is_gone_uses_nothing(job: Job) -> None:
    job.places[DETECT].pid = 2**22 + 1
    seen = job.look()
    assert seen.workers[1].memory == 0 and seen.workers[1].cpu == 0.0


def test_a_new_job_begins_at_nothing(job: Job) -> None:
    job.look(0)
    job.rows[ENCODE].add(frames=30, batches=30, busy_ns=S)
    job.look(1.0)
    other = Job()
    try:
        job.survey.begin(JobSpec("2", "b.mp4"), job.now)
        other.rows[ENCODE].add(frames=10)
        seen = job.look(1.0, segment=other.segment)
        assert (seen.job, seen.frames, seen.window, seen.rate) == ("2", 10, 0.0, 0.0)
        other.rows[ENCODE].add(frames=10)
        assert job.look(1.0, segment=other.segment).rate == pytest.approx(10.0)
    finally:
        other.close()
    seen = job.look(1.0, segment=None, state="idle")
    assert seen.healthy and seen.rate == 0.0


def test_a_ring_that_has_come_counts_from_its_first_look(job: Job) -> None:
    job.look(0, state="probing", segment=None)
    job.look(3.0, state="beginning", segment=None)
    job.look(1.0)
    job.rows[ENCODE].add(frames=10)
    assert job.look(1.0).rate == pytest.approx(10.0)


def test_a_stage_without_a_worker_is_trouble(job: Job) -> None:
    assert job.look().healthy
    place = job.places[DETECT]
    place.machine.move(WorkerState.FAILED, now=0)
    seen = job.look()
    assert not seen.healthy
    assert seen.trouble == "nobody works for detect just now: a worker is being started"


def test_a_pipeline_that_stands_still_is_trouble_unless_something_is_built(job: Job) -> None:
    job.look(0)
    job.rows[ENCODE].add(frames=1)
    assert job.look(5.0).healthy
    assert job.look(9.0).healthy
    assert job.look(2.0).trouble == "no frame has come to the end for 11 s"
    job.rows[DETECT].set_state(Doing.BUILDING)
    assert job.look().healthy
    job.rows[DETECT].set_state(Doing.WAITING)
    job.rows[ENCODE].add(frames=1)
    assert job.look().healthy


@pytest.mark.parametrize(
    ("state", "missing", "still", "building", "sentence"),
    [
        ("idle", ["detect"], 99.0, False, ""),
        ("probing", [], 0.0, False, "the job is being started"),
        ("beginning", [], 99.0, False, "the job is being started"),
        ("running", [], 10.0, False, ""),
        ("running", [], 10.6, False, "no frame has come to the end for 11 s"),
        ("running", [], 99.0, True, ""),
        ("concluding", [], 99.0, False, ""),
        ("aborting", [], 0.0, False, "the job has failed and is being ended"),
        (
            "running",
            ["detect", "send"],
            0.0,
            True,
            "nobody works for detect and send just now: a worker is being started",
        ),
    ],
)
def test_what_is_wrong(
    state: str, missing: list[str], still: float, building: bool, sentence: str
) -> None:
    assert trouble(state, missing=missing, still=still, building=building) == sentence


def test_who_takes_the_frames_itself_has_no_advice() -> None:
    spec = PipelineSpec("decode", (SPEC.stages[0], StageSpec("caller", "the caller itself")))
    seen = Survey("r", spec, 2).look(Standing(), time.monotonic())
    assert [bool(stage.advice) for stage in seen.stages] == [True, False]
