"""What hurts users when a worker dies or hangs, each fault by its small reproduction.

Here are queues, restarts, locks, hangs and orphans. A death within every single store is in
test_every_step.py, stopped processes are in test_stops.py and test_hangs.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from clips import Clip, make, planes
from commands import LIMIT_S, command_line, environment
from runs import (
    GONE_S,
    Ear,
    family,
    job_in,
    kill_workers,
    lines_of,
    marks_in,
    nothing_left,
    pass_gates,
    pipeline_of,
    run_once,
    run_through_gates,
    trap,
)

from mpflow.errors import StageDied
from mpflow.models.store import ModelStore
from mpflow.session import Session

FRAMES = 40

# A worker killed while it is blocked on its input leaves the queue dead.

WAITING = {8: "encode", 14: "redact", 20: "detect", 26: "decode"}


def test_a_stage_killed_while_it_waits_leaves_no_queue_dead(
    model_store: ModelStore, tmp_path: Path
) -> None:
    """At each gate everybody waits: those behind it for a frame, the source for a slot."""
    model_store.path("yunet")
    clip = make(tmp_path / "clip.mp4")
    gates = {"habit": "gate", "at": list(WAITING), "once": marks_in(tmp_path)}
    stages: list[dict[str, Any]] = [
        {"stage": "decode"},
        trap("Paint", **gates),
        {"stage": "detect", "options": {"device": "cpu"}},
        {"stage": "redact"},
        {"stage": "encode", "options": {"codec": "ffv1"}},
    ]
    plain = [stage for stage in stages if "trap" not in stage["stage"]]
    plain.insert(1, trap("Paint"))
    calm = job_in(tmp_path, "calm.mkv", str(clip))
    assert run_once(pipeline_of(tmp_path, *plain), calm).error is None
    job, ear = job_in(tmp_path, "out.mkv", str(clip)), Ear()

    def strike(pid: int, *, frame: int, name: str) -> None:
        ear.wait_for_frames(frame)
        kill_workers(pid, name)

    strikes = {at: partial(strike, frame=at, name=name) for at, name in WAITING.items()}
    with Session(ear) as session:
        session.open(pipeline_of(tmp_path, *stages, slots=4))
        result = pass_gates(session, job, tmp_path / "marks", strikes)
    assert result.error is None
    assert result.report.restarts == len(WAITING)
    assert result.report.frames_written == 30
    same = [
        all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(planes(Path(job.output)), planes(Path(calm.output)), strict=True)
    ]
    assert same == [True] * 30


# Throughput collapses in silence after a restarted detector.


def test_a_restarted_worker_takes_its_share_of_the_frames_again(tmp_path: Path) -> None:
    """Both workers of a stage are killed; later each holds a frame while the other does.

    How fast that is again is measured in bench/bench_recovery.py.
    """
    marks = marks_in(tmp_path)
    read = trap("Read", frames=FRAMES, habit="gate", at=[10], once=marks)
    paint = trap("Paint", workers=2, habit="gate", at=[30, 31], once=marks)
    job, met = job_in(tmp_path), []

    def meet(pid: int) -> None:
        """One worker is here, at frame 30; the other one comes to 31 meanwhile."""
        with (tmp_path / "marks" / "gate-31").open("wb"):
            met.append(pid)

    os.mkfifo(tmp_path / "marks" / "gate-31")
    strikes = {10: partial(kill_workers, name="paint"), 30: meet}
    spec = pipeline_of(tmp_path, read, paint, trap("Rows"))
    result = run_through_gates(spec, job, tmp_path / "marks", strikes)
    assert result.error is None and met
    assert result.report.restarts == 2
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))


# A worker dies while it holds a lock, and the others hang.

WITH_THE_LOCK = {
    "read": {"step": "P2", "nth": 9},
    "paint": {"step": "T1", "nth": 15},
    "follow": {"step": "G2", "nth": 21},
    "rows": {"step": "F1", "nth": 27},
}


def test_workers_that_die_within_acquire_publish_and_release_hang_nobody(tmp_path: Path) -> None:
    stages = [trap("Read", frames=FRAMES), trap("Paint"), trap("Follow"), trap("Rows")]
    calm, job = job_in(tmp_path, "calm.jsonl"), job_in(tmp_path, source=json.dumps(WITH_THE_LOCK))
    with Session() as session:
        session.open(pipeline_of(tmp_path, *stages))
        assert session.run(calm).error is None
        result = session.run(job)
    assert result.error is None
    assert result.report.restarts == len(WITH_THE_LOCK) and result.report.leases_left == 0
    assert lines_of(job) == lines_of(calm)


# Stuck at 1 % or 99 % while nothing is computed.


def hanging(policy: str, folder: Path) -> Any:
    """A stage never returns from frame 5, nor from the last one."""
    paint = trap("Paint", habit="hang", at=[5, FRAMES - 1], limit=0.3)
    stages = [trap("Read", frames=FRAMES), paint, trap("Rows")]
    return pipeline_of(folder, *stages, on_failure=policy)


@pytest.mark.parametrize(
    ("policy", "state", "counted"),
    [("mask", "masked", "masked"), ("pass", "passed", "passed"), ("skip", None, "dropped")],
)
def test_a_stage_that_never_returns_is_named_and_replaced_and_the_run_ends(
    tmp_path: Path, policy: str, state: str | None, counted: str
) -> None:
    job = job_in(tmp_path)
    result = run_once(hanging(policy, tmp_path), job)
    assert result.error is None
    states = {line["seq"]: line["state"] for line in lines_of(job)}
    told = dict.fromkeys(range(FRAMES), "live") | {5: state, FRAMES - 1: state}
    assert states == {seq: state for seq, state in told.items() if state}
    ledger = result.report.ledger
    assert ledger is not None and getattr(ledger, counted) == 2
    assert [(row.frame, row.stage) for row in ledger.rows] == [(5, "paint"), (39, "paint")]
    (paint,) = [worker for worker in result.report.workers if worker.label == "paint"]
    reasons = [move.reason for move in paint.moves if move.state == "backoff"]
    assert len(reasons) == 4, "each frame twice: in its turn, and alone"
    assert all("stage paint (pid" in why and "no sign of life" in why for why in reasons)


def test_a_stage_that_never_returns_ends_a_run_that_may_give_up_no_frame(tmp_path: Path) -> None:
    result = run_once(hanging("fail", tmp_path), job_in(tmp_path))
    assert isinstance(result.error, StageDied) and result.error.exit_status
    assert "frame 5 cannot be worked on: 2 workers of paint died on it" in result.error.what
    assert "no sign of life" in result.error.what


# Ctrl-C or a killed parent leaves children.


SLOW = """
stages: [{stage: decode}, {stage: 'foreign_stages:Tint', options: {delay_ms: 5}}, {stage: encode}]
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_parent_that_is_interrupted_or_killed_leaves_no_child(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "slow.yaml").write_text(SLOW)
    make(tmp_path / "clip.mp4", Clip(pts=range(400)))
    words = ("run", "clip.mp4", "-o", "out.mp4", "--preset", "slow.yaml", "--json")
    left = ["out.partial.mp4", "out.mp4.parts"]
    with nothing_left(tmp_path, but=left):
        run = subprocess.Popen(
            command_line(*words),
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert run.stdout is not None
        for line in run.stdout:
            if json.loads(line).get("frame", 0) > 50:
                break
        children = family(run.pid)[1:]
        assert len(children) >= 4
        run.send_signal(number)
        run.communicate(timeout=LIMIT_S)
        _, alive = psutil.wait_procs(children, timeout=GONE_S)
        assert not alive
    assert run.returncode == (-9 if number == signal.SIGKILL else 128 + number)
