"""What becomes of a frame that nobody can work on, and of the frames beside it."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from runs import job_in, lines_of, marks_in, nothing_left, pipeline_of, run_once, trap

from mpflow.errors import ConfigError, InternalError, StageDied

FRAMES = 24
BLACK = [zlib.crc32(bytes([value]) * size) for value, size in ((16, 3072), (128, 768), (128, 768))]
LEFT = ["preset.yaml", "out.jsonl", "out.jsonl.parts", "marks"]


def stages(**paint: Any) -> list[dict[str, Any]]:
    return [trap("Read", frames=FRAMES), trap("Paint", batch=8, **paint), trap("Rows")]


@pytest.mark.parametrize("habit", ["kill", "segfault", "raise"])
def test_a_killer_in_a_batch_of_eight_is_masked_and_seven_are_delivered(
    tmp_path: Path, habit: str
) -> None:
    plain = job_in(tmp_path, "plain.jsonl")
    assert run_once(pipeline_of(tmp_path, *stages()), plain).error is None
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(habit=habit, at=[12]), on_failure="mask", retries=1)
    result = run_once(spec, job)
    assert result.error is None
    assert result.report.leases_left == 0
    lines, expected = lines_of(job), lines_of(plain)
    assert [line["state"] for line in lines] == ["live"] * 12 + ["masked"] + ["live"] * 11
    assert lines[12]["crc"] == BLACK
    assert lines[:12] + lines[13:] == expected[:12] + expected[13:]
    ledger = result.report.ledger
    assert ledger is not None and (ledger.delivered, ledger.masked) == (23, 1)
    (row,) = ledger.rows
    assert (row.frame, row.state, row.stage) == (12, "masked", "paint")
    assert ("died on it" if habit != "raise" else "a trap at 12") in row.reason


@pytest.mark.parametrize(
    ("policy", "state", "counted"), [("pass", "passed", "passed"), ("skip", None, "dropped")]
)
def test_a_frame_that_is_given_up_is_passed_or_left_out_as_asked(
    tmp_path: Path, policy: str, state: str | None, counted: str
) -> None:
    job = job_in(tmp_path)
    spec = pipeline_of(tmp_path, *stages(habit="kill", at=[5]), on_failure=policy)
    result = run_once(spec, job)
    assert result.error is None
    lines = {line["seq"]: line for line in lines_of(job)}
    assert sorted(lines) == [seq for seq in range(FRAMES) if state or seq != 5]
    if state:
        assert lines[5]["state"] == state
        assert lines[5]["crc"][0] == zlib.crc32(bytes([5]) * 3072)
    ledger = result.report.ledger
    assert ledger is not None
    assert getattr(ledger, counted) == 1 and ledger.delivered == FRAMES - 1
    assert result.report.alerts["quarantine"] == 1


@pytest.mark.parametrize("habit", ["raise", "kill"])
def test_a_frame_that_cannot_be_marked_is_covered_where_others_would_be_passed(
    tmp_path: Path, habit: str
) -> None:
    marking = trap("Stamp", habit=habit, at=[5])
    spec = pipeline_of(
        tmp_path, trap("Read", frames=FRAMES), marking, trap("Rows"), on_failure="pass", retries=0
    )
    result = run_once(spec, job := job_in(tmp_path))
    assert result.error is None
    lines = lines_of(job)
    assert [line["state"] for line in lines] == ["live"] * 5 + ["masked"] + ["live"] * 18
    assert lines[5]["crc"] == BLACK


def test_a_run_that_may_not_give_up_a_frame_ends_with_how_its_workers_died(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=[*LEFT, "out.partial.jsonl"]):
        result = run_once(
            pipeline_of(tmp_path, *stages(habit="segfault", at=[5])), job_in(tmp_path)
        )
    assert isinstance(result.error, StageDied)
    assert "frame 5 cannot be worked on: 2 workers of paint died on it" in result.error.what
    assert "ended by SIGSEGV" in result.error.what
    assert result.error.facts["frame"] == 5


def test_a_masked_frame_is_covered_even_before_the_stage_that_covers(tmp_path: Path) -> None:
    """The first stage gives the frame up: no later one touches it, and nothing of it is shown."""
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        trap("Read", frames=FRAMES),
        {**trap("Paint", habit="kill", at=[5]), "name": "find"},
        {**trap("Paint"), "name": "cover"},
        trap("Rows"),
        on_failure="mask",
    )
    result = run_once(spec, job)
    assert result.error is None
    (masked,) = [line for line in lines_of(job) if line["state"] == "masked"]
    assert masked["crc"] == BLACK and masked["fields"] == {}


def test_many_killers_are_no_storm_when_each_is_found_out(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    killers = [2, 5, 6, 9, 14, 23]
    spec = pipeline_of(tmp_path, *stages(habit="kill", at=killers), on_failure="mask")
    result = run_once(spec, job)
    assert result.error is None
    assert [line["seq"] for line in lines_of(job) if line["state"] == "masked"] == killers
    assert result.report.alerts == {"quarantine": len(killers)}


def test_a_stage_that_fails_once_is_asked_again_and_nobody_can_tell(tmp_path: Path) -> None:
    plain = job_in(tmp_path, "plain.jsonl")
    assert run_once(pipeline_of(tmp_path, *stages()), plain).error is None
    job = job_in(tmp_path)
    once = {"habit": "raise", "at": [3, 12], "once": marks_in(tmp_path)}
    for between in (-1, 1):  # before anything was painted, and with half of it painted
        spec = pipeline_of(tmp_path, *stages(**once, between=between))
        job = job_in(tmp_path, f"out{between}.jsonl")
        result = run_once(spec, job)
        assert result.error is None
        assert result.report.restarts == 0
        assert lines_of(job) == lines_of(plain)
        for mark in (tmp_path / "marks").iterdir():
            mark.unlink()


def test_a_stage_with_a_memory_that_fails_goes_on_from_what_it_knew(tmp_path: Path) -> None:
    def follow(**options: Any) -> list[dict[str, Any]]:
        follower = trap("Follow", ahead=3, **options)
        return [trap("Read", frames=FRAMES), follower, trap("Rows")]

    plain, job = job_in(tmp_path, "plain.jsonl"), job_in(tmp_path)
    assert run_once(pipeline_of(tmp_path, *follow()), plain).error is None
    once = {"habit": "raise", "at": [0, 7, 23], "once": marks_in(tmp_path)}
    result = run_once(pipeline_of(tmp_path, *follow(**once)), job)
    assert result.error is None
    assert lines_of(job) == lines_of(plain)


def test_a_failure_for_good_ends_a_run_that_may_not_give_up_frames(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, *stages(habit="raise", at=[5]), retries=1)
    result = run_once(spec, job_in(tmp_path))
    assert isinstance(result.error, InternalError)
    assert "stage paint failed: ValueError: a trap at 5" in result.error.what
    assert "in spring" in result.error.remote_traceback


def test_a_source_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    once = {"habit": "raise", "at": [0, 7], "once": marks_in(tmp_path)}
    spec = pipeline_of(tmp_path, trap("Read", frames=FRAMES, **once), trap("Rows"))
    result = run_once(spec, job)
    assert result.error is None
    assert [line["seq"] for line in lines_of(job)] == list(range(FRAMES))


def test_repeated_failures_raise_an_alert(tmp_path: Path) -> None:
    spec = pipeline_of(tmp_path, *stages(habit="raise", at=[1, 2, 3, 4]), on_failure="pass")
    result = run_once(spec, job_in(tmp_path))
    assert result.error is None
    assert result.report.alerts == {"failures": 1}


def test_a_masked_frame_stays_masked_when_it_is_made_again(tmp_path: Path) -> None:
    """The stage with a memory gave it up; then the sink dies, and the frame comes from the log."""
    job = job_in(tmp_path)
    spec = pipeline_of(
        tmp_path,
        trap("Read", frames=FRAMES),
        trap("Follow", habit="raise", at=[12]),
        trap("Rows", habit="kill", at=[17], once=marks_in(tmp_path)),
        on_failure="mask",
    )
    result = run_once(spec, job)
    assert result.error is None and result.report.restarts == 1
    lines = lines_of(job)
    assert [line["seq"] for line in lines if line["state"] == "masked"] == [12]
    assert lines[12]["crc"] == BLACK
    assert result.report.ledger is not None and result.report.ledger.masked == 1


def test_a_stage_that_remembers_may_not_change_pixels(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="leave their pixels alone"):
        pipeline_of(tmp_path, "Numbers", trap("Scribble"), "Tally")
