"""A whole run that swaps two people by a map and covers everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import people
import pytest
import scenes

import mpflow
from mpflow.models.align import crop
from mpflow.models.letterbox import letterbox
from mpflow.models.store import ModelStore
from mpflow.swapping.sources import Studio, open_studio

CAST = ["person-a-1", "impostor-1", "person-b-1"]
MAP = {"person-a-2": "astronaut", "person-b-2": "impostor-2"}
FRAMES = 8


@dataclass(frozen=True)
class Swapped:
    """What the run said, and the pictures before and after it."""

    report: mpflow.Report
    before: list[scenes.Picture]
    after: list[scenes.Picture]


@pytest.fixture(scope="module")
def studio(model_store: ModelStore) -> Studio:
    return open_studio(model_store, 1)


@pytest.fixture(scope="module")
def swapped(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Swapped:
    folder = tmp_path_factory.mktemp("swapped")
    shown = (people.picture(model_store, CAST, time / 12) for time in range(FRAMES))
    clip = people.film(folder / "in.mp4", shown)
    references = [str(model_store.path(name)) for name in MAP]
    sources = [str(model_store.path(name)) for name in MAP.values()]
    pairs = [f"{one}={other}" for one, other in zip(references, sources, strict=True)]
    settings = {"embed.photos": references, "swap.map": pairs, "encode.crf": 12}
    spec = mpflow.RunSpec(
        str(clip), str(folder / "out.mp4"), preset="swap+embed+redact", set=settings
    )
    return Swapped(mpflow.run(spec), read(clip), read(folder / "out.mp4"))


def read(path: Path) -> list[scenes.Picture]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


def look(studio: Studio, picture: scenes.Picture, number: int) -> np.ndarray | None:
    """The embedding of whoever stands at a place; None where no face is found."""
    part = np.ascontiguousarray(picture[:, people.place(number)])
    blob, scale = letterbox(part, 320, 320)
    found = studio.detector.detect(blob)[0].scaled(1 / scale)
    if not len(found):
        return None
    return studio.embedder.embed([crop(part, found.points[0], studio.embedder.size)])[0]


def test_every_frame_comes_out_and_says_what_became_of_its_faces(swapped: Swapped) -> None:
    ledger = swapped.report.ledger
    assert ledger is not None
    assert len(swapped.after) == len(swapped.before) == FRAMES
    assert (ledger.faces, ledger.covered, ledger.open) == (3 * FRAMES, FRAMES, 2 * FRAMES)
    assert ledger.drifted == 0
    assert not swapped.report.warnings


@pytest.mark.parametrize(("place", "reference"), [(0, "person-a-2"), (2, "person-b-2")])
def test_whom_the_map_names_looks_like_the_source_and_no_longer_like_himself(
    swapped: Swapped, studio: Studio, model_store: ModelStore, place: int, reference: str
) -> None:
    _, source = studio.source([model_store.path(MAP[reference])])
    _, known = studio.source([model_store.path(reference)])
    for before, after in zip(swapped.before, swapped.after, strict=True):
        was, now = look(studio, before, place), look(studio, after, place)
        assert was is not None
        assert now is not None
        assert was @ known[0] > 0.5
        assert now @ source[0] > max(now @ was, now @ known[0])


def test_whom_no_map_names_is_covered(swapped: Swapped, studio: Studio) -> None:
    for before, after in zip(swapped.before, swapped.after, strict=True):
        was, now = look(studio, before, 1), look(studio, after, 1)
        assert was is not None
        assert now is None or now @ was < 0.4


def test_the_report_says_how_like_their_sources_the_faces_were(swapped: Swapped) -> None:
    (facts,) = [stage.facts for stage in swapped.report.stages if stage.name == "swap"]
    similarity = facts["similarity"]
    assert similarity["looks"] == 2
    assert similarity["least"] > 0.25
    assert facts["sources"] == {"people": 2, "photos": 2}
