"""Whole runs with a gallery: who stays visible is not touched, everybody else is covered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import av
import clips
import numpy as np
import people
import pytest
import yaml
from faceclips import face_clip
from runs import job_in, marks_in, nothing_left

import mpflow
from mpflow.config import resolve
from mpflow.models.centerface import CenterFace
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.session import Session

CAST = ["impostor-1", "person-a-1", "person-b-1", "impostor-2"]
ANNA, FRAMES = 1, 32
NOBODY_SURE = {"embed.same": 0.99, "embed.other": 0.001}
Places = dict[int, list[bool]]


@pytest.fixture(scope="module")
def film(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four people who sway."""
    path = tmp_path_factory.mktemp("film") / "four.mp4"
    return people.film(path, (people.picture(model_store, CAST, 0.15 * n) for n in range(FRAMES)))


@pytest.fixture(scope="module")
def anna(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gallery of person A, by a photo eleven years younger than the one in the film."""
    return people.gallery(model_store, tmp_path_factory.mktemp("g"), {"anna": ["person-a-2"]})


@pytest.fixture(scope="module")
def watcher(model_store: ModelStore) -> CenterFace:
    """A detector that had no part in it."""
    session, _ = open_session(model_store.path("centerface"), device="cpu", threads=2)
    return CenterFace(session, score=0.35)


def run(film: Path, output: Path, preset: str, gallery: Path, **settings: Any) -> mpflow.Report:
    values: Mapping[str, Any] = {"embed.gallery": str(gallery), "encode.codec": "ffv1", **settings}
    return mpflow.run(mpflow.RunSpec(str(film), str(output), preset=preset, set=values))


def untouched(film: Path, output: Path) -> Places:
    """For each place and frame, whether every pixel is as it was."""
    before, after = clips.planes(film), clips.planes(output)
    assert len(before) == len(after) == FRAMES
    return {
        number: [
            all(map(np.array_equal, _at(old, number), _at(new, number)))
            for old, new in zip(before, after, strict=True)
        ]
        for number in range(len(CAST))
    }


def _at(planes: Any, number: int) -> Iterator[Any]:
    for plane in planes:
        shift = 0 if plane.shape[0] == people.HEIGHT else 1
        where = people.place(number)
        yield plane[:, where.start >> shift : where.stop >> shift]


def seen(watcher: CenterFace, output: Path) -> list[set[int]]:
    """The places at which a face is found, for each frame."""
    found = []
    with av.open(str(output)) as container:
        for frame in container.decode(video=0):
            blob, scale = letterbox(frame.to_ndarray(format="bgr24"), 576, 160)
            boxes = watcher.detect(blob)[0].boxes / scale
            found.append({int((box[0] + box[2]) / 2) // people.WIDTH for box in boxes})
    return found


def test_everybody_is_covered_but_who_is_kept(
    film: Path, anna: Path, tmp_path: Path, watcher: CenterFace
) -> None:
    output = tmp_path / "out.mkv"
    report = run(film, output, "redact-except", anna)
    same = untouched(film, output)
    assert all(same[ANNA]), "kept from the first frame on, to the pixel"
    assert not any(any(same[number]) for number in same if number != ANNA)
    assert seen(watcher, output) == [{ANNA}] * FRAMES
    assert report.ledger is not None
    counts = report.ledger.faces, report.ledger.covered, report.ledger.open
    assert counts == (4 * FRAMES, 3 * FRAMES, FRAMES)
    (facts,) = (stage.facts for stage in report.stages if stage.name == "embed")
    assert facts["tracks"] == len(CAST)
    assert facts["embeddings"] < 4 * len(CAST)


def test_only_who_is_named_is_covered(
    film: Path, anna: Path, tmp_path: Path, watcher: CenterFace
) -> None:
    output = tmp_path / "out.mkv"
    report = run(film, output, "redact-only", anna)
    assert report.ledger is not None
    assert report.ledger.covered >= FRAMES
    assert report.ledger.covered + report.ledger.open == 4 * FRAMES
    assert not report.warnings
    same = untouched(film, output)
    assert not any(same[ANNA])
    others = [same[number] for number in same if number != ANNA]
    # covered until they are surely somebody else, which takes two looks, and never again
    assert all(sorted(frames) == frames for frames in others)
    assert sum(all(frames) for frames in others) >= 2
    assert all(ANNA not in places for places in seen(watcher, output))


def test_a_gallery_of_which_nobody_comes_is_told(
    film: Path, model_store: ModelStore, tmp_path: Path
) -> None:
    """Wrong folder, bad photo: a video that is not covered must not look like one that is."""
    stranger = people.gallery(model_store, tmp_path / "g", {"kim": ["astronaut"]})
    report = run(film, tmp_path / "out.mkv", "redact-only", stranger)
    assert report.ledger is not None
    assert (report.ledger.faces, report.ledger.covered) == (4 * FRAMES, 0)
    (warning,) = report.warnings
    assert "none was covered: nobody of the gallery was recognised" in warning


@pytest.mark.parametrize("preset", ["redact-except", "redact-only"])
def test_whoever_nobody_is_sure_of_is_covered(
    film: Path, anna: Path, tmp_path: Path, preset: str
) -> None:
    output = tmp_path / "out.mkv"
    run(film, output, preset, anna, **NOBODY_SURE)
    assert not any(any(frames) for frames in untouched(film, output).values())


@pytest.mark.parametrize("preset", ["redact-except", "redact-only"])
def test_where_two_people_cross_nobody_is_taken_for_the_other(
    model_store: ModelStore, tmp_path: Path, preset: str
) -> None:
    clip = face_clip(model_store, tmp_path, height=360, takes=("crossing",), frames=60)
    anna = people.gallery(model_store, tmp_path / "g", {"anna": ["person-a-1"]})
    run(clip.path, tmp_path / "out.mkv", preset, anna)
    hidden = "person-b" if preset == "redact-except" else "person-a"
    opened: dict[str, int] = {}
    pairs = zip(clips.planes(clip.path), clips.planes(tmp_path / "out.mkv"), strict=True)
    for marks, (before, after) in zip(clip.truth.frames, pairs, strict=True):
        for mark in marks:
            rows, columns = _middle(mark.box)
            same = np.array_equal(before[0][rows, columns], after[0][rows, columns])
            opened[mark.person] = opened.get(mark.person, 0) + same * (mark.visible > 0.5)
    assert opened.pop(hidden) == 0
    assert opened.popitem()[1] > 20, "the other is visible while they are apart"


def _middle(box: tuple[float, float, float, float]) -> tuple[slice, slice]:
    """The rows and columns of the half of a box that lies in the middle."""
    x1, y1, x2, y2 = box
    across, down = (x2 - x1) / 4, (y2 - y1) / 4
    return (
        slice(max(0, round(y1 + down)), max(0, round(y2 - down))),
        slice(max(0, round(x1 + across)), max(0, round(x2 - across))),
    )


def test_a_run_in_which_the_stage_died_gives_the_same_file(
    film: Path, anna: Path, tmp_path: Path
) -> None:
    outputs = []
    for name, at in (("undisturbed", []), ("killed", [3, 14, 25])):
        folder = tmp_path / name
        folder.mkdir()
        trap = {"habit": "kill", "at": at, "once": marks_in(folder)}
        job = job_in(folder, "out.mp4", str(film))
        with nothing_left(folder, but=["preset.yaml", "out.mp4", "marks"]), Session() as session:
            session.open(resolve(_trapped(folder, anna, trap), environ={}).spec)
            result = session.run(job)
        assert result.error is None
        assert result.report.restarts == len(at)
        outputs.append(Path(job.output).read_bytes())
    assert outputs[0] == outputs[1]


def _trapped(folder: Path, gallery: Path, trap: Mapping[str, Any]) -> str:
    """The preset that keeps people, with a trap in the stage that knows them."""
    embed = {"gallery": str(gallery), "ahead": 6, **trap}
    stages = [
        {"stage": "decode"},
        {"stage": "detect"},
        {"stage": "track"},
        {"stage": "trapped_embed:TrappedEmbed", "name": "embed", "options": embed},
        {"stage": "redact", "options": {"people": "except"}},
        {"stage": "encode", "options": {"chunk_seconds": 0.5, "threads": 2}},
    ]
    path = folder / "preset.yaml"
    path.write_text(yaml.safe_dump({"stages": stages}))
    return str(path)
