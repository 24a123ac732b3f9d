"""Nothing hangs in silence: who shows no life is named, killed and replaced, unless it builds."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from runs import (
    job_in,
    kill_workers,
    lines_of,
    marks_in,
    pipeline_of,
    run_once,
    run_through_gates,
    trap,
    worker_pids,
)

FRAMES = 40


def stages(limit: float = 0.3, **traps: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        trap("Read", frames=FRAMES, limit=limit, **traps.get("read", {})),
        trap("Paint", limit=limit, **traps.get("paint", {})),
        trap("Rows", limit=limit, **traps.get("rows", {})),
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_in(folder)
    assert run_once(pipeline_of(folder, *stages(limit=0)), job).error is None
    return lines_of(job)


@pytest.mark.parametrize("who", ["read", "paint", "rows"])
@pytest.mark.parametrize("habit", ["hang", "stop"])
def test_a_worker_that_shows_no_life_is_replaced(
    tmp_path: Path, undisturbed: list[dict[str, Any]], who: str, habit: str
) -> None:
    job = job_in(tmp_path)
    traps = {who: {"habit": habit, "at": [5], "once": marks_in(tmp_path)}}
    result = run_once(pipeline_of(tmp_path, *stages(**traps)), job)
    assert result.error is None
    assert result.report.restarts == 1
    assert lines_of(job) == undisturbed
    (reason,) = [
        move.reason
        for worker in result.report.workers
        for move in worker.moves
        if move.state == "backoff"
    ]
    assert f"stage {who} (pid" in reason and "no sign of life" in reason


def test_a_worker_that_says_it_builds_is_left_alone(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """It takes longer than its limit over frame 5, with a word."""
    job = job_in(tmp_path)
    gate = {"habit": "gate", "at": [5], "once": marks_in(tmp_path), "building": True}

    def wait_past_the_limit(pid: int) -> None:
        (worker,) = worker_pids(pid, "paint")
        with pytest.raises(psutil.TimeoutExpired):
            psutil.Process(worker).wait(1.0)

    spec = pipeline_of(tmp_path, *stages(paint=gate))
    result = run_through_gates(spec, job, tmp_path / "marks", {5: wait_past_the_limit})
    assert result.error is None
    assert result.report.restarts == 0
    (paint,) = [worker for worker in result.report.workers if worker.label == "paint"]
    assert "building" in [move.state for move in paint.moves]
    assert lines_of(job) == undisturbed


def test_a_stage_that_always_hangs_on_the_last_frame_gives_it_up(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path, *stages(paint={"habit": "hang", "at": [FRAMES - 1]}), on_failure="mask"
    )
    result = run_once(spec, job)
    assert result.error is None
    states = [line["state"] for line in lines_of(job)]
    assert states == ["live"] * (FRAMES - 1) + ["masked"]


def test_a_worker_that_is_stopped_with_the_lock_is_killed_and_nobody_else(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """It stops itself right after it took the lock: all others wait for it."""
    job = job_in(tmp_path)
    paint = {"habit": "stop", "step": "L1", "nth": 9, "once": marks_in(tmp_path)}
    result = run_once(pipeline_of(tmp_path, *stages(limit=60, paint=paint)), job)
    assert result.error is None
    assert result.report.restarts == 1
    assert lines_of(job) == undisturbed
    (paint_history,) = [w for w in result.report.workers if w.label == "paint"]
    (reason,) = [move.reason for move in paint_history.moves if move.state == "backoff"]
    assert "kept the ring's lock" in reason


@pytest.mark.parametrize("who", ["supervisor", "all"])
def test_a_stop_of_the_supervisor_or_of_everybody_is_nobodys_fault(
    tmp_path: Path, undisturbed: list[dict[str, Any]], who: str
) -> None:
    job = job_in(tmp_path)
    gate = {"habit": "gate", "at": [20], "once": marks_in(tmp_path)}

    def stop_and_go_on(pid: int) -> None:
        others = partial(kill_workers, pid)
        os.kill(pid, signal.SIGSTOP)
        if who == "all":
            others(number=signal.SIGSTOP)
        with pytest.raises(psutil.TimeoutExpired):
            psutil.Process(pid).wait(4.0)
        if who == "all":
            others(number=signal.SIGCONT)
        os.kill(pid, signal.SIGCONT)

    spec = pipeline_of(tmp_path, *stages(limit=3.5, read=gate))
    result = run_through_gates(spec, job, tmp_path / "marks", {20: stop_and_go_on})
    assert result.error is None
    assert result.report.restarts == 0
    assert lines_of(job) == undisturbed
