"""The main job with deaths on the way: the output is the same file, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from runs import fork_servers, job_in, kill_all, marks_in, nothing_left, run_through_gates

from mpflow.config import resolve
from mpflow.models.store import ModelStore
from mpflow.session import JobResult, Session
from mpflow.spec import JobSpec, PipelineSpec

LEFT = ["preset.yaml", "out.mp4", "marks"]
NAMES = ("decode", "detect", "redact", "encode")


def spec_with(folder: Path, **traps: dict[str, Any]) -> PipelineSpec:
    """The redacting preset, its stages trapped; every half second of frames is durable."""
    options = {name: dict(traps.get(name, {})) for name in NAMES}
    options["encode"] |= {"chunk_seconds": 0.5, "threads": 2}
    options["detect"] |= {"max_batch": 4}
    stages = [
        {"stage": f"trapped_stages:Trapped{n.capitalize()}", "name": n, "options": options[n]}
        for n in NAMES
    ]
    path = folder / "preset.yaml"
    path.write_text(yaml.safe_dump({"stages": stages}))
    return resolve(str(path), environ={}).spec


@pytest.fixture(scope="module")
def film() -> str:
    return str(ModelStore().path("carphone"))


@pytest.fixture(scope="module")
def undisturbed(film: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_in(folder, "out.mp4", film)
    result = run(spec_with(folder), job)
    assert result.error is None
    return Path(job.output).read_bytes()


def run(spec: PipelineSpec, job: JobSpec) -> JobResult:
    with Session() as session:
        session.open(spec)
        return session.run(job)


@pytest.mark.parametrize("who", NAMES)
def test_a_run_in_which_a_worker_died_gives_the_same_file(
    tmp_path: Path, film: str, undisturbed: bytes, who: str
) -> None:
    job = job_in(tmp_path, "out.mp4", film)
    trap = {"habit": "kill", "at": [4, 70, 119], "once": marks_in(tmp_path)}
    with nothing_left(tmp_path, but=LEFT):
        result = run(spec_with(tmp_path, **{who: trap}), job)
    assert result.error is None
    assert result.report.restarts >= 2
    assert result.report.frames_written == result.report.frames_read == 120
    assert result.report.ledger is not None and result.report.ledger.delivered == 120
    assert Path(job.output).read_bytes() == undisturbed


def test_a_run_of_which_everything_was_killed_goes_on_to_the_same_file(
    tmp_path: Path, film: str, undisturbed: bytes
) -> None:
    job = job_in(tmp_path, "out.mp4", film)
    gate = {"habit": "gate", "at": [100], "once": marks_in(tmp_path)}
    spec = spec_with(tmp_path, encode=gate)

    def strike(pid: int) -> None:
        assert fork_servers(pid)
        kill_all(pid)

    with nothing_left(tmp_path, but=[*LEFT, "out.partial.mp4", "out.mp4.parts"]):
        cut = run_through_gates(spec, job, tmp_path / "marks", {100: strike})
    assert cut.error is not None
    with nothing_left(tmp_path, but=LEFT):
        result = run(spec, msgspec.structs.replace(job, resume=True))
    assert result.error is None
    assert result.report.resumed_at >= 75
    assert Path(job.output).read_bytes() == undisturbed
