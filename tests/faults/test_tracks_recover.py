"""Whoever dies, whenever: the tracks are those of a run that nobody disturbed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import walks
from runs import (
    job_in,
    kill_all,
    lines_of,
    marks_in,
    pipeline_of,
    run_once,
    run_through_gates,
)
from walked_stages import CUTS, faces_of

from mpflow.analysis import AnalysisLog
from mpflow.errors import Terminated
from mpflow.farm.keep import TARGET, Analysed, read_analysed
from mpflow.recall import ANALYSIS
from mpflow.spec import JobSpec

FRAMES = 120

Rows = list[dict[str, Any]]


def walked(name: str, **options: Any) -> dict[str, Any]:
    return {"stage": f"walked_stages:{name}", "name": name.lower(), "options": options}


def stages(**traps: dict[str, Any]) -> list[dict[str, Any]]:
    """The film, who is found in it, the tracks, and a file of them; some with traps."""
    return [
        walked("Film", frames=FRAMES, **traps.get("film", {})),
        walked("Find"),
        {**walked("TrappedTrack", **traps.get("track", {})), "name": "track"},
        walked("FaceRows", **traps.get("rows", {})),
    ]


@pytest.fixture(scope="module", params=[10, 0], ids=["ahead", "no-ahead"])
def ahead(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, ahead: int) -> Rows:
    folder = tmp_path_factory.mktemp("undisturbed")
    job = job_in(folder)
    result = run_once(pipeline_of(folder, *stages(track={"ahead": ahead})), job)
    assert result.error is None
    return lines_of(job)


def test_everybody_is_covered_on_every_frame_by_one_number_in_each_scene(
    undisturbed: Rows, ahead: int
) -> None:
    tracks: list[set[int]] = [set(), set(), set()]
    for row in undisturbed:
        boxes = [tuple(box) for _, _, box, *_ in row["faces"]]
        tracks[sum(row["seq"] >= cut for cut in CUTS)] |= {face[0] for face in row["faces"]}
        if ahead:
            for face in faces_of(row["seq"]):
                smaller = walks.face_at(*_middle(face.box), 54)
                assert any(walks.covers(box, smaller) for box in boxes), row["seq"]
    assert all(len(numbers) >= 2 for numbers in tracks)
    assert not tracks[0] & tracks[1] and not tracks[1] & tracks[2]


def _middle(box: tuple[float, float, float, float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def test_a_tracker_that_dies_or_raises_has_a_successor_with_the_same_tracks(
    tmp_path: Path, undisturbed: Rows, ahead: int
) -> None:
    """It dies on the first frame, right behind a cut, and where somebody is missed."""
    job = job_in(tmp_path)
    once = marks_in(tmp_path)
    trap = {"habit": "kill", "at": [0, 41, 62], "raises_at": [20, 86, 119], "once": once}
    result = run_once(pipeline_of(tmp_path, *stages(track={**trap, "ahead": ahead})), job)
    assert result.error is None and result.report.restarts == 3
    assert lines_of(job) == undisturbed


def test_a_last_stage_that_dies_gets_the_same_tracks_again(
    tmp_path: Path, undisturbed: Rows, ahead: int
) -> None:
    job = job_in(tmp_path)
    trap = {"habit": "kill", "at": [5, 44, 99], "once": marks_in(tmp_path)}
    spec = pipeline_of(tmp_path, *stages(rows=trap, track={"ahead": ahead}))
    result = run_once(spec, job)
    assert result.error is None and result.report.restarts == 3
    assert lines_of(job) == undisturbed


def test_a_run_that_goes_on_has_the_tracks_of_one_that_was_never_killed(
    tmp_path: Path, undisturbed: Rows, ahead: int
) -> None:
    job = job_in(tmp_path)
    gates = [25, 90] if ahead else [47]
    spec = pipeline_of(
        tmp_path,
        *stages(
            film={"habit": "gate", "at": gates, "once": marks_in(tmp_path)},
            track={"ahead": ahead},
        ),
    )
    for at in gates:
        result = run_through_gates(spec, job, tmp_path / "marks", {at: kill_all})
        assert result.error is not None and "SIGKILL" in result.error.what
        job = msgspec.structs.replace(job, resume=True)
    again = run_once(spec, job)
    assert again.error is None
    assert lines_of(job) == undisturbed


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(
    tmp_path: Path, undisturbed: Rows, ahead: int
) -> None:
    """What still waited for later frames is not kept: it would have less than it asks for."""
    job = job_in(tmp_path)
    gate = {"habit": "gate", "at": [57], "once": marks_in(tmp_path)}
    spec = pipeline_of(tmp_path, *stages(film=gate, track={"ahead": ahead}, rows={"grid": 1}))
    stop = {57: lambda pid: os.kill(pid, signal.SIGTERM)}
    result = run_through_gates(spec, job, tmp_path / "marks", stop)
    assert isinstance(result.error, Terminated)
    kept = [json.loads(line) for line in Path(job.partial).read_text().splitlines()]
    assert 57 - ahead <= len(kept) < FRAMES
    assert kept == undisturbed[: len(kept)]
    again = run_once(spec, msgspec.structs.replace(job, resume=True))
    assert again.error is None
    assert lines_of(job) == undisturbed


def test_an_analysis_that_was_stopped_goes_on_to_the_same_log(
    tmp_path: Path, undisturbed: Rows, ahead: int
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    mark = parts / "analysis.json"
    job = JobSpec("analysis", "numbers", str(mark), parts=str(parts))
    gate = {"habit": "gate", "at": [57], "once": marks_in(tmp_path)}
    *inner, _ = stages(film=gate, track={"ahead": ahead})
    spec = pipeline_of(tmp_path, *inner, {"stage": TARGET})
    stop = {57: lambda pid: os.kill(pid, signal.SIGTERM)}
    result = run_through_gates(spec, job, tmp_path / "marks", stop)
    assert isinstance(result.error, Terminated)
    stopped = read_analysed(mark)
    assert 57 - ahead <= stopped.frames < FRAMES and not stopped.whole
    again = run_once(spec, msgspec.structs.replace(job, resume=True))
    assert again.error is None
    assert read_analysed(mark) == Analysed(FRAMES, FRAMES - 1, whole=True)
    log = AnalysisLog.create(parts / ANALYSIS)
    found = [[[f.track, f.sighting, list(f.box)] for f in r.faces] for r in log.read("track")]
    log.close()
    assert found == [[face[:3] for face in row["faces"]] for row in undisturbed]
