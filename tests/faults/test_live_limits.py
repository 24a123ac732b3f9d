"""What bounds a frame's life, and what is done and told when the limits come near."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from runs import job_in, lines_of, marks_in, pipeline_of, run_once, trap

from mpflow.report import Report
from mpflow.spec import JobSpec

PRESSING = Path(__file__).parents[1] / "support" / "pressing"


def live(name: str, **options: Any) -> dict[str, Any]:
    return {"stage": f"live_traps:{name}", "options": options}


def show(folder: Path, *stages: dict[str, Any], **top: Any) -> tuple[Report, list[dict[str, Any]]]:
    job = JobSpec("1", "camera", str(folder / "screen.jsonl"), live=True)
    result = run_once(pipeline_of(folder, *stages, live=True, **top), job)
    assert result.error is None, result.error
    return result.report, lines_of(job)


def reasons(report: Report) -> dict[int, str]:
    assert report.ledger is not None
    return {row.frame: row.reason for row in report.ledger.rows}


def test_a_frame_that_a_hung_worker_keeps_past_its_life_is_taken_from_it_and_given_up(
    tmp_path: Path,
) -> None:
    """The worker would be left alone for much longer; it is the frame's life that ends."""
    report, rows = show(
        tmp_path,
        live("Camera", frames=900, fps=100),
        trap("Paint", limit=600, habit="hang", at=[50], once=marks_in(tmp_path)),
        live("Screen"),
        max_latency=0.5,
        ttl=1.0,
    )
    assert report.restarts == 1
    shown = [row["seq"] for row in rows]
    assert 50 not in shown
    assert shown[-1] == 899
    assert 50 in reasons(report)
    ledger = report.ledger
    assert ledger is not None and ledger.frames + report.missed == 900
    moves = [move.reason for worker in report.workers for move in worker.moves]
    assert any("frame 50" in reason for reason in moves)


def test_a_frame_kept_past_its_life_is_tried_again_in_a_file_run(tmp_path: Path) -> None:
    spec = pipeline_of(
        tmp_path,
        trap("Read", frames=60),
        trap("Paint", limit=600, habit="hang", at=[20], once=marks_in(tmp_path)),
        trap("Rows"),
        ttl=1.0,
    )
    result = run_once(spec, job_in(tmp_path))
    assert result.error is None
    assert result.report.restarts == 1
    assert [line["seq"] for line in lines_of(job_in(tmp_path))] == list(range(60))
    assert result.report.ledger is not None and not result.report.ledger.not_as_asked


def test_a_file_run_waits_for_a_slow_stage_however_old_its_frames_grow(tmp_path: Path) -> None:
    spec = pipeline_of(
        tmp_path,
        trap("Read", frames=60),
        trap("Paint", delay_ms=50),
        trap("Rows"),
        ttl=0.5,
        max_latency=0.1,
    )
    result = run_once(spec, job_in(tmp_path))
    assert result.error is None
    assert result.report.restarts == 0
    assert len(lines_of(job_in(tmp_path))) == 60


def test_an_age_over_its_limit_raises_one_alert(tmp_path: Path) -> None:
    report, _ = show(
        tmp_path,
        live("Camera", frames=600, fps=100),
        trap("Paint", delay_ms=8),
        live("Screen"),
        alert_p99=5,
    )
    assert report.alerts.get("p99") == 1


def test_minutes_of_media_at_three_times_the_capacity_never_grow_old(tmp_path: Path) -> None:
    """Two minutes of a camera with 30 pictures a second before a stage that can do 10, all of it
    ten times as fast."""
    report, rows = show(
        tmp_path,
        live("Camera", frames=3600, fps=300),
        trap("Paint", delay_ms=10),
        live("Screen"),
        max_latency=0.25,
    )
    shown = [row["seq"] for row in rows]
    assert shown == sorted(set(shown))
    ledger = report.ledger
    assert ledger is not None
    assert ledger.delivered == len(rows)
    assert ledger.delivered + ledger.dropped + report.missed == 3600
    # frames are dropped at the sink when they are too old, so what is shown was not
    assert sorted(row["age_ms"] for row in rows)[int(len(rows) * 0.99)] <= 250


@pytest.mark.parametrize("short", [True, False])
def test_without_memory_a_run_makes_do_with_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, short: bool
) -> None:
    file = tmp_path / "short"
    if short:
        file.touch()
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{PRESSING}{os.pathsep}{path}")
    monkeypatch.setenv("MPFLOW_TEST_SHORT", str(file))
    monkeypatch.syspath_prepend(str(PRESSING))
    report, rows = show(
        tmp_path,
        live("Camera", frames=900, fps=100),
        trap("Paint", batch=4),
        live("Screen"),
        ladder=["skip paint"],
    )
    assert len(rows) > 500
    modes = {row["mode"] for row in rows}
    assert modes == ({"throughput", "single-frame"} if short else {"throughput"})
    assert any(row["degradations"] for row in rows) == short
    assert report.ledger is not None and (report.ledger.degraded > 0) == short
