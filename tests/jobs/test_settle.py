"""What is said of an output that was not finished, and what --strict makes of a job that is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from clips import make

from mpflow.accounts import LedgerSummary, LostFrame
from mpflow.errors import (
    Degraded,
    Interrupted,
    MpflowError,
    NoFrameLeft,
    OutputError,
    Refused,
    ResourceError,
)
from mpflow.jobs.settle import settle
from mpflow.media.chunks import Chunk
from mpflow.report import Report, StageReport
from mpflow.session import JobResult
from mpflow.spec import JobSpec, parts_name


def settled(*, strict: bool = True, **facts: Any) -> JobResult:
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
    assert result.error.cure == (
        f"{str(partial)!r} has the first 2 frames;"
        " 2 frames are finished, and --resume goes on with them"
    )
    assert (result.report.partial, result.report.playable) == (str(partial), False)


def test_a_video_that_was_not_finished_is_called_playable(tmp_path: Path) -> None:
    result = stopped(make(tmp_path / "out.partial.mkv"))
    assert result.error is not None
    assert result.error.cure.endswith("has the first 30 frames and is playable")
    assert result.report.playable


def with_ledger(**counts: int) -> JobResult:
    rows = tuple(
        LostFrame(12 + number, None, "masked", "detect", "ValueError: a habit")
        for number in range(sum(counts.values()))
    )
    ledger = LedgerSummary(frames=40, delivered=40 - len(rows), rows=rows[:8], **counts)
    return settled(frames_read=40, frames_expected=40, ledger=ledger)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"masked": 1}, r"1 frame masked of 'in\.mkv' \(frame 12; the first: ValueError: a habit"),
        ({"dropped": 2}, r"2 frames dropped of 'in\.mkv' \(frames 12, 13; the first"),
        (
            {"masked": 8, "passed": 3, "dropped": 1},
            r"8 frames masked, 3 passed, 1 dropped .*\(frames 12, 13, 14, 15, 16 and more; the",
        ),
    ],
)
def test_strict_names_the_frames_that_were_not_delivered_as_asked(
    counts: dict[str, int], said: str
) -> None:
    error = with_ledger(**counts).error
    assert isinstance(error, Degraded)
    assert re.search(said, error.what), error.what


def test_strict_says_nothing_when_the_ledger_has_every_frame_as_asked() -> None:
    assert with_ledger().error is None


def test_frames_of_an_earlier_run_count_for_one_that_went_on_with_it() -> None:
    whole = LedgerSummary(frames=40, delivered=40)
    assert settled(frames_read=10, frames_expected=40, ledger=whole).error is None
    assert settled(frames_read=10, frames_expected=40).error is not None


def failed(tmp_path: Path, error: MpflowError, partial: str = "out.partial.mp4") -> MpflowError:
    output, half = tmp_path / "out.mp4", tmp_path / partial
    job = JobSpec("1", "in.mp4", str(output), str(half), parts=str(parts_name(output)))
    settled = settle(job, JobResult(Report("1", "in.mp4"), error)).error
    assert settled is not None
    return settled


def chunk(folder: Path, start: int, stop: int) -> None:
    folder.mkdir(exist_ok=True)
    stamps = list(range(stop - start))
    made = Chunk(start, stop, "nut", 3, "", "", "", (1, 30), stamps, stamps)
    (folder / made.name).write_bytes(b"abc")
    (folder / made.companion).write_bytes(msgspec.json.encode(made))


def test_the_user_learns_where_resume_goes_on(tmp_path: Path) -> None:
    parts = tmp_path / "out.mp4.parts"
    for start in (0, 60, 180):
        chunk(parts, start, start + 60)
    error = failed(tmp_path, Interrupted("stopped by SIGINT"))
    assert error.cure == "120 frames are finished, and --resume goes on with them"
    error = failed(tmp_path, ResourceError("the disk is full", cure="free some space"))
    assert error.cure == "free some space; 120 frames are finished, and --resume goes on with them"
    assert parts.is_dir()


def test_parts_with_nothing_to_go_on_with_are_removed(tmp_path: Path) -> None:
    parts = tmp_path / "out.mp4.parts"
    chunk(parts, 60, 120)
    (parts / "checkpoint.json").touch()
    error = failed(tmp_path, Interrupted("stopped by SIGINT"))
    assert error.cure == "nothing was kept of the output"
    assert not parts.exists()


def test_parts_that_were_refused_are_left_alone(tmp_path: Path) -> None:
    parts = tmp_path / "out.mp4.parts"
    parts.mkdir()
    (parts / "checkpoint.json").write_text("of something else")
    failed(tmp_path, Refused("no checkpoint"))
    assert (parts / "checkpoint.json").read_text() == "of something else"


def test_the_mark_of_a_finished_output_is_cleared_away(tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    parts = parts_name(output)
    parts.mkdir()
    (parts / "done.json").touch()
    job = JobSpec("1", "in.mp4", str(output), "x", parts=str(parts))
    settle(job, JobResult(Report("1", "in.mp4"), None))
    assert not parts.exists()


@pytest.mark.parametrize(
    ("stage", "kind", "status"), [("detect", NoFrameLeft, 1), ("send", OutputError, 2)]
)
def test_a_stream_of_which_nobody_saw_a_frame_is_an_error(
    stage: str, kind: type[MpflowError], status: int
) -> None:
    rows = (LostFrame(0, None, "dropped", stage, "too old: 2 ms old"),)
    stages = (StageReport("receive"), StageReport("detect"), StageReport("send"))
    report = Report("1", "in", "out", live=True, stages=stages)
    job = JobSpec("1", "in", "out", live=True)

    def settled_with(**counts: int) -> MpflowError | None:
        ledger = LedgerSummary(rows=rows, **counts)
        return settle(job, JobResult(msgspec.structs.replace(report, ledger=ledger), None)).error

    error = settled_with(frames=40, dropped=40)
    assert isinstance(error, kind)
    assert error.exit_status == status
    assert "all 40 were dropped" in error.what
    assert settled_with(frames=40, dropped=39, delivered=1) is None
    assert settled_with() is None
