"""Live runs: nothing blocks the camera, no frame is older than it may be, and each is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runs import lines_of, pipeline_of, run_once, trap

from mpflow.report import Report
from mpflow.spec import JobSpec, PipelineSpec



def live(name: str, workers: int = 1, **options: Any) -> dict[str, Any]:
    """One end of a live run, from tests/support/live_traps.py."""
    return {"stage": f"live_traps:{name}", "workers": workers, "options": options}


def live_job(folder: Path) -> JobSpec:
    return JobSpec("1", "camera", str(folder / "screen.jsonl"), live=True)


def show(folder: Path, *stages: dict[str, Any], **top: Any) -> tuple[Report, list[dict[str, Any]]]:
    """Run a live pipeline to the camera's end: the report, and what the screen was shown."""
    spec = pipeline_of(folder, *stages, live=True, **top)
    return run(spec, live_job(folder))


def run(spec: PipelineSpec, job: JobSpec) -> tuple[Report, list[dict[str, Any]]]:
    result = run_once(spec, job)
    assert result.error is None, result.error
    return result.report, lines_of(job)


def check(report: Report, rows: list[dict[str, Any]], frames: int) -> None:
    """Order is kept, and every picture was shown, or is in the ledger, or was missed."""
    shown = [row["seq"] for row in rows]
    assert shown == sorted(set(shown))
    ledger = report.ledger
    assert ledger is not None
    assert ledger.frames == report.frames_read
    assert ledger.delivered == len(rows)
    assert ledger.delivered + ledger.dropped + report.missed == frames
    lost = {row.frame for row in ledger.rows}
    assert not lost & set(shown)
    assert report.leases_left == 0


def test_a_pipeline_that_keeps_up_drops_nothing(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path, live("Camera", frames=100, fps=200), trap("Paint"), live("Screen")
    )
    check(report, rows, 100)
    assert len(rows) == 100
    assert {row["mode"] for row in rows} == {"throughput"}


def test_a_stage_with_a_third_of_the_rate_keeps_the_age_bounded(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=450, fps=150),
        trap("Paint", delay_ms=20),
        live("Screen"),
        max_latency=0.4,
    )
    check(report, rows, 450)
    assert max(row["age_ms"] for row in rows) <= 400 + 50
    assert len(rows) > 50  # frames are dropped before they are worked on, not after
    assert report.ledger is not None and report.ledger.rows[0].stage
    assert {row["mode"] for row in rows} == {"throughput", "single-frame"}


