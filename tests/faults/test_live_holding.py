"""Stages that keep frames back for later ones, in live runs: the frames grow older meanwhile."""

from __future__ import annotations

from pathlib import Path

from runs import lines_of, pipeline_of, run_once, trap

from mpflow.spec import JobSpec


def test_that_a_look_ahead_leaves_no_time_is_said(tmp_path: Path) -> None:
    """Two frames at 15 a second are 133 ms, and nothing may be older than 120."""
    camera = {"stage": "live_traps:Camera", "options": {"frames": 60, "fps": 15}}
    screen = {"stage": "live_traps:Screen"}
    spec = pipeline_of(
        tmp_path, camera, trap("Follow", ahead=2), screen, live=True, max_latency=0.12
    )
    job = JobSpec("1", "camera", str(tmp_path / "screen.jsonl"), live=True)
    result = run_once(spec, job)
    assert result.error is None, result.error
    assert len(lines_of(job)) < 10
    assert result.report.alerts.get("latency", 0) >= 1
