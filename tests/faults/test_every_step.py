"""A real process is killed right before each shared store in turn; nothing is lost or different.

Every name of the protocol's table is reached by a pipeline of real processes: in a worker, where
the run goes on by itself, or in the supervisor, where a second run goes on. What no file run ever
does is killed in tests/shm/test_kill_every_store.py.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from runs import (
    Ear,
    job_in,
    kill_workers,
    lines_of,
    pass_gates,
    pipeline_of,
    trap,
)
from trap_stages import BOXES

from mpflow.session import JobResult, Session
from mpflow.shm.steps import STEPS
from mpflow.spec import JobSpec, PipelineSpec

FRAMES = 40
STRIKING = Path(__file__).parents[1] / "support" / "striking"

Traps = dict[str, dict[str, Any]]

IN_WORKERS = {
    "read": "L1 L2 A1 G0 G1 P1 P2 E1 B1",
    "paint": "L1 L2 T1 K1 J1 J2 G1 G2 J4 B1",
    "follow": "L1 L2 T1 K1 G1 G2 B1",
    "rows": "L1 L2 T1 F1 B1",
}
AFTER_AN_EXCEPTION = "UP UK U1"
AFTER_A_REWIND = {"read": "P3", "paint": "G3"}

A_DEAD_SOURCE: Traps = {"read": {"step": "P2", "nth": 15}}
A_DEAD_STAGE: Traps = {"paint": {"step": "G1", "nth": 15}}
A_DEAD_SINK: Traps = {"rows": {"habit": "kill", "at": [25]}}
IN_THE_SUPERVISOR = {
    "R1": A_DEAD_SOURCE,
    "RP": A_DEAD_STAGE,
    "R2": A_DEAD_STAGE,
    "RJ": A_DEAD_STAGE,
    "L1": A_DEAD_STAGE,
    "L2": A_DEAD_STAGE,
    "B1": A_DEAD_STAGE,
    "R3E": A_DEAD_SINK,
    "R3P": A_DEAD_SINK,
    "R3N": A_DEAD_SINK,
    "R3W": A_DEAD_SINK,
}
IN_THE_SUPERVISOR_AFTER_A_REWIND = "R0"

ELSEWHERE = {
    "S0": "a stage sheds",
    "S1": "a stage sheds",
    "D0": "a stage drops what it holds",
    "R4D": "a live sink is recovered",
    "R4W": "a live sink is recovered",
}
"""Frames are dropped in live runs only; which script of kill_every_store.py does it."""


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(who, step) for who, steps in table.items() for step in steps.split()]


def spec_in(folder: Path) -> PipelineSpec:
    stages = [
        trap("Read", frames=FRAMES),
        trap("Paint"),
        trap("Follow", ahead=2),
        trap("Rows"),
    ]
    return pipeline_of(folder, *stages, log_level="debug")


def job_with(folder: Path, traps: Traps) -> JobSpec:
    return job_in(folder, source=json.dumps(traps))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session for all jobs in which the supervisor lives."""
    with Session() as session:
        session.open(spec_in(tmp_path_factory.mktemp("preset")))
        yield session


@pytest.fixture(scope="module")
def undisturbed(session: Session, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    job = job_in(tmp_path_factory.mktemp("undisturbed"))
    result = session.run(job)
    assert result.error is None and result.report.restarts == 0
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))
    return lines_of(job)


def mark_of(job: JobSpec, who: str, step: str) -> Path:
    return Path(f"{job.output}.marks") / f"{who.capitalize()}-step-{step}"


def check(result: JobResult, job: JobSpec, undisturbed: list[dict[str, Any]]) -> None:
    """Every frame is there and the same, and no slot is anybody's any more."""
    assert result.error is None
    assert result.report.leases_left == 0
    assert lines_of(job) == undisturbed


@pytest.mark.parametrize(("who", "step"), pairs(IN_WORKERS))
def test_a_worker_killed_before_a_store_loses_no_frame_and_no_slot(
    session: Session, tmp_path: Path, undisturbed: list[dict[str, Any]], who: str, step: str
) -> None:
    nth = 1 if step == "E1" else 12
    job = job_with(tmp_path, {who: {"step": step, "nth": nth}})
    result = session.run(job)
    assert mark_of(job, who, step).exists(), f"{who} never came to {step}"
    check(result, job, undisturbed)


@pytest.mark.parametrize("step", AFTER_AN_EXCEPTION.split())
def test_a_worker_killed_while_it_takes_its_work_back_loses_nothing(
    session: Session, tmp_path: Path, undisturbed: list[dict[str, Any]], step: str
) -> None:
    """The stage raises between two rectangles of a frame, and is killed while it undoes them."""
    raising = {"habit": "raise", "at": [12], "between": 1, "step": step}
    job = job_with(tmp_path, {"paint": raising})
    result = session.run(job)
    assert mark_of(job, "paint", step).exists()
    check(result, job, undisturbed)


