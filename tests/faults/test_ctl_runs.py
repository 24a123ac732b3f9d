"""What a run's owner changes while it goes on: the frames behind it are worked on as told."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

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

from mpflow.control import Control, find
from mpflow.errors import ConfigError, Interrupted, MpflowError, Refused
from mpflow.requests import Hello, Preview, Request, Set, SetMode, Skip, Stop, Unskip
from mpflow.session import JobResult
from mpflow.spec import JobSpec, PipelineSpec

FRAMES = 120
GATE = 20


def live(name: str, **options: Any) -> dict[str, Any]:
    return {"stage": f"live_traps:{name}", "options": options}


def spec_of(folder: Path, *middle: dict[str, Any], **top: Any) -> PipelineSpec:
    """A file run that waits at a gate in front of its first stage."""
    gate = trap("Read", frames=FRAMES, habit="gate", at=[GATE], once=marks_in(folder))
    return pipeline_of(folder, gate, *middle, trap("Rows"), name=f"t-{uuid4().hex[:12]}", **top)


class Told:
    """A strike that asks these of the run, and keeps what it answers."""

    def __init__(self, spec: PipelineSpec, *requests: Request) -> None:
        self._spec, self._requests = spec, requests
        self.answers: list[str] = []

    def __call__(self, _: int) -> None:
        with Control(find(self._spec.name).path) as control:
            for request in self._requests:
                try:
                    self.answers.append(control.ask(request).text)
                except MpflowError as error:
                    self.answers.append(f"{type(error).__name__}: {error}")


class Later:
    """A request whose answer comes only when the run goes on."""

    def __init__(self, spec: PipelineSpec, request: Request) -> None:
        self._spec, self._request = spec, request
        self._asked = threading.Event()
        self._text = ""
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def begin(self, _: int) -> None:
        self._thread.start()
        assert self._asked.wait(20)

    def answer(self) -> str:
        self._thread.join(20)
        return self._text

    def _ask(self) -> None:
        with Control(find(self._spec.name).path) as control:
            self._asked.set()
            self._text = control.ask(self._request).text


def run_told(folder: Path, spec: PipelineSpec, *requests: Request) -> tuple[JobResult, list[str]]:
    """Run a job, with these requests while its source waits before frame GATE."""
    strike = Told(spec, *requests)
    result = run_through_gates(spec, job_in(folder), Path(marks_in(folder)), {GATE: strike})
    return result, strike.answers


def test_a_stage_that_is_left_out_leaves_frames_alone_and_each_is_named(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Paint"))
    result, answers = run_told(tmp_path, spec, Skip("paint"))
    assert answers == ["paint is left out from now on"]
    assert result.error is None
    painted = ["trap.paint" in line["fields"] for line in lines_of(job_in(tmp_path))]
    assert len(painted) == FRAMES
    assert all(painted[: GATE - 8]) and not any(painted[GATE:])
    ledger = result.report.ledger
    assert ledger is not None
    assert ledger.delivered == FRAMES
    assert ledger.degraded == painted.count(False)
    assert {row.reason for row in ledger.rows} == {"-paint"}


def test_a_stage_is_taken_in_again(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Paint"))
    result, answers = run_told(tmp_path, spec, Skip("paint"), Unskip("paint"))
    assert answers[1] == "paint works again"
    assert all("trap.paint" in line["fields"] for line in lines_of(job_in(tmp_path))[GATE:])
    assert result.report.ledger is not None


def test_single_frame_mode_can_be_asked_for_and_is_on_the_cards(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Paint", batch=8))
    result, answers = run_told(tmp_path, spec, SetMode("single"))
    assert answers == ["mode is single from now on"]
    assert result.error is None
    assert len(lines_of(job_in(tmp_path))) == FRAMES
    assert result.report.ledger is not None and not result.report.ledger.not_as_asked


def test_a_stop_ends_a_file_run_in_order(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Paint"))
    result, answers = run_told(tmp_path, spec, Stop())
    assert answers == ["the run ends in order"]
    assert isinstance(result.error, Interrupted)
    assert result.report.frames_written >= GATE


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Skip("blur"), "ConfigError: the run has no stage 'blur'"),
        (Skip("read"), "ConfigError: read cannot be left out: it reads the input"),
        (Set("paint.batch", "3"), "ConfigError: paint.batch cannot be changed while paint runs"),
        (Set("max_latency", "soon"), "ConfigError: max_latency: 'soon' is no number of seconds"),
        (Preview(""), "ConfigError: there is no name for the picture"),
    ],
    ids=["no stage", "an end", "not tunable", "no number", "no path"],
)
def test_what_cannot_be_is_refused_with_a_cure_and_harms_nothing(
    tmp_path: Path, request_: Request, says: str
) -> None:
    result, answers = run_told(tmp_path, spec_of(tmp_path, trap("Paint")), request_)
    assert answers[0].startswith(says)
    assert result.error is None
    assert result.report.ledger is not None and not result.report.ledger.not_as_asked


def test_a_private_run_never_leaves_out_what_hides_people(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Paint"), privacy=True)
    protecting = trap("Hide")
    spec = pipeline_of(
        tmp_path,
        trap("Read", frames=FRAMES, habit="gate", at=[GATE], once=marks_in(tmp_path)),
        trap("Paint"),
        protecting,
        trap("Rows"),
        name=spec.name,
    )
    assert spec.privacy
    _, answers = run_told(tmp_path, spec, Skip("hide"), Skip("paint"))
    assert answers[0].startswith(Refused.__name__)
    assert answers[1] == "paint is left out from now on"


def test_a_picture_of_the_output_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    """The stage behind waits at its gate while the picture is asked for."""
    path = tmp_path / "shot.png"
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=400, fps=200, habit="gate", at=[GATE], once=marks_in(tmp_path)),
        trap("Paint"),
        live("Screen"),
        name=f"t-{uuid4().hex[:12]}",
        live=True,
    )
    job = JobSpec("1", "camera", str(tmp_path / "screen.jsonl"), live=True, preview=str(path))
    strike = Later(spec, Preview(""))
    result = run_through_gates(spec, job, Path(marks_in(tmp_path)), {GATE: strike.begin})
    assert result.error is None
    assert strike.answer().endswith(str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_is_written_by_the_last_stage_that_replaces_the_one_which_was_asked(
    tmp_path: Path,
) -> None:
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=400, habit="gate", at=[GATE], once=marks_in(tmp_path)),
        trap("Paint"),
        live("Screen"),
        name=f"t-{uuid4().hex[:12]}",
        live=True,
        max_latency=60,
    )
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    asked = [Later(spec, Preview(str(path))) for path in paths]

    def strike(pid: int) -> None:
        (screen,) = worker_pids(pid, "screen")
        os.kill(screen, signal.SIGSTOP)  # it hears of the pictures, and writes none
        for each in asked:
            each.begin(pid)
        with Control(find(spec.name).path) as control:
            control.ask(Hello())  # once that is answered, most likely so are those before
        os.kill(screen, signal.SIGKILL)

    job = JobSpec("1", "camera", str(tmp_path / "screen.jsonl"), live=True)
    result = run_through_gates(spec, job, Path(marks_in(tmp_path)), {GATE: strike})
    assert result.error is None, result.error
    assert result.report.restarts == 1
    for path, each in zip(paths, asked, strict=True):
        assert each.answer().endswith(str(path))
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_ladder_that_this_pipeline_cannot_climb_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    spec = pipeline_of(tmp_path, trap("Read"), trap("Rows"), ladder=["skip enhance"])
    result = run_once(spec, job_in(tmp_path))
    assert isinstance(result.error, ConfigError)
    assert "enhance" in result.error.what


def test_a_stage_that_keeps_frames_back_gives_them_on_when_it_is_left_out(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, trap("Follow", ahead=3), trap("Paint"))
    result, answers = run_told(tmp_path, spec, Skip("follow"))
    assert answers == ["follow is left out from now on"]
    assert result.error is None
    assert [line["seq"] for line in lines_of(job_in(tmp_path))] == list(range(FRAMES))


def test_a_live_run_is_stopped_in_order_even_while_its_source_is_replaced(tmp_path: Path) -> None:
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=2000, fps=200, habit="gate", at=[GATE], once=marks_in(tmp_path)),
        trap("Paint"),
        live("Screen"),
        name=f"t-{uuid4().hex[:12]}",
        live=True,
    )
    job = JobSpec("1", "camera", str(tmp_path / "screen.jsonl"), live=True)

    def strike(pid: int) -> None:
        kill_workers(pid, "camera")
        with Control(find(spec.name).path) as control:
            assert control.ask(Stop()).text == "the run ends in order"

    result = run_through_gates(spec, job, Path(marks_in(tmp_path)), {GATE: strike})
    assert result.error is None
    assert result.report.frames_read < 2000
    assert result.report.ledger is not None
    assert result.report.ledger.frames == result.report.frames_read
