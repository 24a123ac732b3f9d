"""What is said of an output that was not finished, and what --strict makes of a job that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from clips import make

from mpflow.errors import Degraded, Interrupted
from mpflow.jobs.settle import settle
from mpflow.report import Report
from mpflow.session import JobResult
from mpflow.spec import JobSpec


def settled(*, strict: bool = True, **facts: int | None) -> JobResult:
    report = Report(job="1", input="in.mkv", output="out.mkv", complete=True, **facts)
    return settle(JobSpec("1", "in.mkv", "out.mkv"), JobResult(report, None), strict=strict)


@pytest.mark.parametrize(
    ("read", "expected", "damaged", "named"),
    [
        (40, 40, 2, "2 damaged"),
        (27, 40, 0, "27 of 40 frames"),
        (27, 40, 3, "27 of 40 frames"),
    ],
)
def test_strict_makes_an_error_of_lost_frames(
    read: int, expected: int, damaged: int, named: str
) -> None:
    facts = {"frames_read": read, "frames_expected": expected, "damaged": damaged}
    result = settled(**facts)
    assert isinstance(result.error, Degraded)
    assert named in str(result.error)
    assert settled(strict=False, **facts).error is None


@pytest.mark.parametrize("expected", [None, 40, 39])
def test_strict_says_nothing_of_a_whole_file(expected: int | None) -> None:
    assert settled(frames_read=40, frames_expected=expected).error is None


def stopped(partial: Path) -> JobResult:
    job = JobSpec("1", "in.mkv", str(partial.with_name("out")), str(partial))
    return settle(job, JobResult(Report("1", "in.mkv"), Interrupted("stopped by SIGINT")))


def test_lines_that_were_not_finished_are_counted_and_not_called_playable(tmp_path: Path) -> None:
    partial = tmp_path / "out.partial.jsonl"
    partial.write_text('{"frame": 0}\n{"frame": 1}\n{"fra')
    result = stopped(partial)
    assert result.error is not None
    assert result.error.cure == f"{str(partial)!r} has the first 2 frames"
    assert (result.report.partial, result.report.playable) == (str(partial), False)


def test_a_video_that_was_not_finished_is_called_playable(tmp_path: Path) -> None:
    result = stopped(make(tmp_path / "out.partial.mkv"))
    assert result.error is not None
    assert result.error.cure.endswith("has the first 30 frames and is playable")
    assert result.report.playable
