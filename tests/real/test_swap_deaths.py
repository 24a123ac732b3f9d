"""Swaps with deaths on the way, gone on with, and made in chunks: whole, and marked all over."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
import pytest
import yaml
from commands import LIMIT_S, command_line
from runs import job_in, kill_all, marks_in, nothing_left, run_once, run_through_gates

from mpflow.config import resolve
from mpflow.jobs.verify import Verdict, verify
from mpflow.models.store import ModelStore
from mpflow.provenance.reading import read_mark
from mpflow.spec import JobSpec, PipelineSpec

FRAMES = 48


@pytest.fixture(scope="module")
def film(model_store: ModelStore) -> str:
    return str(model_store.path("carphone"))


@pytest.fixture(scope="module")
def photo(model_store: ModelStore) -> str:
    return str(model_store.path("astronaut"))


def spec_with(folder: Path, photo: str, traps: Mapping[str, Any]) -> PipelineSpec:
    """The swap preset, with traps in the stages that make, lay and mark faces."""
    own = {"swap": {"sources": [photo]}, "blend": {}, "mark": {}}
    trapped = [
        {
            "stage": f"trapped_swaps:Trapped{name.title()}",
            "name": name,
            "options": {**options, **traps.get(name, {}), "once": marks_in(folder)},
        }
        for name, options in own.items()
    ]
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "options": {"size": "192x160"}},
        {"stage": "track"},
        {"stage": "landmarks"},
        *trapped,
        {"stage": "encode", "options": {"chunk_seconds": 0.4, "codec": "ffv1"}},
    ]
    path = folder / "preset.yaml"
    path.write_text(yaml.safe_dump({"stages": stages}))
    return resolve(str(path), environ={}).spec


def job_of(folder: Path, film: str) -> JobSpec:
    return msgspec.structs.replace(job_in(folder, "out.mkv", film), stop=FRAMES)


def chroma(path: Path | str, frames: int = FRAMES) -> list[np.ndarray]:
    """The colour planes of each frame, which nothing but a swap changes."""
    with av.open(str(path)) as container:
        found = [
            frame.to_ndarray()[frame.height :]
            for frame, _ in zip(container.decode(video=0), range(frames), strict=False)
        ]
    assert len(found) == frames
    return found


def check(output: Path | str, film: str) -> None:
    """Every frame has another face, and everything that marks it."""
    pairs = zip(chroma(output), chroma(film), strict=True)
    assert all(np.abs(one.astype(int) - other).max() > 4 for one, other in pairs)
    found = verify(Path(output))
    assert (found.verdict, found.contradictions) == (Verdict.MARKED, ())
    assert found.mark is not None
    assert found.mark.kind == "composite"


@pytest.mark.slow
def test_workers_that_die_have_successors_and_no_frame_shows_the_target(
    tmp_path: Path, film: str, photo: str
) -> None:
    traps = {
        "swap": {"habit": "kill", "at": [0, 21]},
        "blend": {"habit": "kill", "at": [10, 33]},
        "mark": {"habit": "kill", "at": [15, FRAMES - 1]},
    }
    job = job_of(tmp_path, film)
    left = ["preset.yaml", "marks", "out.mkv"]
    with nothing_left(tmp_path, but=left):
        result = run_once(spec_with(tmp_path, photo, traps), job)
    assert result.error is None
    assert result.report.restarts == 6
    check(job.output, film)


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_a_whole_and_marked_video(
    tmp_path: Path, film: str, photo: str
) -> None:
    job = job_of(tmp_path, film)
    spec = spec_with(tmp_path, photo, {"blend": {"habit": "gate", "at": [30]}})
    run_through_gates(spec, job, tmp_path / "marks", {30: kill_all})
    assert not Path(job.output).exists()
    assert run_once(spec, msgspec.structs.replace(job, resume=True)).error is None
    check(job.output, film)


@pytest.mark.slow
def test_chunks_of_a_farm_are_one_marked_video(tmp_path: Path, film: str, photo: str) -> None:
    def mpflow(*words: str) -> int:
        command = command_line(*words)
        return subprocess.run(command, cwd=tmp_path, timeout=LIMIT_S, check=False).returncode

    plan = "out.mkv.parts/plan.json"
    words = ("--source", photo, "--accept-notice", "--codec", "ffv1", "--frames", f"0-{FRAMES - 1}")
    assert mpflow("plan", film, "-o", "out.mkv", *words, "--chunk-frames", "24") == 0
    for number in ("0", "1"):
        assert mpflow("render", plan, "--chunk", number) == 0
    assert mpflow("concat", plan) == 0
    check(tmp_path / "out.mkv", film)
    chunks = sorted((tmp_path / "out.mkv.parts").glob("*.nut"))
    marks = [read_mark(each) for each in (*chunks, tmp_path / "out.mkv")]
    assert len({mark.run_id for mark in marks if mark is not None}) == 1
    assert None not in marks
    assert Path(photo).name not in (tmp_path / "out.mkv.mpflow.json").read_text()
