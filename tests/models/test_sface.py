"""SFace tells real people apart: pairs as the model's own numbers were first measured."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mpflow.errors import ContractError
from mpflow.models.align import ARCFACE_POINTS, crop, similarity
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SAME_PERSON, SFace
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet

Read = Callable[[str], NDArray[np.uint8]]
PORTRAITS = ["person-a-1", "person-a-2", "person-b-1", "person-b-2", "impostor-1", "impostor-2"]


@pytest.fixture(scope="module")
def sface(model_store: ModelStore) -> SFace:
    return SFace(open_session(model_store.path("sface"), device="cpu")[0])


@pytest.fixture(scope="module")
def crops(model_store: ModelStore, picture: Read) -> list[tuple[str, NDArray[np.uint8]]]:
    """Every face of the test photos, aligned, with whose it is."""
    yunet = YuNet(open_session(model_store.path("yunet"), device="cpu")[0])
    found = []
    for name in [*PORTRAITS, "astronaut", "group-photo"]:
        blob, scale = letterbox(picture(name), 640, 640)
        faces = yunet.detect(blob)[0].scaled(1 / scale)
        for number, points in enumerate(faces.points):
            person = name[:8] if name.startswith("person") else f"{name} {number}"
            found.append((person, crop(picture(name), points)))
    return found


def test_one_person_is_near_and_two_are_far(
    sface: SFace, crops: list[tuple[str, NDArray[np.uint8]]]
) -> None:
    people = [person for person, _ in crops]
    embeddings = sface.embed([face for _, face in crops])
    same, different = [], []
    for one, other in combinations(range(len(people)), 2):
        pair = same if people[one] == people[other] else different
        pair.append(float(embeddings[one] @ embeddings[other]))
    assert (len(same), len(different)) == (2, 76)
    assert min(same) >= 0.60
    assert max(different) <= 0.40
    assert max(different) < SAME_PERSON < min(same)


def test_an_embedding_has_length_one_and_does_not_depend_on_its_batch(
    sface: SFace, crops: list[tuple[str, NDArray[np.uint8]]]
) -> None:
    faces = [face for _, face in crops[:3]]
    together = sface.embed(faces)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    for number, face in enumerate(faces):
        np.testing.assert_allclose(sface.embed([face])[0], together[number], atol=1e-4)


def test_no_face_gives_no_embedding(sface: SFace) -> None:
    assert sface.embed([]).shape == (0, 128)


def test_a_crop_of_another_size_is_refused(sface: SFace) -> None:
    with pytest.raises(ContractError, match="112x112"):
        sface.embed([np.zeros((128, 128, 3), np.uint8)])


@given(st.floats(0.1, 10), st.floats(-3.1, 3.1), st.floats(-500, 500), st.floats(-500, 500))
def test_a_similarity_is_found_again(scale: float, angle: float, x: float, y: float) -> None:
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = ARCFACE_POINTS @ turn.T + (x, y)
    expected = np.hstack([turn, [[x], [y]]])
    np.testing.assert_allclose(similarity(ARCFACE_POINTS, moved), expected, rtol=1e-3, atol=1e-3)


def test_a_mirrored_face_is_not_mirrored_back() -> None:
    mirrored = ARCFACE_POINTS * (-1, 1)
    assert np.linalg.det(similarity(mirrored, ARCFACE_POINTS)[:, :2]) > 0


def test_points_that_are_all_one_are_refused() -> None:
    with pytest.raises(ContractError, match="cannot be aligned"):
        similarity(np.ones((5, 2)), ARCFACE_POINTS)
