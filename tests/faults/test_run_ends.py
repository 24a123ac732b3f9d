"""Whatever dies, the run ends within seconds, says who and how, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import psutil
import pytest
from runs import family, foreign, job_in, lines_of, nothing_left, pipeline_of, run_once, worker_pids

from mpflow.errors import InternalError, Interrupted, StageDied, Terminated
from mpflow.session import JobResult, Session

PIPELINE = (
    foreign("Numbers", frames=400, delay_ms=2),
    foreign("Tint", workers=2),
    foreign("Tally"),
)


def test_an_undisturbed_run_delivers_every_frame_in_order(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    with nothing_left(tmp_path, but=["preset.yaml", "out.jsonl"]):
        spec = pipeline_of(
            tmp_path, foreign("Numbers", frames=60), foreign("Tint", workers=3), "Tally"
        )
        result = run_once(spec, job)
    assert result.error is None
    assert result.report.complete and result.report.frames_written == 60
    lines = lines_of(job)
    assert [line["seq"] for line in lines] == list(range(60))
    assert all(line["corner"] == line["seq"] + 100 for line in lines)
    assert all(line["body"] == line["seq"] for line in lines)
    assert all(line["fields"] == {"foreign.tint": 100} for line in lines)
    assert all(line["stages"] == ["numbers", "tint"] for line in lines)


@pytest.mark.parametrize(
    ("habit", "words", "signal_name", "exit_code"),
    [
        ("exit", "ended with exit code 7", None, 7),
        ("segfault", "ended by SIGSEGV", "SIGSEGV", None),
        ("kill", "ended by SIGKILL", "SIGKILL", None),
    ],
)
def test_a_worker_that_dies_is_named_with_its_end(
    tmp_path: Path, habit: str, words: str, signal_name: str | None, exit_code: int | None
) -> None:
    stages = (foreign("Numbers"), foreign("Tint", habit=habit, at=5), "Tally")
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        result = run_once(pipeline_of(tmp_path, *stages), job_in(tmp_path))
    assert isinstance(result.error, StageDied)
    assert words in result.error.what and "stage tint" in result.error.what
    assert "frame 5 cannot be worked on: 2 workers of tint died on it" in result.error.what
    assert result.error.facts["signal"] == signal_name
    assert result.error.facts["exit_code"] == exit_code
    assert result.error.exit_status == 1
    if habit == "segfault":
        assert "_misbehave" in result.error.remote_traceback


def test_an_exception_in_a_stage_ends_the_run_with_its_traceback(tmp_path: Path) -> None:
    stages = (foreign("Numbers"), foreign("Tint", habit="raise", at=5), "Tally")
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        result = run_once(pipeline_of(tmp_path, *stages), job_in(tmp_path))
    assert isinstance(result.error, InternalError)
    assert "stage tint failed: ValueError: a habit" in result.error.what
    assert "_misbehave" in result.error.remote_traceback


@pytest.mark.parametrize("where", ["source", "sink"])
def test_an_exception_at_either_end_ends_the_run(tmp_path: Path, where: str) -> None:
    source = foreign("Numbers", fail_at=9 if where == "source" else -1)
    sink = foreign("Tally", fail_at=9 if where == "sink" else -1)
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        result = run_once(pipeline_of(tmp_path, source, sink), job_in(tmp_path))
    assert result.error is not None and "failed" in result.error.what
    assert not result.report.complete
    assert result.report.frames_written == 9


def test_a_stage_that_cannot_start_stops_the_run_and_those_behind_it(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, "Numbers", foreign("Tint", habit="no-start"), "Tally")
    with nothing_left(tmp_path), Session() as session:
        session.open(spec)
        for name in ("one.jsonl", "two.jsonl"):
            result = session.run(job_in(tmp_path, name))
            assert result.error is not None
            assert "cannot start" in result.error.what


def test_a_stage_that_never_returns_is_named(tmp_path: Path) -> None:
    stages = (foreign("Numbers"), foreign("Tint", habit="hang", at=5), "Tally")
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        result = run_once(pipeline_of(tmp_path, *stages, stall=1.0), job_in(tmp_path))
    assert result.error is not None
    assert "no frame has moved for 1 s: stage tint (pid" in result.error.what


def test_a_source_that_ends_before_the_sink_has_begun_is_heard(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, foreign("Numbers", frames=3), foreign("Tally", begin_ms=500))
    result = run_once(spec, job_in(tmp_path))
    assert result.error is None
    assert result.report.frames_written == 3


def test_a_fault_of_the_supervisor_itself_ends_the_run(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=["preset.yaml"]):
        result = run_once(pipeline_of(tmp_path, "Broken", "Tint", "Tally"), job_in(tmp_path))
    assert result.error is not None and result.error.exit_status == 1
    assert "the supervisor failed" in result.error.what
    assert "ValidationError" in result.error.remote_traceback


def test_pictures_larger_than_any_ring_are_refused_with_the_figures(tmp_path: Path) -> None:
    result = run_once(pipeline_of(tmp_path, "Huge", "Tally"), job_in(tmp_path))
    assert result.error is not None and result.error.exit_status == 6
    assert "16777216x16777216" in result.error.what


def test_a_third_signal_ends_even_a_supervisor_that_is_stopped(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        session = Session()
        session.open(pipeline_of(tmp_path, *PIPELINE))
        os.kill(session.pid, signal.SIGSTOP)
        for _ in range(3):
            session.stop(signal.SIGINT)
        result = session.run(job_in(tmp_path))
        session.close()
    assert result.error is not None and "SIGKILL" in result.error.what


@pytest.mark.slow
def test_stopping_a_slow_pipeline_still_closes_the_file(tmp_path: Path) -> None:
    """The source has long read everything; what is in the ring would take far too long."""
    job, sessions = job_in(tmp_path), []

    def stop(message: dict) -> None:
        if message["kind"] == "progress" and len(sessions) == 1:
            sessions[0].stop(signal.SIGTERM)
            sessions.append(None)

    slow = (foreign("Numbers", frames=60), foreign("Tint", delay_ms=700), foreign("Tally"))
    with Session(stop) as session:
        sessions.append(session)
        session.open(pipeline_of(tmp_path, *slow, slots=60))
        result = session.run(job)
    assert isinstance(result.error, Terminated)
    written = Path(job.partial).read_text().splitlines()
    assert 0 < len(written) == result.report.frames_written < 60


def test_an_error_after_the_output_is_whole_is_a_warning(tmp_path: Path) -> None:
    stages = ("Numbers", foreign("Tint", habit="no-end"), "Tally")
    with Session() as session:
        session.open(pipeline_of(tmp_path, *stages))
        for name in ("a.jsonl", "b.jsonl"):
            result = session.run(job_in(tmp_path, name))
            assert result.error is None and result.report.complete
            assert "cannot end" in result.report.warnings[0]


def test_a_stage_that_never_flushes_is_named_at_once(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, "Numbers", foreign("Hoard", flushes=False), "Tally")
    result = run_once(spec, job_in(tmp_path))
    assert result.error is not None
    assert "stage hoard holds 3 frames, and flush gave none" in result.error.what


def test_an_input_that_never_answers_is_named(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=["preset.yaml"]):
        spec = pipeline_of(tmp_path, "Numbers", "Tally", stall=1.0)
        result = run_once(spec, job_in(tmp_path, source="silent"))
    assert result.error is not None
    assert "stage numbers has not answered" in result.error.what


@pytest.mark.parametrize("target", ["numbers", "tint", "tally"])
def test_a_stopped_worker_does_not_hang_the_run(tmp_path: Path, target: str) -> None:
    stopped: list[int] = []

    def stop_one(message: dict) -> None:
        if message["kind"] == "progress" and not stopped:
            stopped.extend(worker_pids(sessions[0].pid, target))
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)

    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        sessions = [Session(stop_one)]
        with sessions[0] as session:
            session.open(pipeline_of(tmp_path, *PIPELINE, stall=1.0))
            result = session.run(job_in(tmp_path))
    assert stopped
    assert result.error is not None
    assert f"stage {target}" in result.error.what and "holds the pipeline up" in result.error.what


def test_a_plane_kept_beyond_its_lease_names_the_stage(tmp_path: Path) -> None:
    result = run_once(pipeline_of(tmp_path, "Numbers", "Cling", "Tally"), job_in(tmp_path))
    assert result.error is not None
    assert "stage cling still holds pixels of frame 0" in result.error.what


def test_a_crowd_of_overlapping_boxes_fits_the_journal(tmp_path: Path) -> None:
    result = run_once(pipeline_of(tmp_path, "Numbers", "Crowd", "Tally"), job_in(tmp_path))
    assert result.error is None


def test_a_stage_that_edits_without_declaring_it_is_named(tmp_path: Path) -> None:
    result = run_once(pipeline_of(tmp_path, "Numbers", "Meddle", "Tally"), job_in(tmp_path))
    assert result.error is not None
    assert "may not change pixels" in str(result.error)
    assert result.error.facts["stage"] == "meddle"


def test_a_stage_that_holds_more_than_it_declares_is_named(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, "Numbers", foreign("Hoard", keep=4, declare=2), "Tally")
    result = run_once(spec, job_in(tmp_path))
    assert result.error is not None
    assert "stage hoard keeps 3 frames but declares holds = 2" in result.error.what


def test_a_ring_at_exactly_its_minimum_runs_and_below_it_is_refused(tmp_path: Path) -> None:
    stages = (foreign("Numbers", frames=50), foreign("Hoard", keep=3, declare=3), "Tally")
    job = job_in(tmp_path)
    result = run_once(pipeline_of(tmp_path, *stages, slots=4), job)
    assert result.error is None
    assert [line["seq"] for line in lines_of(job)] == list(range(50))
    refused = run_once(pipeline_of(tmp_path, *stages, slots=3), job_in(tmp_path, "no.jsonl"))
    assert refused.error is not None
    assert refused.error.exit_status == 6


def test_a_failed_input_stops_neither_the_others_nor_the_workers(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    spec = pipeline_of(tmp_path, "Numbers", foreign("Tint", pid_file=str(pid_file)), "Tally")
    pids = []
    with Session() as session:
        session.open(spec)
        for name, source in (("a.jsonl", "good"), ("b.jsonl", "bad"), ("c.jsonl", "good")):
            result = session.run(job_in(tmp_path, name, source))
            assert (result.error is None) == (source == "good")
            pids.append(pid_file.read_text())
    assert len(set(pids)) == 1
    assert result.report.complete


def test_workers_are_replaced_for_the_next_input_after_a_death(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, "Numbers", foreign("Tint", habit="kill", at=15), "Tally")
    with Session() as session:
        session.open(spec)
        first = session.run(job_in(tmp_path, "a.jsonl"))
        second = session.run(job_in(tmp_path, "b.jsonl", "bad"))
    assert isinstance(first.error, StageDied)
    assert second.error is not None and "is bad" in second.error.what


def _run_and_strike(
    tmp_path: Path, seed: int, target: str, number: int
) -> tuple[JobResult, Session]:
    """Run a job and send a signal to one of its processes after a random time.

    A worker that is not there yet is waited for, so that every round strikes, unless the job
    is over first.
    """
    session, over = Session(), threading.Event()
    with session:
        session.open(pipeline_of(tmp_path, *PIPELINE))

        def strike() -> None:
            pids = [session.pid] if target == "supervisor" else []
            while not pids and not over.wait(0.01):
                pids = worker_pids(session.pid, target)
            for pid in pids[:1]:
                os.kill(pid, number)

        timer = threading.Timer(random.Random(seed).uniform(0.0, 1.6), strike)
        timer.start()
        result = session.run(job_in(tmp_path))
        over.set()
        timer.join()
    return result, session


@pytest.mark.slow
@pytest.mark.parametrize("target", ["numbers", "tint", "tally", "supervisor"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("seed", range(4))
def test_a_signal_at_a_random_moment_never_hangs_and_leaves_nothing(
    tmp_path: Path, target: str, number: signal.Signals, seed: int
) -> None:
    files = ["preset.yaml", "out.jsonl", "out.partial.jsonl"]
    with nothing_left(tmp_path, but=files):
        result, session = _run_and_strike(tmp_path, seed, target, number)
    assert not family(session.pid)
    if result.error is None:
        assert result.report.complete and result.report.frames_written == 400
        assert Path(job_in(tmp_path).output).exists()
        return
    assert not Path(job_in(tmp_path).output).exists()
    if target != "supervisor":
        assert number != signal.SIGINT, "workers leave Ctrl-C to the supervisor"
        assert isinstance(result.error, StageDied)
        assert result.error.facts["signal"] == number.name
    elif number == signal.SIGINT:
        assert isinstance(result.error, Interrupted) and result.error.exit_status == 130
    elif number == signal.SIGTERM:
        assert isinstance(result.error, Terminated) and result.error.exit_status == 143
    else:
        assert "SIGKILL" in result.error.what


def test_stopping_writes_what_is_in_the_ring_and_closes_the_file(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    sessions: list[Session] = []
    stopped: list[bool] = []

    def stop_at_first_progress(message: dict) -> None:
        if message["kind"] == "progress" and not stopped:
            stopped.append(True)  # a second stop would be an end at once
            sessions[0].stop(signal.SIGTERM)

    with Session(stop_at_first_progress) as session:
        sessions.append(session)
        session.open(pipeline_of(tmp_path, *PIPELINE))
        result = session.run(job)
    assert isinstance(result.error, Terminated)
    partial = Path(job.partial).read_text().splitlines()
    assert 0 < len(partial) == result.report.frames_written < 400
    assert result.report.playable and not Path(job.output).exists()


def test_a_supervisor_killed_takes_its_workers_with_it(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        session = Session()
        session.open(pipeline_of(tmp_path, *PIPELINE))
        session.start(job_in(tmp_path))
        while (received := session.channel.receive()) is not None:
            if received[0]["kind"] == "progress":
                break
        workers = [p for p in family(session.pid) if p.name().startswith("mpf:")]
        assert len(workers) == 4
        os.kill(session.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive
        session.close()
