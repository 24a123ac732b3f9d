"""Source photos on real faces: what is known of a good one, and why others are refused."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import scenes

from mpflow.errors import ConfigError
from mpflow.models.store import ModelStore
from mpflow.swapping.sources import Studio, open_studio


@pytest.fixture(scope="module")
def studio(model_store: ModelStore) -> Studio:
    return open_studio(model_store, 1)


def test_a_photo_gives_the_points_the_mesh_and_the_pose_of_its_face(
    studio: Studio, model_store: ModelStore
) -> None:
    source, embeddings = studio.source([model_store.path("astronaut")])
    (photo,) = source.photos
    assert photo.picture.shape == (512, 512, 3)
    assert photo.mesh.shape == (468, 3)
    x1, y1, x2, y2 = 180, 62, 270, 176  # where the face is
    assert (photo.points >= (x1, y1)).all()
    assert (photo.points <= (x2, y2)).all()
    middle = photo.mesh[:, :2].mean(axis=0)
    assert np.abs(middle - ((x1 + x2) / 2, (y1 + y2) / 2)).max() < 12
    assert all(abs(degrees) < 20 for degrees in photo.pose)
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1)


def test_several_photos_of_one_person_are_one_source_the_straightest_first(
    studio: Studio, model_store: ModelStore, tmp_path: Path
) -> None:
    straight = model_store.path("person-a-2")
    turned = tmp_path / "smaller.png"
    cv2.imwrite(
        str(turned), cv2.resize(scenes.read(model_store, "person-a-2"), None, fx=0.5, fy=0.5)
    )
    source, embeddings = studio.source([straight, turned])
    assert len(source.photos) == len(embeddings) == 2
    yaws = [np.hypot(*photo.pose[:2]) for photo in source.photos]
    assert yaws == sorted(yaws)


def test_a_photo_is_turned_as_its_exif_data_say(
    studio: Studio, model_store: ModelStore, tmp_path: Path
) -> None:
    picture = scenes.read(model_store, "astronaut")
    jpeg = cv2.imencode(".jpg", np.rot90(picture))[1].tobytes()
    # a TIFF header with one entry: orientation 6, to be shown turned clockwise
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00"
    body = b"Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01" + entry + b"\x00\x00\x00\x00"
    file = tmp_path / "turned.jpg"
    file.write_bytes(jpeg[:2] + b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + jpeg[2:])
    (photo,) = studio.source([file])[0].photos
    assert abs(photo.pose[2]) < 15


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("group-photo", "shows 6 faces"),
        ("person-a-1", r"would have to be enlarged 1\.1 times to fill a crop of 112 pixels"),
        ("nothing", "shows no face"),
        ("tiny", "shows no face|pixels"),
        ("text", "is no picture that can be read"),
        ("gone", "cannot be read"),
    ],
)
def test_a_photo_of_no_use_is_refused_by_its_name(
    studio: Studio, model_store: ModelStore, tmp_path: Path, name: str, why: str
) -> None:
    made = {"nothing": np.full((300, 300, 3), 90, np.uint8)}
    made["tiny"] = cv2.resize(scenes.read(model_store, "astronaut"), (96, 96)).astype(np.uint8)
    path = tmp_path / f"{name}.png"
    if name in made:
        cv2.imwrite(str(path), made[name])
    elif name == "text":
        path.write_text("no picture")
    elif name != "gone":
        path = model_store.path(name)
    with pytest.raises(ConfigError, match=why) as refused:
        studio.source([model_store.path("astronaut"), path])
    assert path.name in str(refused.value)


def test_photos_of_two_people_are_no_source(studio: Studio, model_store: ModelStore) -> None:
    photos = [model_store.path(name) for name in ("person-b-1", "person-b-2", "impostor-1")]
    assert studio.source(photos[:2])
    with pytest.raises(
        ConfigError, match=r"person-b-1.* and '.*impostor-1.* show different people"
    ):
        studio.source(photos)
