"""What a stage is asked for and an input does not have is refused before a frame is decoded."""

from __future__ import annotations

from pathlib import Path

import runs

from mpflow.errors import ConfigError
from mpflow.session import JobResult
from mpflow.spec import JobSpec


def run_picky(folder: Path, least: int) -> tuple[JobSpec, JobResult]:
    stages = [runs.foreign("Numbers", frames=20), runs.foreign("Picky", least=least)]
    spec = runs.pipeline_of(folder, *stages, runs.foreign("Tally"))
    job = runs.job_in(folder)
    return job, runs.run_once(spec, job)


def test_a_stage_refuses_an_input_and_nothing_is_read_or_written(tmp_path: Path) -> None:
    job, result = run_picky(tmp_path, least=21)
    assert isinstance(result.error, ConfigError)
    assert result.error.what == "20 frames are too few"
    assert result.report.frames_read == 0
    assert not Path(job.output).exists()
    assert not Path(job.partial).exists()


def test_an_input_that_fits_is_taken(tmp_path: Path) -> None:
    _, result = run_picky(tmp_path, least=20)
    assert result.error is None
    assert result.report.frames_written == 20
