"""What is said of a stream: while it goes on, and at its end."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from mpflow.accounts import LedgerSummary, LostFrame
from mpflow.console import bar, text
from mpflow.console.livewords import pace_words
from mpflow.errors import EXIT_SIGINT, InputError, Interrupted
from mpflow.jobs import settle
from mpflow.jobs.batch import Outcome, Status, exit_status
from mpflow.report import Report
from mpflow.session import JobResult
from mpflow.spec import JobSpec

JOB = JobSpec("1", "rtsp://bob:s3cret@cam/1", "rtmp://host/app/k3y", live=True)
NEWS: dict[str, Any] = {
    "kind": "progress", "job": "1", "frame": 900, "total": None, "fps": 29.9, "eta_s": None,
    "backlog": 3, "age_p99": 0.31, "mode": "single-frame", "level": 1, "dropped": 7, "missed": 0,
    "degraded": 2, "reconnects": 1, "stages": {"detect": {"frames": 901, "busy_ratio": 0.8}},
}  # fmt: skip


def report(**values: Any) -> Report:
    known = {"seconds": 30.0, "frames_written": 900, "live": True, **values}
    return Report("1", "rtsp://***@cam/1", "rtmp://host/app/***", **known)


def told(capsys: pytest.CaptureFixture[str], outcome: Outcome) -> list[str]:
    text.show_outcome(outcome, text.Log(30), alone=True)
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("news", "words"),
    [
        (
            NEWS,
            "0:30, p99 310 ms, 3 waiting, 7 dropped, 2 degraded, connected anew once,"
            " single-frame, level 1",
        ),
        ({"dropped": 0}, "0:30"),
        ({"age_p99": 0.02, "backlog": 0, "mode": "throughput"}, "0:30, p99 20 ms, 0 waiting"),
    ],
)
def test_progress_is_told_in_a_few_words(news: dict[str, Any], words: str) -> None:
    assert pace_words(news, 30.0) == words


def test_a_bar_of_a_stream_has_neither_a_total_nor_a_secret() -> None:
    display = bar.Bar(1, 30)
    display._console = Console(file=io.StringIO(), width=160, force_terminal=True, no_color=True)
    display.started(JOB)
    display.hear(NEWS)
    drawn = display._console.file.getvalue()  # type: ignore[attr-defined]
    display._progress.stop()  # type: ignore[union-attr]
    assert "900 frames 29.9 frames/s" in drawn
    assert "900/" not in drawn
    assert "p99 310 ms" in drawn
    assert "s3cret" not in drawn


def test_a_summary_names_both_ends_and_what_was_not_smooth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = LostFrame(12, 12, "dropped", "detect", "too late: 2.1 s old")
    ledger = LedgerSummary(frames=907, delivered=900, dropped=7, degraded=40, rows=(row,), more=6)
    made = report(ledger=ledger, missed=3, reconnects=2)
    first, second, *_ = told(capsys, Outcome(JOB, Status.DONE, made))
    assert first == (
        "rtsp://***@cam/1 -> rtmp://host/app/***: 900 frames in 30.0 s (30.0 frames/s),"
        " 7 frames dropped, 40 degraded, 3 never taken in, connected anew 2 times"
    )
    assert second == "  dropped: 12 and 6 more (detect: too late: 2.1 s old)"


def test_faces_of_a_stream_were_found_in_frames_of_which_some_were_dropped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = report(frames_written=5, faces=480, frames_with_faces=180)
    first, *_ = told(capsys, Outcome(JOB, Status.DONE, made))
    assert "480 faces found in 180 frames" in first
    assert "of them" not in first


def test_a_signal_ends_a_stream_in_order_and_is_still_status_130(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = Interrupted("stopped by SIGINT", cure="the output so far is under its partial name")
    result = settle(JOB, JobResult(report(), error))
    outcome = Outcome(JOB, Status.STOPPED, result.report, result.error)
    lines = told(capsys, outcome)
    assert lines[0].startswith("rtsp://***@cam/1 -> ")
    assert lines[1:] == ["mpflow: stopped by SIGINT"]
    assert exit_status([outcome]) == EXIT_SIGINT


def test_an_input_that_is_lost_for_too_long_is_told_after_what_was_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = InputError("rtsp://bob:s3cret@cam/1 has been gone for 30 s", cure="is it up?")
    result = settle(JOB, JobResult(report(), error), strict=True)
    lines = told(capsys, Outcome(JOB, Status.FAILED, result.report, result.error))
    assert lines[0].startswith("rtsp://***@cam/1 -> ")
    assert lines[1:] == [
        "mpflow: error: rtsp://***@cam/1 has been gone for 30 s",
        "  cure: is it up?",
    ]


def test_strict_counts_what_was_dropped_but_no_frames_that_a_file_promised() -> None:
    whole = JobResult(report(frames_read=890, frames_expected=900, ledger=LedgerSummary(890)), None)
    assert settle(JOB, whole, strict=True).error is None
    ledger = LedgerSummary(frames=900, delivered=893, dropped=7)
    error = settle(JOB, JobResult(report(ledger=ledger), None), strict=True).error
    assert error is not None
    assert "7 frames dropped" in error.what


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("films/in.mp4", "in.mp4"),
        ("http://bob:pw@host", "http://***@host"),
        ("rtmp://host/app/k3y", "rtmp://host/app/***"),
        ("/dev/video0", "video0"),
    ],
)
def test_an_input_is_called_without_what_lets_somebody_in(path: str, name: str) -> None:
    assert text.name_of(path) == name
