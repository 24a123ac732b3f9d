"""Whatever happens outside of the work on a frame: at the end, at a new start, in a long memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from runs import job_in, lines_of, marks_in, nothing_left, pipeline_of, run_once, trap

import mpflow
from mpflow.errors import InternalError

FRAMES = 30
LEFT = ["preset.yaml", "out.jsonl", "out.jsonl.parts", "marks"]


def stages(*middle: dict[str, Any], frames: int = FRAMES) -> list[dict[str, Any]]:
    return [trap("Read", frames=frames), *middle, trap("Rows")]


def whole(lines: list[dict[str, Any]], frames: int = FRAMES) -> bool:
    return [line["seq"] for line in lines] == list(range(frames))


def test_a_worker_that_hangs_when_everybody_leaves_does_not_hold_the_job_up(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path, *stages(trap("Linger", habit="hang-at-the-end", once=marks_in(tmp_path))), stall=1
    )
    with nothing_left(tmp_path, but=LEFT):
        result = run_once(spec, job)
    assert result.error is None and result.report.complete
    assert whole(lines_of(job))
    assert result.report.warnings == ("stage linger did not come to its end and was killed",)


def test_a_successor_that_is_ready_while_the_others_leave_does_not_join(tmp_path: Path) -> None:
    marks = marks_in(tmp_path)
    os.mkfifo(tmp_path / "marks" / "gate-open")
    job = job_in(tmp_path)
    linger = trap("Linger", workers=2, habit="slow-again", at=[FRAMES - 2], once=marks)
    spec = pipeline_of(tmp_path, *stages(linger, trap("Depart", once=marks)))
    with nothing_left(tmp_path, but=LEFT):
        result = run_once(spec, job)
    assert result.error is None and result.report.complete
    assert result.report.restarts == 1
    assert whole(lines_of(job))


@pytest.mark.parametrize("habit", ["sys-exit", "no-start-again"])
def test_a_worker_that_leaves_or_does_not_start_again_at_once_is_replaced(
    tmp_path: Path, habit: str
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path, *stages(trap("Linger", habit=habit, at=[7], once=marks_in(tmp_path)))
    )
    with nothing_left(tmp_path, but=LEFT):
        result = run_once(spec, job)
    assert result.error is None
    assert result.report.restarts == (1 if habit == "sys-exit" else 2)
    assert whole(lines_of(job))


def test_a_flush_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(trap("Flush", ahead=3, once=marks_in(tmp_path))))
    result = run_once(spec, job)
    assert result.error is None and result.report.restarts == 0
    assert whole(lines_of(job))


def test_a_flush_that_always_fails_gives_up_what_is_held_back(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    flush = trap("Flush", ahead=3, habit="always")
    result = run_once(pipeline_of(tmp_path, *stages(flush), on_failure="mask"), job)
    assert result.error is None
    assert [line["state"] for line in lines_of(job)] == ["live"] * 27 + ["masked"] * 3
    spec = pipeline_of(tmp_path, *stages(flush), retries=0)
    result = run_once(spec, job_in(tmp_path, "failed.jsonl"))
    assert isinstance(result.error, InternalError) and "cannot flush" in result.error.what


def test_a_long_memory_is_no_hang(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    slow = trap("SlowRecall", habit="kill", at=[20], once=marks_in(tmp_path), limit=0.5)
    result = run_once(pipeline_of(tmp_path, *stages(slow)), job)
    assert result.error is None
    assert result.report.restarts == 1
    assert whole(lines_of(job))


def test_deaths_far_apart_are_no_storm_for_a_caller_who_takes_the_frames(tmp_path: Path) -> None:
    at = [100, 500, 900, 1300, 1700, 2100]
    middle = trap("Paint", habit="kill", at=at, once=marks_in(tmp_path))
    preset = tmp_path / "caller.yaml"
    preset.write_text(yaml.safe_dump({"stages": stages(middle, frames=2200)}))
    with mpflow.Pipeline(mpflow.RunSpec("numbers", preset=str(preset))) as pipeline:
        assert [token.seq for token, _ in pipeline] == list(range(2200))
    assert pipeline.report is not None and pipeline.report.restarts == len(at)


@pytest.mark.parametrize("deaths", [0, 1])
def test_a_file_that_takes_long_to_close_is_no_stall_for_a_run_that_went_on(
    tmp_path: Path, deaths: int
) -> None:
    """The sink has counted fewer frames than there are, or more, after it was replaced."""
    job = job_in(tmp_path)
    cut = [trap("Read", frames=FRAMES), trap("Rows", habit="raise", at=[15])]
    assert run_once(pipeline_of(tmp_path, *cut), job).error is not None
    sink = trap("SlowClose", habit="kill", at=[25] * deaths, once=marks_in(tmp_path))
    spec = pipeline_of(tmp_path, trap("Read", frames=FRAMES), sink, stall=0.5)
    result = run_once(spec, msgspec.structs.replace(job, resume=True))
    assert result.error is None and result.report.restarts == deaths
    assert whole(lines_of(job))
