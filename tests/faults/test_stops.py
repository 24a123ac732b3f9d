"""Signals that kill the supervisor, and signals that stop a process for a while.

Stops that last longer than a stage's limit are in test_hangs.py too, kills of the whole group one
after another in test_pains_shm.py, signals at random moments in test_run_ends.py.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import psutil
import pytest
from runs import (
    GONE_S,
    Ear,
    family,
    fork_servers,
    job_in,
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

from mpflow.errors import InternalError, Interrupted, Terminated
from mpflow.session import Session

FRAMES = 40
LEFT = ["preset.yaml", "out.jsonl", "out.partial.jsonl", "out.jsonl.parts", "marks"]


def stages(limit: float = 0, **traps: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        trap("Read", frames=FRAMES, limit=limit, **traps.get("read", {})),
        trap("Paint", limit=limit, **traps.get("paint", {})),
        trap("Rows", limit=limit, **traps.get("rows", {})),
    ]


def gate(folder: Path, *at: int) -> dict[str, Any]:
    return {"habit": "gate", "at": list(at), "once": marks_in(folder)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_in(folder)
    assert run_once(pipeline_of(folder, *stages()), job).error is None
    return lines_of(job)


@pytest.fixture
def others() -> Iterator[shared_memory.SharedMemory]:
    """Shared memory of another program."""
    segment = shared_memory.SharedMemory(f"other-{os.getpid()}", create=True, size=4096)
    segment.buf[:5] = b"whole"
    yield segment
    segment.close()
    segment.unlink()


def has_ended(pidfd: int) -> bool:
    """Wait for the end of a process, whether or not anybody asks how it ended."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    ended = bool(poll.poll(GONE_S * 1000))
    os.close(pidfd)
    return ended


KILLING = ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGQUIT", "SIGUSR1", "SIGALRM"]
"""Those that nobody handles; each stands for the others that dump core, or do not."""


@pytest.mark.parametrize("name", KILLING)
def test_a_supervisor_that_dies_takes_its_workers_and_leaves_others_memory_alone(
    tmp_path: Path, others: shared_memory.SharedMemory, name: str
) -> None:
    """The source waits at a gate, the others for frames; nobody is told anything."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gate(tmp_path, 20)))
    ended: list[bool] = []

    def strike(pid: int) -> None:
        children = [os.pidfd_open(process.pid) for process in family(pid)[1:]]
        os.kill(pid, signal.Signals[name])
        ended.extend(has_ended(child) for child in children)

    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(spec, job, tmp_path / "marks", {20: strike})
    assert len(ended) >= 4 and all(ended)
    assert isinstance(result.error, InternalError)
    assert f"ended by {name}" in result.error.what
    assert bytes(others.buf[:5]) == b"whole"


@pytest.mark.parametrize(
    ("name", "kind"), [("SIGTERM", Terminated), ("SIGHUP", Terminated), ("SIGINT", Interrupted)]
)
def test_a_supervisor_that_is_asked_to_leave_ends_the_run_in_order(
    tmp_path: Path, others: shared_memory.SharedMemory, name: str, kind: type
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gate(tmp_path, 20)))
    with nothing_left(tmp_path, but=LEFT):
        result = run_through_gates(
            spec, job, tmp_path / "marks", {20: lambda pid: os.kill(pid, signal.Signals[name])}
        )
    assert isinstance(result.error, kind)
    assert 20 <= result.report.frames_written < FRAMES
    assert bytes(others.buf[:5]) == b"whole"


def stay_for(pid: int, seconds: float) -> None:
    """Let time pass in which a process is still there."""
    with pytest.raises(psutil.TimeoutExpired):
        psutil.Process(pid).wait(seconds)


def stop_for(seconds: float, *pids: int) -> None:
    """Stop processes and let them go on."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    stay_for(pids[0], seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_a_worker_stopped_for_less_than_its_limit_goes_on(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Once while it waits for a frame, once in the middle of one."""
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        *stages(limit=30, read=gate(tmp_path, 10), paint={**gate(tmp_path, 20), "between": 1}),
    )
    strikes = {
        10: lambda pid: stop_for(0.5, *worker_pids(pid, "paint"), *worker_pids(pid, "rows")),
        20: lambda pid: stop_for(0.5, *worker_pids(pid, "paint")),
    }
    result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert result.report.restarts == 0
    assert lines_of(job) == undisturbed


def test_a_worker_stopped_while_it_waited_is_replaced_when_there_is_work_for_it(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """As long as nothing is to be done nobody minds; later it is missed."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(limit=0.4, read=gate(tmp_path, 20)))
    stopped: list[int] = []
    ear = Ear()

    def strike(pid: int) -> None:
        ear.wait_for_frames(20)
        stopped.extend(worker_pids(pid, "paint"))
        os.kill(stopped[0], signal.SIGSTOP)

    with Session(ear) as session:
        session.open(spec)
        result = pass_gates(session, job, tmp_path / "marks", {20: strike})
    assert not psutil.pid_exists(stopped[0])
    assert result.error is None
    assert result.report.restarts >= 1
    assert lines_of(job) == undisturbed
    (paint,) = [worker for worker in result.report.workers if worker.label == "paint"]
    assert any("waiting and has shown no sign of life" in move.reason for move in paint.moves)


def with_the_lock(folder: Path) -> dict[str, Any]:
    """A painter that waits at a gate right after it took the ring's lock."""
    return {"habit": "gate", "step": "L1", "nth": 15, "once": marks_in(folder)}


def test_a_worker_that_keeps_the_lock_for_a_while_is_waited_for(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(limit=30, paint=with_the_lock(tmp_path)))

    def strike(pid: int) -> None:
        stop_for(0.5, *worker_pids(pid, "paint"))

    result = run_through_gates(spec, job, tmp_path / "marks", {"L1": strike})
    assert result.error is None
    assert result.report.restarts == 0
    assert lines_of(job) == undisturbed


@pytest.mark.parametrize("dead", ["read", "rows"])
def test_a_death_while_another_worker_is_stopped_with_the_lock_is_recovered(
    tmp_path: Path, undisturbed: list[dict[str, Any]], dead: str
) -> None:
    """The supervisor never waits for the lock: it kills whoever keeps it from its work."""
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(limit=30, paint=with_the_lock(tmp_path)))

    def strike(pid: int) -> None:
        (holder,), (victim,) = worker_pids(pid, "paint"), worker_pids(pid, dead)
        os.kill(holder, signal.SIGSTOP)
        os.kill(victim, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(holder)], timeout=GONE_S)

    result = run_through_gates(spec, job, tmp_path / "marks", {"L1": strike})
    assert result.error is None
    assert result.report.restarts == 2
    assert lines_of(job) == undisturbed
    reasons = [move.reason for worker in result.report.workers for move in worker.moves]
    assert any("kept the ring's lock while it was needed" in reason for reason in reasons)


def test_a_worker_is_replaced_though_the_fork_server_is_stopped(
    tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(read=gate(tmp_path, 20)))

    def strike(pid: int) -> None:
        (server,), (painter,) = fork_servers(pid), worker_pids(pid, "paint")
        os.kill(server, signal.SIGSTOP)
        os.kill(painter, signal.SIGKILL)

    result = run_through_gates(spec, job, tmp_path / "marks", {20: strike})
    assert result.error is None
    assert result.report.restarts == 1
    assert lines_of(job) == undisturbed
