"""One number for one person, over real films."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mpflow
from mpflow.models.store import ModelStore


def faces_of(source: Path, folder: Path, **options: Any) -> list[list[dict[str, Any]]]:
    """The faces of every frame, with their tracks."""
    output = folder / "tracks.jsonl"
    settings = {f"detect.{key}": value for key, value in options.items()}
    mpflow.run(mpflow.RunSpec(str(source), str(output), "tracks", set=settings))
    return [json.loads(line)["faces"] for line in output.read_text().splitlines()]


@pytest.mark.parametrize("every", [1, 5])
def test_the_man_on_the_phone_has_one_number(
    model_store: ModelStore, tmp_path: Path, every: int
) -> None:
    frames = faces_of(model_store.path("carphone"), tmp_path, every=every)
    assert len(frames) == 120
    assert [[face["track"] for face in faces] for faces in frames] == [[0]] * 120


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_man_who_talks_for_three_minutes_has_one_number(
    model_store: ModelStore, tmp_path: Path
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("the film comes in an npm package")
    source = model_store.path("franck")
    frames = faces_of(source, tmp_path, every=5, size="320x192", max_batch=5)
    assert len(frames) == 4800
    assert {face["track"] for faces in frames for face in faces} == {0}
    assert all(faces for faces in frames)
