"""Live runs: nothing blocks the camera, no frame is older than it may be, all are in the books."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from runs import lines_of, marks_in, pipeline_of, run_once, run_through_gates, trap

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
    lost = {row.frame for row in ledger.rows if row.state != "degraded"}
    assert not lost & set(shown)
    assert report.leases_left == 0


def test_a_pipeline_that_keeps_up_drops_nothing(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=100, fps=100),
        trap("Paint"),
        live("Screen"),
        slots=110,
        max_latency=60,
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


def test_a_burst_is_borne_by_dropping_what_cannot_be_in_time(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=200, fps=100, burst=[50, 120]),
        trap("Paint", delay_ms=5),
        live("Screen"),
        max_latency=0.3,
    )
    check(report, rows, 200)
    assert rows[-1]["seq"] > 190 - report.missed  # it has come through, and goes on behind it


def test_a_slow_screen_keeps_nobody_waiting(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=300, fps=100),
        trap("Paint"),
        live("Screen", delay_ms=40),
        max_latency=0.4,
    )
    check(report, rows, 300)
    assert max(row["age_ms"] for row in rows) <= 400 + 50
    assert len(rows) > 30


def test_order_is_kept_with_several_workers_of_a_slow_stage(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=400, fps=150),
        trap("Paint", workers=3, delay_ms=30),
        trap("Follow"),
        live("Screen"),
        max_latency=0.5,
    )
    check(report, rows, 400)


def test_a_stage_that_looks_ahead_lives_with_frames_that_are_missing(tmp_path: Path) -> None:
    report, rows = show(
        tmp_path,
        live("Camera", frames=300, fps=150),
        trap("Paint", delay_ms=15),
        trap("Follow", ahead=2),
        live("Screen"),
        max_latency=0.5,
    )
    check(report, rows, 300)


def test_a_camera_that_is_silent_for_longer_than_a_stall_harms_nothing(tmp_path: Path) -> None:
    """The gate opens only when the supervisor has looked on longer than no frame may move."""
    marks = marks_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        {**live("Camera", frames=100, fps=100, silent_at=50, once=marks), "limit": 0.5},
        trap("Paint"),
        live("Screen"),
        live=True,
        stall=0.5,
        slots=110,
        max_latency=60,
    )
    job = live_job(tmp_path)
    silent = threading.Event()

    def speak(_: int) -> None:
        silent.wait(2.0)  # nothing happens meanwhile: it is the time that counts

    result = run_through_gates(spec, job, Path(marks), {"silent": speak})
    assert result.error is None
    check(result.report, lines_of(job), 100)
    assert result.report.restarts == 0
    assert len(lines_of(job)) == 100


@pytest.mark.parametrize("name", ["camera", "paint", "follow"])
def test_a_worker_killed_in_a_live_run_is_replaced_and_the_rest_flows_on(
    tmp_path: Path, name: str
) -> None:
    marks = marks_in(tmp_path)
    at = [60, 90, 120]  # on a loaded machine some frames are shed before they get there
    killed: dict[str, Any] = {"habit": "kill", "at": at, "once": marks}
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=200, fps=100, **(killed if name == "camera" else {})),
        trap("Paint", **(killed if name == "paint" else {})),
        trap("Follow", **(killed if name == "follow" else {})),
        live("Screen"),
        live=True,
    )
    report, rows = run(spec, live_job(tmp_path))
    assert 1 <= report.restarts <= len(at)
    shown = [row["seq"] for row in rows]
    assert shown == sorted(set(shown))
    assert shown[-1] == report.frames_read - 1
    ledger = report.ledger
    assert ledger is not None and ledger.frames == report.frames_read
    assert ledger.delivered == len(rows)


def test_a_screen_killed_in_a_live_run_is_replaced_and_the_ledger_adds_up(tmp_path: Path) -> None:
    marks = marks_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=300, fps=100),
        trap("Paint"),
        live("Screen", habit="kill", at=[100], once=marks),
        live=True,
    )
    report, rows = run(spec, live_job(tmp_path))
    assert report.restarts == 1
    check(report, rows, 300)
    ledger = report.ledger
    assert ledger is not None and 1 <= ledger.dropped < 150
    assert any(row.frame == 100 and "last stage" in row.reason for row in ledger.rows)


def test_a_screen_killed_at_the_very_end_is_replaced_and_told_of_it(tmp_path: Path) -> None:
    marks = marks_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=100, fps=200),
        live("Screen", habit="kill", at=[99], once=marks),
        live=True,
        slots=110,
        max_latency=60,
    )
    report, rows = run(spec, live_job(tmp_path))
    assert report.restarts == 1
    check(report, rows, 100)
    assert report.ledger is not None and report.ledger.dropped == 1


def test_a_failing_camera_ends_the_run_and_what_it_gave_is_shown(tmp_path: Path) -> None:
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=200, fps=200, habit="raise", at=[80]),
        trap("Paint"),
        live("Screen"),
        live=True,
        slots=100,
        max_latency=60,
    )
    job = live_job(tmp_path)
    result = run_once(spec, job)
    assert result.error is not None and "a trap at 80" in str(result.error)
    assert [row["seq"] for row in lines_of(job)] == list(range(80))


def test_a_frame_that_is_left_out_by_the_ladder_says_so_everywhere(tmp_path: Path) -> None:
    """Nothing of the load is left to chance here: the ladder is climbed by a stage that cannot
    keep up, whatever the machine does, until that stage is left out."""
    report, rows = show(
        tmp_path,
        live("Camera", frames=1500, fps=150),
        trap("Paint", delay_ms=60),
        live("Screen"),
        max_latency=0.5,
        ladder=["skip paint"],
    )
    check(report, rows, 1500)
    left_out = [row for row in rows if "-paint" in row["degradations"]]
    assert left_out
    assert all("paint" not in row["ops"] for row in left_out)
    ledger = report.ledger
    assert ledger is not None and ledger.degraded == len(left_out)


def test_a_stage_before_the_slow_one_does_not_work_in_vain(tmp_path: Path) -> None:
    """In single-frame mode the slow stage takes only the newest frame, so one is enough for it."""
    report, rows = show(
        tmp_path,
        live("Camera", frames=900, fps=150),
        trap("Plain"),
        trap("Paint", delay_ms=40),
        live("Screen"),
        max_latency=0.5,
    )
    check(report, rows, 900)
    made = next(stage.frames for stage in report.stages if stage.name == "plain")
    assert made < 2.5 * len(rows) < 900


@pytest.mark.parametrize(("habit", "first"), [("raise", 0), ("kill", 30)])
def test_a_stage_that_remembers_goes_on_after_an_exception_and_afresh_after_a_death(
    tmp_path: Path, habit: str, first: int
) -> None:
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=60, fps=30),
        trap("Follow", habit=habit, at=[30], once=marks_in(tmp_path)),
        live("Screen"),
        live=True,
        slots=130,
        max_latency=60,
    )
    job = msgspec.structs.replace(live_job(tmp_path), tokens=str(tmp_path / "tokens.jsonl"))
    report, rows = run(spec, job)
    check(report, rows, 60)
    assert len(rows) == 60
    tokens = [json.loads(line) for line in (tmp_path / "tokens.jsonl").read_text().splitlines()]
    found = {token["frame"]: token["fields"]["trap.sum"] for token in tokens}
    total = 0
    for seq in range(first, 60):
        total = (total * 31 + seq) % 1_000_003
    assert found[59] == total


def test_a_silent_camera_behind_which_a_stage_keeps_a_frame_is_no_stall(tmp_path: Path) -> None:
    marks = marks_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        {**live("Camera", frames=100, fps=100, silent_at=50, once=marks), "limit": 0.5},
        trap("Follow", ahead=1),
        live("Screen"),
        live=True,
        stall=0.5,
        slots=110,
        max_latency=60,
    )
    silent = threading.Event()

    def speak(_: int) -> None:
        silent.wait(2.0)  # nothing happens meanwhile: it is the time that counts

    result = run_through_gates(spec, live_job(tmp_path), Path(marks), {"silent": speak})
    assert result.error is None
    assert result.report.ledger is not None and result.report.ledger.delivered == 100


def test_an_output_that_is_away_is_no_load(tmp_path: Path) -> None:
    """Half of the pictures cannot be delivered, and nobody is to blame for it here."""
    report, rows = show(
        tmp_path,
        live("Camera", frames=500, fps=100),
        trap("Plain"),
        live("Screen", away=[100, 350]),
        ladder=["skip plain"],
        slots=110,
    )
    ledger = report.ledger
    assert ledger is not None
    assert ledger.frames == 500
    assert ledger.dropped >= 251
    away = [row for row in ledger.rows if row.reason == "nobody is there"]
    assert [row.frame for row in away] == list(range(100, 351))
    assert {row.stage for row in away} == {"screen"}
    assert not ledger.degraded
    assert not any("plain" not in row["ops"] for row in rows)


def test_every_second_frame_dropped_or_not_the_books_are_told_of(tmp_path: Path) -> None:
    """A screen that dies late has told often enough for its successor to know all."""
    marks = marks_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        live("Camera", frames=600, fps=200),
        trap("Paint", delay_ms=9),
        live("Screen", habit="kill", at=list(range(480, 600)), once=marks),
        live=True,
        max_latency=0.2,
    )
    result = run_once(spec, live_job(tmp_path))
    rows = lines_of(live_job(tmp_path))
    ledger = result.report.ledger
    assert ledger is not None
    assert ledger.frames == result.report.frames_read
    assert ledger.delivered == len(rows)
