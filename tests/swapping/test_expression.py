"""Whether lips are parted and eyes shut, on photos where anybody can see it."""

from __future__ import annotations

import fits
import pytest
import swapfaces

from mpflow.models.store import ModelStore
from mpflow.swapping.expression import parted, shut, step

PORTRAITS = {  # whether the lips are parted
    "astronaut": True,
    "person-a-1": False,
    "person-a-2": False,
    "person-b-1": True,
    "person-b-2": True,
    "impostor-1": True,
    "impostor-2": True,
}
SHUT = [True, False, False, True, False, True]  # eyes of the group photo, from left to right


@pytest.fixture(scope="module")
def faces(model_store: ModelStore) -> swapfaces.Faces:
    return swapfaces.Faces(model_store, fits.face_mesh(model_store))


@pytest.mark.parametrize("name", PORTRAITS)
def test_parted_lips_are_told_from_closed_ones(faces: swapfaces.Faces, name: str) -> None:
    photo = faces.photo(name)
    assert parted(photo.mesh) == (1 if PORTRAITS[name] else 0)
    assert shut(photo.picture, photo.mesh) < 0.2


def test_shut_eyes_are_told_from_open_ones(faces: swapfaces.Faces) -> None:
    found = [shut(each.picture, each.mesh) for each in faces.photos("group-photo")]
    assert [share > 0.5 for share in found] == SHUT


def test_a_step_is_smooth() -> None:
    assert [step(value, 1.0, 2.0) for value in (0.5, 1.0, 1.5, 2.0, 9.0)] == [0, 0, 0.5, 1, 1]
