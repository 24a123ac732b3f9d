"""Faces taken out of a film with deaths on the way: the folder is the same, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from runs import job_in, kill_all, marks_in, run_once, run_through_gates
from trapped_faces import END

from mpflow.config import resolve
from mpflow.models.store import ModelStore
from mpflow.spec import JobSpec, PipelineSpec


@pytest.fixture(scope="module")
def film(model_store: ModelStore) -> str:
    return str(model_store.path("carphone"))


def spec_with(folder: Path, **trap: Any) -> PipelineSpec:
    stages: list[dict[str, Any]] = [
        {"stage": "decode"},
        {"stage": "detect", "options": {"size": "160x128"}},
        {"stage": "track"},
        {
            "stage": "trapped_faces:TrappedFaces",
            "name": "faces",
            "options": {"every": 1.0, "size": 64, "identities": True, **trap},
        },
    ]
    path = folder / "preset.yaml"
    path.write_text(yaml.safe_dump({"stages": stages}))
    return resolve(str(path), environ={}).spec


def job_of(folder: Path, film: str) -> JobSpec:
    (folder / "out").mkdir()
    return job_in(folder / "out", "frames.jsonl", film)


def contents(job: JobSpec) -> dict[str, bytes]:
    """Every file of the output's folder."""
    folder = Path(job.output).parent
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "frames.jsonl.parts"
    }


@pytest.fixture(scope="module")
def undisturbed(film: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_of(folder, film)
    assert run_once(spec_with(folder), job).error is None
    assert {"tracks.csv", "embeddings.npz", "people/person-001.png"} < set(contents(job))
    return contents(job)


def test_a_sink_that_dies_has_a_successor_with_the_same_folder(
    tmp_path: Path, film: str, undisturbed: dict[str, bytes]
) -> None:
    job = job_of(tmp_path, film)
    spec = spec_with(tmp_path, habit="kill", at=[0, 70, END], once=marks_in(tmp_path))
    result = run_once(spec, job)
    assert result.error is None
    assert result.report.restarts == 3
    assert contents(job) == undisturbed


def test_a_run_that_is_killed_goes_on_with_what_it_has(
    tmp_path: Path, film: str, undisturbed: dict[str, bytes]
) -> None:
    job = job_of(tmp_path, film)
    spec = spec_with(tmp_path, habit="gate", at=[90], once=marks_in(tmp_path))
    run_through_gates(spec, job, tmp_path / "marks", {90: kill_all})
    assert not Path(job.output).exists()
    assert run_once(spec, msgspec.structs.replace(job, resume=True)).error is None
    assert contents(job) == undisturbed
