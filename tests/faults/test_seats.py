"""Workers come and go in the middle of a job, and nobody can tell from the output."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from moves import Moves
from runs import (
    job_in,
    kill_all,
    kill_workers,
    lines_of,
    marks_in,
    nothing_left,
    pass_gates,
    pipeline_of,
    run_once,
    run_through_gates,
    trap,
    worker_pids,
)

from mpflow.errors import Terminated
from mpflow.report import StageReport
from mpflow.session import JobResult, Session
from mpflow.spec import PipelineSpec

FRAMES = 60
LEFT = ["preset.yaml", "out.jsonl", "out.jsonl.parts", "marks", "moves"]
KINDS = {"paint": "Paint", "newcomer": "Newcomer", "hoard": "Hoard"}


def pipeline(folder: Path, name: str = "paint", *, seats: int = 4, **traps: Any) -> PipelineSpec:
    """A stage with seats between all other kinds of stages."""
    spec = pipeline_of(
        folder,
        trap("Read", frames=FRAMES, **traps.get("read", {})),
        trap(KINDS[name], workers="auto", **traps.get(name, {})),
        trap("Follow", ahead=3),
        trap("Rows", **traps.get("rows", {})),
    )
    grown = (
        msgspec.structs.replace(stage, workers=seats) if stage.auto else stage
        for stage in spec.stages
    )
    return msgspec.structs.replace(spec, stages=tuple(grown))


def gate(folder: Path, *at: int) -> dict[str, Any]:
    """A source that waits at each of these frames until it is let through."""
    return {"habit": "gate", "at": list(at), "once": marks_in(folder)}


def stage_of(result: JobResult, name: str) -> StageReport:
    return next(stage for stage in result.report.stages if stage.name == name)


def pids_of(result: JobResult, label: str) -> list[int]:
    """The processes that were this worker."""
    return [p for w in result.report.workers if w.label == label for p in w.pids]


def lines_without(folder: Path, name: str) -> list[dict[str, Any]]:
    """What comes out when nobody moves."""
    job = job_in(folder)
    result = run_once(
        pipeline(folder, name, **{name: {"ahead": 2}} if name == "hoard" else {}), job
    )
    assert result.error is None
    lines = lines_of(job)
    assert [line["seq"] for line in lines] == list(range(FRAMES))
    return lines


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return lines_without(tmp_path_factory.mktemp("undisturbed"), "paint")


@pytest.fixture(scope="module")
def hoarded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return lines_without(tmp_path_factory.mktemp("hoarded"), "hoard")


@pytest.fixture
def moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Moves:
    return Moves(tmp_path, monkeypatch)


def test_a_stage_grows_and_shrinks_and_grows_in_one_job(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)
    seen: list[Any] = []

    def grow(pid: int) -> None:
        assert len(worker_pids(pid, "paint")) == 1  # a seat that nobody has is no process
        seen.append([moves.seat("paint") for _ in range(4)])
        for number in range(4):
            moves.wait_for(f"paint/{number}", "busy")

    def shrink(_: int) -> None:
        seen.append([moves.vacate("paint") for _ in range(4)])
        for number in range(1, 4):
            moves.wait_for(f"paint/{number}", "parked")
        seen.append(moves.states()["paint/0"])

    def grow_again(_: int) -> None:
        assert moves.seat("paint") and moves.seat("paint")
        seen.append(moves.states())

    spec = pipeline(tmp_path, read=gate(tmp_path, 10, 25, 45))
    with nothing_left(tmp_path, but=LEFT):
        strikes = {10: grow, 25: shrink, 45: grow_again}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert lines_of(job) == undisturbed
    assert seen[:3] == [[True, True, True, False], [True, True, True, False], "busy"]
    states = seen[3]
    assert [states[f"paint/{n}"] for n in range(4)] == ["busy", "busy", "busy", "parked"]
    stage = stage_of(result, "paint")
    assert (stage.workers, stage.seats, stage.frames) == (3, 4, FRAMES)
    assert result.report.restarts == 0 and result.report.leases_left == 0
    assert len(pids_of(result, "paint/1")) == 1  # parked, its process was kept


def test_a_parked_worker_that_is_killed_leaves_a_seat_for_another(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)

    def park_and_kill(pid: int) -> None:
        assert moves.seat("paint")
        moves.wait_for("paint/1", "busy")
        assert moves.vacate("paint")
        moves.wait_for("paint/1", "parked")
        kill_workers(pid, "paint/1")
        moves.wait_for("paint/1", "vacant")

    def seat_another(_: int) -> None:
        assert moves.seat("paint")
        moves.wait_for("paint/1", "busy")

    spec = pipeline(tmp_path, read=gate(tmp_path, 10, 30))
    with nothing_left(tmp_path, but=LEFT):
        strikes = {10: park_and_kill, 30: seat_another}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert lines_of(job) == undisturbed
    assert len(pids_of(result, "paint/1")) == 2
    assert result.report.restarts == 0


def test_a_worker_that_has_joined_is_replaced_like_any_other(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)

    def join_and_kill(pid: int) -> None:
        assert moves.seat("paint")
        moves.wait_for("paint/1", "busy")
        kill_workers(pid, "paint")

    spec = pipeline(tmp_path, read=gate(tmp_path, 20))
    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(spec, job, tmp_path / "marks", {20: join_and_kill})
    assert result.error is None
    assert lines_of(job) == undisturbed
    assert result.report.restarts >= 1  # at the end nobody waits for a second painter
    assert stage_of(result, "paint").workers == 2


def test_all_workers_of_a_grown_stage_work_at_once(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    """Three frames in a row wait at gates in three workers: none goes on before all are there."""
    job = job_in(tmp_path)
    marks = Path(marks_in(tmp_path))

    def grow(_: int) -> None:
        assert moves.seat("paint") and moves.seat("paint")
        moves.wait_for("paint/1", "busy")
        moves.wait_for("paint/2", "busy")

    def wait_for_the_others(_: int) -> None:
        for other in (21, 22):
            (marks / f"gate-{other}").open("wb").close()

    for other in (21, 22):
        os.mkfifo(marks / f"gate-{other}")
    spec = pipeline(tmp_path, read=gate(tmp_path, 10), paint=gate(tmp_path, 20, 21, 22))
    result = run_through_gates(spec, job, marks, {10: grow, 20: wait_for_the_others})
    assert result.error is None
    assert lines_of(job) == undisturbed


def newcomer(folder: Path, habit: str) -> dict[str, Any]:
    return {"habit": habit, "once": marks_in(folder)}


@pytest.mark.parametrize("how", ["killed", "not needed"])
def test_a_worker_that_goes_while_it_opens_costs_nothing_but_its_seat(
    tmp_path: Path, moves: Moves, how: str
) -> None:
    job = job_in(tmp_path)

    def seat(_: int) -> None:
        assert moves.seat("newcomer")

    def end(pid: int) -> None:
        if how == "killed":
            kill_workers(pid, "newcomer/1")
        else:
            assert moves.vacate("newcomer")
        moves.wait_for("newcomer/1", "vacant")
        # after one that was lost nobody else is tried at once
        assert moves.seat("newcomer") is (how == "not needed")

    spec = pipeline(
        tmp_path,
        "newcomer",
        read=gate(tmp_path, 10, 50),
        newcomer=newcomer(tmp_path, "slow-open"),
    )
    with nothing_left(tmp_path, but=LEFT):
        strikes = {10: seat, "open": end, 50: lambda pid: None}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))
    assert result.report.restarts == 0


@pytest.mark.parametrize("habit", ["fail-open", "die-open", "fail-begin"])
def test_a_worker_that_cannot_join_ends_no_run(tmp_path: Path, moves: Moves, habit: str) -> None:
    job = job_in(tmp_path)

    def seat(_: int) -> None:
        assert moves.seat("newcomer")
        moves.wait_for("newcomer/1", "vacant")

    spec = pipeline(
        tmp_path, "newcomer", read=gate(tmp_path, 10), newcomer=newcomer(tmp_path, habit)
    )
    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(spec, job, tmp_path / "marks", {10: seat})
    assert result.error is None and result.report.complete
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))
    assert result.report.restarts == 0
    assert stage_of(result, "newcomer").workers == 1


@pytest.mark.parametrize("killed", [False, True])
def test_a_worker_that_is_not_needed_finishes_the_frame_it_has(
    tmp_path: Path, moves: Moves, *, killed: bool
) -> None:
    job = job_in(tmp_path)

    def seat(_: int) -> None:
        assert moves.seat("newcomer")
        moves.wait_for("newcomer/1", "busy")

    def vacate(pid: int) -> None:
        assert moves.vacate("newcomer")
        assert moves.states()["newcomer/1"] == "busy"  # it has a frame
        if killed:
            kill_workers(pid, "newcomer/1")

    def see(_: int) -> None:
        moves.wait_for("newcomer/1", "vacant" if killed else "parked")

    spec = pipeline(
        tmp_path,
        "newcomer",
        read=gate(tmp_path, 5, 50),
        newcomer={**newcomer(tmp_path, "hold"), "delay_ms": 5},
    )
    with nothing_left(tmp_path, but=LEFT):
        strikes = {5: seat, "held": vacate, 50: see}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))
    assert result.report.restarts == 0 and result.report.leases_left == 0


@pytest.mark.parametrize("killed", [False, True])
def test_a_stage_that_holds_frames_gives_them_on_before_it_parks(
    tmp_path: Path, moves: Moves, hoarded: list[dict[str, Any]], *, killed: bool
) -> None:
    """Both workers keep two frames each while the source waits at its gate."""
    job = job_in(tmp_path)

    def grow(_: int) -> None:
        assert moves.seat("hoard")
        moves.wait_for("hoard/1", "busy")

    def shrink(pid: int) -> None:
        assert moves.vacate("hoard")
        if killed:
            kill_workers(pid, "hoard/1")
        moves.wait_for("hoard/1", "vacant" if killed else "parked")

    spec = pipeline(tmp_path, "hoard", read=gate(tmp_path, 10, 30, 45), hoard={"ahead": 2})
    with nothing_left(tmp_path, but=LEFT):
        strikes = {10: grow, 30: shrink, 45: grow}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert lines_of(job) == hoarded
    assert result.report.leases_left == 0


def test_the_death_of_the_sink_is_survived_with_workers_parked(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)

    def grow(_: int) -> None:
        assert moves.seat("paint") and moves.seat("paint")
        moves.wait_for("paint/1", "busy")
        moves.wait_for("paint/2", "busy")

    def shrink_and_kill(pid: int) -> None:
        assert moves.vacate("paint")
        kill_workers(pid, "rows")

    def grow_again(_: int) -> None:
        assert moves.seat("paint")

    spec = pipeline(tmp_path, read=gate(tmp_path, 10, 33, 50))
    with nothing_left(tmp_path, but=LEFT):
        strikes = {10: grow, 33: shrink_and_kill, 50: grow_again}
        result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert lines_of(job) == undisturbed
    assert result.report.restarts == 1


def test_a_run_goes_on_where_a_grown_one_was_killed(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_in(tmp_path)

    def grow(_: int) -> None:
        assert moves.seat("paint")
        moves.wait_for("paint/1", "busy")

    spec = pipeline(tmp_path, read=gate(tmp_path, 10, 45))
    result = run_through_gates(spec, job, tmp_path / "marks", {10: grow, 45: kill_all})
    assert result.error is not None and "SIGKILL" in result.error.what
    monkeypatch.delenv("MPFLOW_TEST_MOVES")
    again = run_once(spec, msgspec.structs.replace(job, resume=True))
    assert again.error is None
    assert lines_of(job) == undisturbed
    assert 0 < again.report.stages[0].frames < FRAMES


def told(**traps: dict[str, Any]) -> str:
    """An input that holds the traps of its own job."""
    return msgspec.json.encode(traps).decode()


def test_who_works_stays_from_job_to_job_and_who_is_parked_stays_warm(
    tmp_path: Path, moves: Moves
) -> None:
    spec = pipeline(tmp_path, seats=3)
    seen: list[dict[str, str]] = []

    def grow_and_park(_: int) -> None:
        assert moves.seat("paint") and moves.seat("paint")
        moves.wait_for("paint/2", "busy")
        assert moves.vacate("paint")
        moves.wait_for("paint/2", "parked")

    def look_and_grow(_: int) -> None:
        seen.append(moves.states())
        assert moves.seat("paint")
        moves.wait_for("paint/2", "busy")

    strikes = {"one": grow_and_park, "two": look_and_grow, "three": lambda pid: None}
    results = []
    with Session() as session:
        session.open(spec)
        for name, strike in strikes.items():
            source = told(read={"habit": "gate", "at": [20]})
            job = job_in(tmp_path, f"{name}.jsonl", source)
            gates = Path(f"{job.output}.marks")
            gates.mkdir()
            results.append(pass_gates(session, job, gates, {20: strike}))
    assert all(result.error is None for result in results)
    assert [seen[0][f"paint/{n}"] for n in range(3)] == ["busy", "busy", "parked"]
    assert [stage_of(result, "paint").workers for result in results] == [2, 3, 3]
    assert len({tuple(pids_of(result, "paint/2")) for result in results}) == 1
    texts = {(tmp_path / f"{name}.jsonl").read_text() for name in strikes}
    assert len(texts) == 1


def test_a_parked_worker_is_not_taken_for_hung(
    tmp_path: Path, moves: Moves, undisturbed: list[dict[str, Any]]
) -> None:
    """Frames wait for the stage all the time, longer than its workers may be silent."""
    job = job_in(tmp_path)

    def grow_and_park(_: int) -> None:
        assert moves.seat("paint")
        moves.wait_for("paint/1", "busy")
        assert moves.vacate("paint")
        moves.wait_for("paint/1", "parked")

    spec = pipeline(tmp_path, read=gate(tmp_path, 10), paint={"limit": 0.5, "delay_ms": 40})
    result = run_through_gates(spec, job, tmp_path / "marks", {10: grow_and_park})
    assert result.error is None
    assert result.report.restarts == 0
    assert len(pids_of(result, "paint/1")) == 1
    assert lines_of(job) == undisturbed


def test_a_run_is_stopped_while_a_worker_opens(tmp_path: Path, moves: Moves) -> None:
    job = job_in(tmp_path)

    def seat(_: int) -> None:
        assert moves.seat("newcomer")

    spec = pipeline(
        tmp_path,
        "newcomer",
        read=gate(tmp_path, 20),
        newcomer=newcomer(tmp_path, "slow-open"),
    )
    marks = tmp_path / "marks"
    os.mkfifo(marks / "gate-open")

    def seat_and_stop(pid: int) -> None:
        seat(pid)
        moves.wait_for("newcomer/1", "starting")
        os.kill(pid, signal.SIGTERM)

    with nothing_left(tmp_path, but=[*LEFT, "out.partial.jsonl"]):
        result = run_through_gates(spec, job, marks, {20: seat_and_stop})
    assert isinstance(result.error, Terminated)
    assert result.report.restarts == 0
