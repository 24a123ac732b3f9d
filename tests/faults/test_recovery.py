"""A worker that dies is replaced, and nobody can tell from the output that it ever died."""

from __future__ import annotations

import os
import signal
from functools import partial
from itertools import pairwise as pairs
from pathlib import Path
from typing import Any

import msgspec
import pytest
from runs import (
    fork_servers,
    job_in,
    kill_all,
    kill_workers,
    lines_of,
    marks_in,
    nothing_left,
    pipeline_of,
    run_through_gates,
    trap,
    worker_pids,
)

from mpflow.errors import StageDied
from mpflow.session import JobResult, Session
from mpflow.spec import JobSpec, PipelineSpec

FRAMES = 60
LEFT = ["preset.yaml", "out.jsonl", "out.jsonl.parts", "marks"]


def run(spec: PipelineSpec, job: JobSpec) -> JobResult:
    with Session() as session:
        session.open(spec)
        return session.run(job)


def stages(**traps: dict[str, Any]) -> list[dict[str, Any]]:
    """A pipeline of all kinds of stages, some with traps."""
    return [
        trap("Read", frames=FRAMES, **traps.get("read", {})),
        trap("Paint", workers=2, **traps.get("paint", {})),
        trap("Follow", **{"ahead": 3, **traps.get("follow", {})}),
        trap("Rows", **traps.get("rows", {})),
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_in(folder)
    result = run(pipeline_of(folder, *stages()), job)
    assert result.error is None and result.report.restarts == 0
    lines = lines_of(job)
    assert [line["seq"] for line in lines] == list(range(FRAMES))
    return lines


@pytest.mark.parametrize("who", ["read", "paint", "follow", "rows"])
@pytest.mark.parametrize("habit", ["exit", "segfault", "kill"])
def test_a_run_in_which_a_worker_died_gives_the_same_frames(
    tmp_path: Path, undisturbed: list[dict[str, Any]], who: str, habit: str
) -> None:
    job = job_in(tmp_path)
    traps = {who: {"habit": habit, "at": [0, 17, 59], "once": marks_in(tmp_path)}}
    with nothing_left(tmp_path, but=LEFT):
        result = run(pipeline_of(tmp_path, *stages(**traps)), job)
    assert result.error is None
    assert result.report.restarts >= 2  # the last death may need no successor
    assert result.report.leases_left == 0
    assert lines_of(job) == undisturbed


def gated(folder: Path, *at: int) -> dict[str, Any]:
    """A source that waits at each of these frames until it is let through."""
    return {"habit": "gate", "at": list(at), "once": marks_in(folder)}


@pytest.mark.parametrize("who", ["read", "paint", "follow", "rows"])
def test_a_worker_killed_while_it_is_blocked_on_its_input_is_replaced(
    tmp_path: Path, undisturbed: list[dict[str, Any]], who: str
) -> None:
    """The source waits at a gate, so sooner or later everybody waits for a frame."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gated(tmp_path, 10, 40)))
    with nothing_left(tmp_path, but=LEFT):
        strike = partial(kill_workers, name=who)
        result = run_through_gates(spec, job, tmp_path / "marks", {10: strike, 40: strike})
    assert result.error is None
    assert result.report.restarts >= 2
    assert lines_of(job) == undisturbed


def test_all_workers_killed_at_once_are_replaced(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gated(tmp_path, 20)))
    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(spec, job, tmp_path / "marks", {20: kill_workers})
    assert result.error is None
    assert result.report.restarts >= 4  # at the end nobody waits for a second painter
    assert lines_of(job) == undisturbed


def test_the_death_of_the_fork_server_is_survived(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Living workers look dead to multiprocessing then; they go on, and new ones can be had."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gated(tmp_path, 20)))

    def strike(pid: int) -> None:
        servers, painters = fork_servers(pid), worker_pids(pid, "paint")
        assert servers and painters  # found now: without the server they are nobody's children
        for process in [*servers, *painters]:
            os.kill(process, signal.SIGKILL)

    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(spec, job, tmp_path / "marks", {20: strike})
    assert result.error is None
    assert result.report.restarts >= 1
    assert lines_of(job) == undisturbed


def test_a_restart_storm_ends_the_run_with_the_cause(tmp_path: Path) -> None:
    """Whoever takes frame 27 dies: four groups of ten are never durable."""
    spec = pipeline_of(tmp_path, *stages(rows={"habit": "exit", "at": [27]}))
    with nothing_left(tmp_path, but=[*LEFT, "out.partial.jsonl"]):
        storm = run(spec, job_in(tmp_path))
    assert isinstance(storm.error, StageDied)
    assert "stage rows died 5 times in" in storm.error.what
    assert "ended with exit code 7" in storm.error.what
    assert storm.error.facts["deaths"] == 5
    assert storm.report.alerts == {"storm": 1}
    assert len((tmp_path / "out.partial.jsonl").read_text().splitlines()) == 20


def test_the_history_of_every_worker_is_in_the_report(tmp_path: Path) -> None:
    traps = {"follow": {"habit": "kill", "at": [9], "once": marks_in(tmp_path)}}
    result = run(pipeline_of(tmp_path, *stages(**traps)), job_in(tmp_path))
    assert result.error is None
    histories = {worker.label: worker for worker in result.report.workers}
    assert list(histories) == ["read", "paint/0", "paint/1", "follow", "rows"]
    (dead,) = [history for history in histories.values() if len(history.pids) == 2]
    states = [move.state for move in dead.moves]
    assert states[:8] == [
        *("starting", "ready", "busy", "failed", "backoff", "starting", "ready", "busy")
    ]
    assert "SIGKILL" in dead.moves[4].reason
    assert all(earlier.seconds <= later.seconds for earlier, later in pairs(dead.moves))


def test_a_worker_that_dies_between_two_jobs_is_replaced(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, *stages())
    with nothing_left(tmp_path, but=[*LEFT, "two.jsonl", "two.jsonl.parts"]), Session() as session:
        session.open(spec)
        one = session.run(job_in(tmp_path))
        (pid,) = worker_pids(session.pid, "follow")
        os.kill(pid, signal.SIGKILL)
        two = session.run(job_in(tmp_path, "two.jsonl"))
    assert one.error is None and two.error is None
    assert (tmp_path / "out.jsonl").read_text() == (tmp_path / "two.jsonl").read_text()


def test_a_run_goes_on_where_a_killed_one_stopped(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Everything is killed at once, and the stage with a memory goes on from the disk."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gated(tmp_path, 45)))
    result = run_through_gates(spec, job, tmp_path / "marks", {45: kill_all})
    assert result.error is not None and "SIGKILL" in result.error.what
    again = run(spec, msgspec.structs.replace(job, resume=True))
    assert again.error is None
    lines = lines_of(job)
    assert lines == undisturbed
    assert 0 < again.report.stages[0].frames < FRAMES
