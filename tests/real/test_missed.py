"""A face that the detector misses on a frame is covered there all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import clips
import pytest
import yaml

import mpflow
from mpflow.models.store import ModelStore

FRAMES = 40
MISSED = (12, 20, 21, 22, 23)


COVER = [
    {"stage": "redact", "options": {"method": "solid", "margin": 0}},
    {"stage": "encode", "options": {"codec": "ffv1"}},
]


def _run(
    source: Path, output: Path, ends: list[dict[str, Any]], blind: tuple[int, ...], ahead: int
) -> None:
    """Run a detector that is blind on some frames, the tracker, and what comes behind it."""
    detect = {"stage": "missing_detect:MissingDetect", "options": {"blind": list(blind)}}
    track = {"stage": "track", "options": {"ahead": ahead}}
    stages = [{"stage": "decode"}, {**detect, "name": "detect"}, track, *ends]
    preset = output.with_suffix(".yaml")
    preset.write_text(yaml.safe_dump({"stages": stages}))
    mpflow.run(mpflow.RunSpec(str(source), str(output), str(preset), stop=FRAMES))


@pytest.fixture(scope="module")
def faces(
    model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory
) -> list[list[tuple[float, ...]]]:
    """Where the face is on every frame, by a detector that misses none."""
    output = tmp_path_factory.mktemp("seen") / "faces.jsonl"
    _run(model_store.path("carphone"), output, [{"stage": "faces-json"}], (), ahead=0)
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    return [[tuple(face["box"]) for face in line["faces"]] for line in lines]


@pytest.mark.parametrize("ahead", [10, 0])
def test_a_frame_on_which_the_detector_is_blind_is_covered_like_the_others(
    model_store: ModelStore,
    faces: list[list[tuple[float, ...]]],
    tmp_path: Path,
    ahead: int,
) -> None:
    output = tmp_path / "out.mkv"
    _run(model_store.path("carphone"), output, COVER, MISSED, ahead)
    pictures = clips.planes(output)
    assert len(pictures) == len(faces) == FRAMES
    for number, (planes, found) in enumerate(zip(pictures, faces, strict=True)):
        assert found, "there is a face in every frame"
        for x1, y1, x2, y2 in found:
            across, down = (x2 - x1) / 5, (y2 - y1) / 5
            rows = slice(round(y1 + down), round(y2 - down))
            inside = planes[0][rows, round(x1 + across) : round(x2 - across)]
            assert inside.max() <= 16, number  # black: nothing of it shows
