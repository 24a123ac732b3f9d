"""Reference photos: what makes a gallery, and each that cannot be used refused by its name."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import people
import pytest
import scenes

from mpflow.errors import ConfigError
from mpflow.identity.gallery import Gallery, read_gallery
from mpflow.models.detections import Detector
from mpflow.models.detectors import detector
from mpflow.models.embedders import Embedder
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore

Tools = tuple[Detector, Embedder]


@pytest.fixture(scope="module")
def tools(model_store: ModelStore) -> Tools:
    yunet, sface = (
        open_session(model_store.path(name), device="cpu")[0] for name in ("yunet", "sface")
    )
    return detector("yunet", yunet), SFace(sface)


def refusal(folder: Path, tools: Tools) -> str:
    with pytest.raises(ConfigError) as caught:
        read_gallery(folder, *tools)
    assert caught.value.cure
    return caught.value.what


@pytest.fixture(scope="module")
def two(model_store: ModelStore, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    """Bea with two photos in a sub-folder, and Anna with one beside it."""
    folder = tmp_path_factory.mktemp("two")
    people.gallery(model_store, folder, {"bea": ["person-b-1", "person-b-2"]})
    cv2.imwrite(str(folder / "anna.png"), scenes.read(model_store, "person-a-2"))
    (folder / ".hidden").write_text("not looked at")
    (folder / "Thumbs.db").write_text("not looked at")
    return read_gallery(folder, *tools)


def test_a_photo_is_a_person_and_so_is_a_folder_of_them_in_order_of_their_names(
    two: Gallery,
) -> None:
    assert two.persons == (0, 1, 1)
    assert two.people == 2


def test_a_face_is_compared_with_each_persons_nearest_photo(two: Gallery) -> None:
    ((anna, bea),) = two.similarities(two.embeddings[2:])
    assert bea == pytest.approx(1.0, abs=1e-5)
    assert anna < 0.25
    assert two.similarities(two.embeddings[:0]) == []


def test_two_people_in_one_sub_folder_are_refused_by_the_names_of_their_photos(
    model_store: ModelStore, tools: Tools, tmp_path: Path
) -> None:
    photos = {"bea": ["person-b-1", "person-a-2", "person-b-2"], "anna": ["person-a-1"]}
    said = refusal(people.gallery(model_store, tmp_path, photos), tools)
    assert "'bea/person-a-2.jpg' and 'bea/person-b-1.jpg' show different people" in said
    assert "anna" not in said


def test_another_gallery_has_another_check(
    model_store: ModelStore, tools: Tools, tmp_path: Path
) -> None:
    first = people.gallery(model_store, tmp_path / "first", {"x": ["person-a-2"]})
    same = people.gallery(model_store, tmp_path / "same", {"y": ["person-a-2"]})
    other = people.gallery(model_store, tmp_path / "other", {"x": ["person-b-2"]})
    checks = [read_gallery(folder, *tools).check for folder in (first, same, other)]
    assert checks[0] == checks[1] != checks[2]


def test_a_photo_that_is_stored_turned_is_read_upright(
    model_store: ModelStore, tools: Tools, tmp_path: Path
) -> None:
    photo = scenes.read(model_store, "person-a-2")
    turned = cv2.imencode(".jpg", np.ascontiguousarray(np.rot90(photo, 1)))[1].tobytes()
    (tmp_path / "turned.jpg").write_bytes(turned[:2] + exif_orientation(6) + turned[2:])
    people.gallery(model_store, tmp_path / "plain", {"x": ["person-a-2"]})
    straight = read_gallery(tmp_path / "plain", *tools)
    (found,) = straight.similarities(
        read_gallery(folder_of(tmp_path, "turned.jpg"), *tools).embeddings
    )
    assert found[0] > 0.98


def exif_orientation(value: int) -> bytes:
    """An EXIF segment of a JPEG that says how to turn it."""
    tiff = b"II*\0\x08\0\0\0" + b"\x01\0" + b"\x12\x01\x03\0\x01\0\0\0" + bytes([value, 0, 0, 0])
    body = b"Exif\0\0" + tiff + b"\0\0\0\0"
    return b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body


def folder_of(folder: Path, name: str) -> Path:
    """A folder with one file of another."""
    alone = folder / "alone"
    alone.mkdir()
    (folder / name).rename(alone / name)
    return alone


def test_every_photo_that_cannot_be_used_is_named_with_its_reason(
    model_store: ModelStore, tools: Tools, tmp_path: Path
) -> None:
    portrait = scenes.read(model_store, "person-a-2")
    save = {
        "wall.png": np.full((300, 300, 3), 120, np.uint8),
        "all.jpg": scenes.read(model_store, "group-photo"),
        "far.png": cv2.resize(portrait, None, fx=0.1, fy=0.1, interpolation=cv2.INTER_AREA),
    }
    for name, picture in save.items():
        cv2.imwrite(str(tmp_path / name), picture)
    (tmp_path / "notes.txt").write_text("who is who")
    (tmp_path / "empty.jpg").write_bytes(b"")
    said = refusal(tmp_path, tools)
    assert "'wall.png' shows no face" in said
    assert "'all.jpg' shows 6 faces" in said
    assert "'far.png' shows a face of 4" in said
    assert "'notes.txt' is no picture" in said
    assert "'empty.jpg' is no picture" in said


def test_of_many_photos_that_cannot_be_used_a_few_are_named(tools: Tools, tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.jpg").write_bytes(b"no picture")
    said = refusal(tmp_path, tools)
    assert "'4.jpg'" in said
    assert "'5.jpg'" not in said
    assert said.endswith("3 more")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "cannot be read"),
        (lambda path: path.mkdir(), "has no photos"),
        (lambda path: path.write_text(""), "cannot be read"),
        (lambda path: (path / "anna").mkdir(parents=True), "the sub-folder 'anna' is empty"),
        (lambda path: (path / "anna" / "2019").mkdir(parents=True), "cannot be read"),
    ],
)
def test_a_folder_without_photos_is_refused(tools: Tools, tmp_path: Path, make, says: str) -> None:
    make(tmp_path / "known")
    assert says in refusal(tmp_path / "known", tools)


def test_a_film_is_no_photo(tools: Tools, tmp_path: Path) -> None:
    with av.open(str(tmp_path / "clip.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        frame = av.VideoFrame(32, 32, "yuv420p")
        container.mux([*stream.encode(frame), *stream.encode(None)])
    assert "'clip.mp4' is no picture" in refusal(tmp_path, tools)