@pytest.mark.parametrize("painted", range(len(BOXES)))
def test_a_worker_killed_between_two_rectangles_changes_no_pixel_twice(
    session: Session, tmp_path: Path, undisturbed: list[dict[str, Any]], painted: int
) -> None:
    """All that was painted is painted again, from the pixels as they were."""
    job = job_with(tmp_path, {"paint": {"habit": "kill", "at": [12], "between": painted}})
    result = session.run(job)
    assert result.report.restarts == 1
    check(result, job, undisturbed)


TOWARDS_THE_END: Traps = {
    "read": {"step": "P2", "nth": 6},
    "paint": {"step": "J4", "nth": 7},
    "rows": {"step": "F1", "nth": 24},
}


@pytest.mark.parametrize("number", range(8))
def test_a_sink_that_dies_as_the_source_comes_to_its_end_is_told_to_conclude(
    session: Session, tmp_path: Path, undisturbed: list[dict[str, Any]], number: int
) -> None:
    """What the source says of its end may come before the sink's successor can hear of it."""
    job = job_with(tmp_path, TOWARDS_THE_END)
    check(session.run(job), job, undisturbed)


HOLDING = {
    "read": {"habit": "gate", "at": [25], "filling": True},
    "paint": {"habit": "gate", "at": [25], "between": 1},
}
"""Who holds a slot while the sink dies and the ring is rewound; it learns of that afterwards."""


def run_with_a_rewind(folder: Path, job: JobSpec) -> JobResult:
    marks = Path(f"{job.output}.marks")
    marks.mkdir()
    ear = Ear()

    def strike(pid: int) -> None:
        kill_workers(pid, "rows")
        ear.wait_for("the ring starts at frame")

    with Session(ear) as session:
        session.open(spec_in(folder))
        return pass_gates(session, job, marks, {25: strike})


@pytest.mark.parametrize(("who", "step"), AFTER_A_REWIND.items())
def test_a_worker_killed_as_it_finds_its_frame_stale_loses_nothing(
    tmp_path: Path, undisturbed: list[dict[str, Any]], who: str, step: str
) -> None:
    job = job_with(tmp_path, {who: {**HOLDING[who], "step": step}})
    result = run_with_a_rewind(tmp_path, job)
    assert mark_of(job, who, step).exists()
    check(result, job, undisturbed)


@pytest.fixture
def strikes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Supervisors that start from here on are struck where MPFLOW_TEST_STRIKE says."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(STRIKING)
        yield patch


def go_on(
    session: Session, job: JobSpec, dead: JobResult, undisturbed: list[dict[str, Any]]
) -> None:
    """The supervisor was killed; a second run goes on from what is durable."""
    assert dead.error is not None and "ended by SIGKILL" in dead.error.what
    check(session.run(msgspec.structs.replace(job, resume=True)), job, undisturbed)


@pytest.mark.parametrize("step", IN_THE_SUPERVISOR)
def test_a_supervisor_killed_before_a_store_of_its_own_is_gone_on_after(
    session: Session,
    tmp_path: Path,
    undisturbed: list[dict[str, Any]],
    strikes: pytest.MonkeyPatch,
    step: str,
) -> None:
    mark = tmp_path / "struck"
    strikes.setenv("MPFLOW_TEST_STRIKE", f"{step} {mark}")
    job = job_with(tmp_path, IN_THE_SUPERVISOR[step])
    with Session() as doomed:
        doomed.open(spec_in(tmp_path))
        dead = doomed.run(job)
    assert mark.exists(), f"the supervisor never came to {step}"
    go_on(session, job, dead, undisturbed)


def test_a_supervisor_killed_before_it_frees_a_stale_slot_is_gone_on_after(
    session: Session,
    tmp_path: Path,
    undisturbed: list[dict[str, Any]],
    strikes: pytest.MonkeyPatch,
) -> None:
    mark = tmp_path / "struck"
    strikes.setenv("MPFLOW_TEST_STRIKE", f"{IN_THE_SUPERVISOR_AFTER_A_REWIND} {mark}")
    job = job_with(tmp_path, {"paint": {**HOLDING["paint"], "step": "G3"}})
    dead = run_with_a_rewind(tmp_path, job)
    assert mark.exists()
    go_on(session, job, dead, undisturbed)


def test_every_name_of_the_table_is_reached_here_or_said_to_be_elsewhere() -> None:
    here = {step for _, step in pairs(IN_WORKERS)} | set(AFTER_AN_EXCEPTION.split())
    here |= set(AFTER_A_REWIND.values())
    here |= {*IN_THE_SUPERVISOR, IN_THE_SUPERVISOR_AFTER_A_REWIND}
    assert here | set(ELSEWHERE) == set(STEPS)
    assert not here & set(ELSEWHERE)


@pytest.mark.parametrize(("step", "script"), ELSEWHERE.items())
def test_what_no_file_run_does_is_done_where_the_ring_alone_is_killed(
    step: str, script: str
) -> None:
    path = Path(__file__).parents[1] / "shm" / "kill_every_store.py"
    found = importlib.util.spec_from_file_location("kill_every_store", path)
    assert found is not None and found.loader is not None
    rings = importlib.util.module_from_spec(found)
    found.loader.exec_module(rings)
    assert step in rings.record(script)
