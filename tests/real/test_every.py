"""Looking at each third frame only: every frame has its faces, in order, whoever dies meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import job_in, kill_workers, lines_of, marks_in, pass_gates, pipeline_of

from mpflow.models.store import ModelStore
from mpflow.session import Session

FRAMES = 120


def run(
    folder: Path,
    source: Path,
    *between: dict[str, Any],
    kill: bool = False,
    workers: int = 1,
    max_batch: int = 4,
) -> Any:
    """The faces of a clip with a man in every frame."""
    options = {"device": "cpu", "every": 3, "max_batch": max_batch}
    detect = {"stage": "detect", "workers": workers, "options": options}
    spec = pipeline_of(folder, {"stage": "decode"}, detect, *between, {"stage": "faces-json"})
    job = job_in(folder, source=str(source))
    strikes: dict[Any, Any] = {50: lambda pid: kill_workers(pid, "detect")} if kill else {}
    with Session() as session:
        session.open(spec)
        result = pass_gates(session, job, folder / "marks", strikes)
    assert result.error is None, result.error
    return result, lines_of(job)


@pytest.mark.parametrize("kill", [False, True])
def test_every_frame_has_the_face_although_one_in_three_is_looked_at(
    tmp_path: Path, model_store: ModelStore, kill: bool
) -> None:
    model_store.path("yunet")
    marks = marks_in(tmp_path)
    gate = {"habit": "gate", "at": [50] if kill else [], "once": marks}
    follow = {"stage": "trap_stages:Follow", "options": gate}
    result, lines = run(tmp_path, model_store.path("carphone"), follow, kill=kill)
    assert [line["frame"] for line in lines] == list(range(FRAMES)), json.dumps(lines[:2])
    assert all(len(line["faces"]) == 1 for line in lines)
    looks = [line["frame"] for line in lines if line["faces"][0]["points"]]
    assert set(range(0, FRAMES, 3)) <= set(looks)
    assert looks[-1] == FRAMES - 1, "the last frame lies between no two looks"
    assert len(looks) == FRAMES // 3 + 1 if not kill else len(looks) <= FRAMES // 3 + 13
    assert result.report.leases_left == 0 and result.report.restarts == int(kill)
    ledger = result.report.ledger
    assert ledger is not None and ledger.delivered == FRAMES


def test_several_workers_look_at_every_frame_as_none_has_the_next_look(
    tmp_path: Path, model_store: ModelStore
) -> None:
    model_store.path("yunet")
    marks_in(tmp_path)
    result, lines = run(tmp_path, model_store.path("carphone"), workers=2, max_batch=1)
    assert [line["frame"] for line in lines] == list(range(FRAMES))
    assert all(line["faces"][0]["points"] for line in lines)
    assert any("every=3" in warning for warning in result.report.warnings)
