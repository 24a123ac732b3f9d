"""A worker killed between two rectangles of a frame leaves none of them covered twice, or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import scenes
from clips import planes
from runs import job_in, pipeline_of

from mpflow.models.store import ModelStore
from mpflow.session import Session

FRAMES = 12
PLANES = 3
PLACES: list[list[str | int]] = [
    [0, PLANES, 2 * PLANES, 3 * PLANES],
    [4 * PLANES, 5 * PLANES, 6 * PLANES],
    ["J1", "J2", 1, 7 * PLANES - 1],
]
"""Before each of the seven faces, around the journal, within the first face and the last. Not all
in one run: five deaths may be a storm."""


def film(path: Path, store: ModelStore) -> Path:
    """Seven faces; the camera moves over the two photos."""
    table = scenes.scene(store, 360)
    height, width = table.shape[:2]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "16"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(FRAMES):
            moved = np.roll(table, -number, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(moved, format="bgr24")))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def session(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The redact preset without loss, with a redact stage that can be killed on a set frame."""
    model_store.path("yunet")
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "options": {"device": "cpu"}},
        {"stage": "killing_redact:KilledRedact"},
        {"stage": "encode", "options": {"codec": "ffv1"}},
    ]
    with Session() as session:
        session.open(pipeline_of(tmp_path_factory.mktemp("preset"), *stages))
        yield session


@pytest.fixture(scope="module")
def source(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("film") / "film.mp4", model_store)


@pytest.fixture(scope="module")
def undisturbed(
    session: Session, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[list[Any]]:
    job = job_in(tmp_path_factory.mktemp("undisturbed"), "out.mkv", str(source))
    result = session.run(job)
    assert result.error is None and result.report.restarts == 0
    assert result.report.faces == FRAMES * scenes.FACES
    return planes(Path(job.output))


@pytest.mark.parametrize("places", PLACES, ids=str)
def test_faces_covered_in_part_are_covered_anew_from_the_pixels_as_they_were(
    session: Session,
    source: Path,
    tmp_path: Path,
    undisturbed: list[list[Any]],
    places: list[str | int],
) -> None:
    job = job_in(tmp_path, "out.mkv", str(source))
    Path(f"{job.output}.kills").write_text(json.dumps(dict(enumerate(places, 2))))
    result = session.run(job)
    assert result.error is None
    assert result.report.restarts == len(places) and result.report.leases_left == 0
    frames = planes(Path(job.output))
    assert len(frames) == FRAMES
    same = [
        all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(frames, undisturbed, strict=True)
    ]
    assert same == [True] * FRAMES
