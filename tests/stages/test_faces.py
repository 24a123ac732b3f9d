"""The faces sink on real faces: what it writes, when, and that another may go on with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import msgspec
import people
import pytest
import scenes

from mpflow.errors import ConfigError, OutputError, Refused
from mpflow.export import tables
from mpflow.models.store import ModelStore
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo, partial_name, parts_name
from mpflow.stage import StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.stages.faces import Faces, FacesOptions
from mpflow.tokens import Face, FrameState, Sighting, Token

CAST = ["person-a-1", "person-b-1"]
OTHERS = ["", "person-a-2"]
RATE, FRAMES = 25, 150
VIDEO = VideoInfo(0, "none", 576, 320, "yuv420p", "yuv420p", (1, RATE))


@pytest.fixture(scope="module")
def slots(model_store: ModelStore) -> list[Any]:
    """Two people side by side, and one of them by another photo, somewhere else."""
    return [scenes.slot(people.picture(model_store, cast)) for cast in (CAST, OTHERS)]


@pytest.fixture(scope="module")
def seen(slots: list[Any]) -> list[tuple[Face, ...]]:
    detect = Detect(DetectOptions(device="cpu"), StageContext("detect"))
    detect.open()
    found = []
    for slot in slots:
        (token,) = detect.process([Work(Token("job", 0), slot.frame())])
        found.append(tuple(sorted(token.faces, key=lambda face: face.box[0])))
    detect.close()
    return found


def tokens(seen: list[tuple[Face, ...]]) -> list[Token]:
    """The first half shows tracks 1 and 2, the second track 3, which is who track 1 was."""
    made = []
    for number in range(FRAMES):
        late = number >= FRAMES // 2
        faces = [replace(face, track=3) for face in seen[1]]
        if not late:
            faces = [replace(face, track=place) for place, face in enumerate(seen[0], 1)]
        if number % 10 == 4:
            faces = [replace(face, sighting=Sighting.FILLED) for face in faces]
        token = Token("job", number, pts=number, time_base=(1, RATE), faces=tuple(faces))
        made.append(token)
    return made


class Export:
    """A sink at work in a folder."""

    def __init__(self, folder: Path, slots: list[Any], **options: Any) -> None:
        self.folder = folder
        self.slots = slots
        self.options = msgspec.convert({"device": "cpu", "size": 128, **options}, FacesOptions)
        self.reports: dict[str, Any] = {}

    def opened(self, **spec: Any) -> Faces:
        sink = Faces(self.options, StageContext("faces", report=self.reports.__setitem__))
        sink.open()
        self.folder.mkdir(exist_ok=True)
        source = self.folder.parent / "in.mp4"
        source.write_bytes(b"a film")
        output = self.folder / "frames.jsonl"
        job = JobSpec(
            "job",
            str(source),
            str(output),
            str(partial_name(output)),
            parts=str(parts_name(output)),
            **spec,
        )
        sink.begin(Job(job, MediaInfo(str(source), "none", VIDEO)))
        return sink

    def give(self, sink: Faces, given: Sequence[Token]) -> None:
        for token in given:
            slot = self.slots[token.seq >= FRAMES // 2]
            sink.write(token, slot.frame())

    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "faces.json").read_text())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, slots: list[Any], seen: list[tuple[Face, ...]]
) -> Export:
    export = Export(tmp_path_factory.mktemp("whole") / "out", slots, every=2.0)
    sink = export.opened()
    export.give(sink, tokens(seen))
    summary = sink.finish(complete=True)
    sink.close()
    assert (summary.frames, summary.complete) == (FRAMES, True)
    return export


def test_it_leaves_lines_crops_a_table_people_and_a_summary(whole: Export) -> None:
    names = set(contents(whole.folder))
    assert {"frames.jsonl", "tracks.csv", "faces.json"} < names
    assert {"people/person-001.png", "people/person-002.png"} < names
    assert not [name for name in names if name.startswith(("people/person-003", "embeddings"))]
    assert not any("partial" in name or "parts" in name for name in names)
    assert len((whole.folder / "frames.jsonl").read_text().splitlines()) == FRAMES
    assert whole.reports["people"] == 2


def test_a_person_who_comes_back_elsewhere_is_the_same(whole: Export) -> None:
    told = whole.summary()
    assert [each["tracks"] for each in told["people"]] == [[1, 3], [2]]
    assert [each["person"] for each in told["tracks"]] == [1, 2, 1]
    first = told["tracks"][0]
    assert (first["first_frame"], first["last_frame"]) == (0, FRAMES // 2 - 2)
    assert (first["frames_seen"], first["frames_filled"]) == (67, 8)


def test_crops_are_aligned_of_the_size_and_named_by_the_summary(whole: Export) -> None:
    named = {crop for track in whole.summary()["tracks"] for crop in track["crops"]}
    assert named == {path.name for path in (whole.folder / "crops").iterdir()}
    assert len(named) == 6, "of three tracks: the first, which is the best, and one two seconds on"
    for name in named:
        picture = cv2.imread(str(whole.folder / "crops" / name))
        assert picture is not None
        assert picture.shape == (128, 128, 3)


def test_what_shows_a_face_is_for_its_owner_alone(whole: Export) -> None:
    for name in ("crops", "people"):
        assert (whole.folder / name).stat().st_mode & 0o777 == 0o700
        for path in (whole.folder / name).iterdir():
            assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("upto", [1, 70, FRAMES])
def test_another_sink_goes_on_where_one_died(
    tmp_path: Path, whole: Export, seen: list[tuple[Face, ...]], upto: int
) -> None:
    export = Export(tmp_path / "out", whole.slots, every=2.0)
    dead = export.opened()
    export.give(dead, tokens(seen)[:upto])
    kept = dead.kept.frame
    assert kept <= upto
    dead._file._gathered.clear()  # a process that is killed keeps nothing more
    dead.close()
    fresh = export.opened(resume=True)
    assert fresh.kept.frame == kept
    export.give(fresh, tokens(seen)[kept:])
    fresh.finish(complete=True)
    fresh.close()
    assert contents(export.folder) == contents(whole.folder)


def test_a_sink_that_died_after_all_was_done_is_not_done_again(
    tmp_path: Path, whole: Export, seen: list[tuple[Face, ...]]
) -> None:
    export = Export(tmp_path / "out", whole.slots, every=2.0)
    sink = export.opened()
    export.give(sink, tokens(seen))
    sink.finish(complete=True)
    before = contents(export.folder)
    again = export.opened(resume=True)
    assert again.kept.frame == FRAMES
    assert again.finish(complete=True).frames == FRAMES
    assert contents(export.folder) == before


def test_other_options_do_not_go_on(
    tmp_path: Path, slots: list[Any], seen: list[tuple[Face, ...]]
) -> None:
    export = Export(tmp_path / "out", slots)
    sink = export.opened()
    export.give(sink, tokens(seen)[:70])
    sink.close()
    other = Export(tmp_path / "out", slots, template="arcface")
    with pytest.raises(Refused, match="template"):
        other.opened(resume=True)


def test_an_export_made_anew_leaves_nothing_of_the_old_one(
    tmp_path: Path, whole: Export, seen: list[tuple[Face, ...]]
) -> None:
    export = Export(tmp_path / "out", whole.slots, every=0.2, identities=True)
    sink = export.opened()
    export.give(sink, tokens(seen))
    sink.finish(complete=True)
    sink.close()
    assert (export.folder / "embeddings.npz").stat().st_mode & 0o777 == 0o600
    (export.folder / "crops" / "mine.png").write_bytes(b"not ours")
    again = Export(export.folder, whole.slots, every=2.0)
    sink = again.opened(overwrite=True)
    again.give(sink, tokens(seen))
    sink.finish(complete=True)
    sink.close()
    assert contents(again.folder) == {**contents(whole.folder), "crops/mine.png": b"not ours"}


def test_without_telling_people_apart_nothing_is_embedded(
    tmp_path: Path, slots: list[Any], seen: list[tuple[Face, ...]]
) -> None:
    export = Export(tmp_path / "out", slots, people=False)
    sink = export.opened()
    export.give(sink, tokens(seen)[:3])
    sink.finish(complete=True)
    assert "session" not in export.reports
    assert export.summary()["people"] == []
    assert not (export.folder / "people").exists()


def test_no_face_and_no_track_leave_an_empty_table(tmp_path: Path, slots: list[Any]) -> None:
    export = Export(tmp_path / "out", slots)
    sink = export.opened()
    loose = Face((10, 10, 60, 70), 0.9)
    sink.write(Token("job", 0, faces=(loose,)), slots[0].frame())
    sink.write(Token("job", 1), slots[0].frame())
    sink.finish(complete=True)
    sink.close()
    assert set(contents(export.folder)) == {"frames.jsonl", "faces.json", "tracks.csv"}
    assert len((export.folder / "tracks.csv").read_text().splitlines()) == 1


def test_no_crop_comes_from_a_frame_that_is_covered(
    tmp_path: Path, slots: list[Any], seen: list[tuple[Face, ...]]
) -> None:
    export = Export(tmp_path / "out", slots)
    sink = export.opened()
    token = tokens(seen)[0].with_state(FrameState.MASKED, stage="test", reason="broken")
    export.give(sink, [token])
    sink.finish(complete=True)
    assert not (export.folder / "crops").exists()


def test_people_can_be_a_gallery(whole: Export) -> None:
    """The picture of a person shows one face that can be found, as a gallery asks for."""
    detect = Detect(DetectOptions(device="cpu"), StageContext("detect"))
    detect.open()
    for path in (whole.folder / "people").iterdir():
        picture = cv2.imread(str(path))
        (token,) = detect.process([Work(Token("job", 0), scenes.slot(picture).frame())])
        assert len(token.faces) == 1


def test_standard_output_is_no_folder() -> None:
    sink = Faces(FacesOptions(people=False), StageContext("faces"))
    with pytest.raises(OutputError, match="folder"):
        sink.begin(Job(JobSpec("job", "in.mp4", "-"), MediaInfo("in.mp4", "none", VIDEO)))


def test_a_table_that_cannot_be_written_is_told_before_any_frame(monkeypatch: Any) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pyarrow"):
        Faces(FacesOptions(table="parquet"), StageContext("faces")).open()
