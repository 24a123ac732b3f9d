"""Who is seated, who is parked, and when nobody moves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mpflow.crew import Crew
from mpflow.errors import StageDied
from mpflow.graph import Demand, plan_workers
from mpflow.jobring import demands_of
from mpflow.launch import Duty, Seated, VacantSeat, WorkerHandle
from mpflow.lifecycle import JobState, WorkerState
from mpflow.spec import PipelineSpec, StageSpec

SPEC = PipelineSpec(
    "test",
    (
        StageSpec("read", "x:Read"),
        StageSpec("detect", "x:Detect", workers=4, auto=True),
        StageSpec("write", "x:Write"),
    ),
)


class NoProcess(WorkerHandle):
    """A worker that is told things, and has no process."""

    def __init__(self, number: int, duty: Duty = Duty.ON, state: str = "busy") -> None:
        plan = plan_workers(SPEC)[1 + number]
        super().__init__(
            plan, cast(Any, SimpleNamespace(pid=100 + number)), -1, cast(Any, None), -1
        )
        self.told: list[str] = []
        self.duty = duty
        self.idle = state != "busy"
        self.begun = state == "busy"
        for step in {"busy": ("ready", "busy"), "starting": ()}.get(state, ("ready", state)):
            self.move(WorkerState(step))

    def tell(self, kind: str, descriptors: object = (), **values: object) -> None:
        self.told.append(kind)

    def kill(self) -> None:
        self.killed = True


@dataclass
class Run:
    """A job that runs."""

    workers: list[Any]
    spec: PipelineSpec = SPEC
    ring: object = "a ring"
    state: JobState = JobState.RUNNING
    owed: list[int] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)

    @property
    def machine(self) -> Any:
        return SimpleNamespace(is_in=lambda *states: self.state in states)

    @property
    def rescue(self) -> Any:
        return SimpleNamespace(owes=lambda worker: worker in self.owed)

    def note_ready(self, handle: WorkerHandle) -> None:
        self.ready.append(handle.label)


class Pool:
    """Starts workers that open their stage for ever."""

    def __init__(self, run: Run, *, fails: bool = False) -> None:
        self._run = run
        self._fails = fails

    def seat(self, vacant: VacantSeat, why: str) -> WorkerHandle:
        if self._fails:
            raise StageDied("no process can be had")
        fresh = NoProcess(vacant.plan.number, Duty.JOINING, "starting")
        self._run.workers[vacant.plan.id] = fresh
        return fresh


def vacant(number: int, barred_until: float = 0.0) -> VacantSeat:
    return VacantSeat(plan_workers(SPEC)[1 + number], barred_until=barred_until)


def crew_of(*seats: Seated, fails: bool = False, **more: Any) -> tuple[Crew, Run, list[str]]:
    plans = plan_workers(SPEC)
    filled = [*seats, *(vacant(number) for number in range(len(seats), 4))]
    run = Run([VacantSeat(plans[0]), *filled, VacantSeat(plans[-1])], **more)
    said: list[str] = []
    notices = SimpleNamespace(note=lambda level, text, handle=None: said.append(text))
    trouble = SimpleNamespace(mark=lambda name, worker: None)
    made: Any = (run, Pool(run, fails=fails), notices, trouble)
    return Crew(*made), run, said


def duties(run: Run) -> list[str]:
    return [str(handle.duty) for handle in run.workers[1:-1]]


def test_a_vacant_seat_is_filled_and_the_move_is_told() -> None:
    crew, run, said = crew_of(NoProcess(0))
    assert crew.stages == ("detect",)
    assert crew.seats("detect") == 4
    assert crew.seat("detect", "it is the limit")
    assert duties(run) == ["on", "joining", "off", "off"]
    assert (crew.active("detect"), crew.working("detect")) == (2, 1)
    assert said == ["is started, 2 of 4: it is the limit"]


def test_a_parked_worker_goes_on_before_another_is_started() -> None:
    parked = NoProcess(1, Duty.OFF)
    parked.move(WorkerState.PARKED)
    crew, run, said = crew_of(NoProcess(0), parked)
    assert crew.seat("detect", "why")
    assert parked.told == ["unpark"]
    assert parked.machine.is_in(WorkerState.BUSY) and parked.needed
    assert duties(run) == ["on", "on", "off", "off"]
    assert said == ["works again, 2 of 4: why"]


def test_a_parked_worker_that_is_in_no_job_joins_this_one() -> None:
    parked = NoProcess(1, Duty.OFF, "parked")
    crew, run, _ = crew_of(NoProcess(0), parked)
    assert crew.seat("detect", "why")
    assert run.ready == ["detect/1"] and parked.duty is Duty.JOINING


def test_who_is_not_there_yet_goes_first_then_the_highest_number() -> None:
    opening = NoProcess(1, Duty.JOINING, "starting")
    crew, run, _ = crew_of(NoProcess(0), opening, NoProcess(2))
    assert crew.vacate("detect", "why") and opening.killed
    assert duties(run) == ["on", "off", "on", "off"]
    assert crew.vacate("detect", "why")
    assert run.workers[3].told == ["park"]
    assert duties(run) == ["on", "off", "off", "off"]


def test_the_last_one_that_works_stays() -> None:
    crew, run, said = crew_of(NoProcess(0), NoProcess(1, Duty.JOINING, "starting"))
    run.workers[1].kill()
    assert not crew.vacate("detect", "why")  # the other one is not there yet
    crew, run, said = crew_of(NoProcess(0))
    assert not crew.vacate("detect", "why")
    assert said == []


def test_a_dead_worker_that_is_about_to_be_replaced_is_not_vacated() -> None:
    dead = NoProcess(1)
    dead.move(WorkerState.FAILED)
    crew, _, _ = crew_of(NoProcess(0), dead)
    assert not crew.vacate("detect", "why")
    assert dead.needed


@pytest.mark.parametrize("state", [s for s in JobState if s is not JobState.RUNNING])
def test_nobody_moves_while_a_job_does_not_run(state: JobState) -> None:
    crew, _, _ = crew_of(NoProcess(0), NoProcess(1), state=state)
    assert not crew.seat("detect", "why")
    assert not crew.vacate("detect", "why")


def test_a_stage_whose_newcomer_was_lost_gets_no_other_for_a_while() -> None:
    crew, _, _ = crew_of(NoProcess(0), vacant(1, barred_until=time.monotonic() + 60))
    assert not crew.seat("detect", "why")


def test_a_seat_whose_last_worker_still_holds_frames_is_left_alone() -> None:
    crew, run, _ = crew_of(NoProcess(0), owed=[2])
    assert crew.seat("detect", "why")
    assert duties(run) == ["on", "off", "joining", "off"]


def test_a_worker_that_cannot_be_started_is_told_and_nothing_changes() -> None:
    crew, run, said = crew_of(NoProcess(0), fails=True)
    assert not crew.seat("detect", "why")
    assert said == ["no process can be had"]
    assert duties(run) == ["on", "off", "off", "off"]


def test_a_number_of_workers_is_reached_as_far_as_it_can_be() -> None:
    crew, _, _ = crew_of(NoProcess(0), NoProcess(1))
    assert crew.reach("detect", 9, "why") == 4
    assert crew.reach("detect", 0, "why") == 1


def test_a_seat_that_is_not_in_use_asks_for_what_the_others_of_its_stage_do() -> None:
    first = NoProcess(0)
    first.demand = Demand(holds=2, max_batch=4)
    ends = plan_workers(SPEC)[0], plan_workers(SPEC)[-1]
    caller = [SimpleNamespace(plan=plan, needed=True, demand=Demand()) for plan in ends]
    demands = demands_of(cast(Any, [caller[0], first, vacant(1), caller[1]]))
    assert demands[2] == Demand(holds=2, max_batch=4, spare=True)
