"""What a run keeps for its report stays within bounds, however long it goes on."""

from __future__ import annotations

from mpflow.console.text import Log
from mpflow.jobrun import MOST_WARNINGS, JobRun
from mpflow.spec import JobSpec, PipelineSpec


def test_of_ever_new_warnings_the_first_are_kept_and_it_says_that_there_were_more() -> None:
    run = JobRun(PipelineSpec("p", ()), JobSpec("1", "camera", live=True), (), lambda *a: None)
    for number in range(5 * MOST_WARNINGS):
        run.note_warnings([f"warning {number // 2}", "the same again"])
    assert run.warnings[:3] == ["warning 0", "the same again", "warning 1"]
    assert len(run.warnings) == len(set(run.warnings)) == MOST_WARNINGS + 1
    assert run.warnings[-1] == "there were more warnings: the log has them"


def test_errors_that_wait_for_the_end_of_a_job_are_the_last_ones() -> None:
    log = Log(30)
    for number in range(5000):
        record = {"level": "error", "stage": "detect", "worker": 0, "frame": -1}
        assert log.line({**record, "text": f"error {number}", "repeats": 0, "time": 0.0}) is None
    held = log.held(None)
    assert len(held) == 200
    assert "error 4999" in held[-1]
    assert log.held(None) == []
