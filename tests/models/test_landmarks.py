"""The mesh on real faces: in every format, in batches, from five points or only a box."""

from __future__ import annotations

from typing import Any

import cv2
import fits
import numpy as np
import pytest
import scenes

from mpflow.errors import ModelError
from mpflow.models.facemesh import COUNT, FaceMesh
from mpflow.models.landmarks import Landmarks, back, fit, mesh_outline, square_region
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.tokens import Face


@pytest.fixture(scope="module")
def mesh_model(model_store: ModelStore) -> FaceMesh:
    return fits.face_mesh(model_store)


@pytest.fixture(scope="module")
def group(model_store: ModelStore) -> list[fits.Sight]:
    return list(fits.sights(model_store, "group-photo"))


@pytest.fixture(scope="module")
def found(mesh_model: FaceMesh, group: list[fits.Sight]) -> list[Landmarks]:
    return fit(mesh_model, [(each.frame, each.face) for each in group])


def size(points: np.ndarray) -> float:
    return float(np.ptp(points[:, :2], axis=0).max())


def apart(one: Landmarks, other: Landmarks) -> float:
    """How far the points of two fits are from each other, in widths of the face."""
    far = np.linalg.norm(one.points[:, :2] - other.points[:, :2], axis=1).mean()
    return float(far) / size(one.points)


def test_every_face_of_a_photo_gets_its_mesh(
    group: list[fits.Sight], found: list[Landmarks], mesh_model: FaceMesh
) -> None:
    assert len(found) == 6
    for sight, landmarks in zip(group, found, strict=True):
        assert landmarks.points.shape == (COUNT, 3)
        assert landmarks.points.dtype == np.float32
        assert landmarks.score > 0.99
        x1, y1, x2, y2 = sight.face.box
        five = mesh_model.five(landmarks.points)
        assert ((five > (x1, y1)) & (five < (x2, y2))).all()
        off = np.linalg.norm(five - np.array(sight.face.points), axis=1)
        assert off.max() < 0.16 * max(x2 - x1, y2 - y1)


def test_what_is_no_face_has_no_score(mesh_model: FaceMesh, group: list[fits.Sight]) -> None:
    boxes = [(0, 700, 80, 800), (100, 780, 200, 880), (800, 760, 900, 860), (600, 600, 700, 700)]
    faces = [Face(tuple(map(float, box)), 0.9) for box in boxes]
    found = fit(mesh_model, [(group[0].frame, face) for face in faces])
    assert max(each.score for each in found) < 0.1


@pytest.mark.parametrize("name", ["yuv420p", "nv12", "yuv420p10le", "gray"])
def test_the_format_of_a_frame_moves_no_point_far(
    mesh_model: FaceMesh, group: list[fits.Sight], found: list[Landmarks], name: str
) -> None:
    frame = scenes.slot(group[0].picture, name).frame()
    again = fit(mesh_model, [(frame, each.face) for each in group])
    assert max(apart(a, b) for a, b in zip(found, again, strict=True)) < 0.02


def test_a_batch_gives_what_single_calls_give(
    mesh_model: FaceMesh, group: list[fits.Sight], found: list[Landmarks]
) -> None:
    calls = [(each.frame, each.face) for each in group]
    for most in (1, 4):
        for one, other in zip(found, fit(mesh_model, calls, most), strict=True):
            np.testing.assert_allclose(one.points, other.points, atol=0.01)
    assert fit(mesh_model, []) == []


def test_a_box_without_points_will_do(
    mesh_model: FaceMesh, group: list[fits.Sight], found: list[Landmarks]
) -> None:
    boxes = [Face(each.face.box, each.face.score) for each in group]
    again = fit(mesh_model, [(group[0].frame, face) for face in boxes])
    assert max(apart(a, b) for a, b in zip(found, again, strict=True)) < 0.06


def test_a_tilted_face_is_brought_upright_first(
    mesh_model: FaceMesh, model_store: ModelStore
) -> None:
    (sight,) = fits.sights(model_store, "astronaut")
    straight = fit(mesh_model, [(sight.frame, sight.face)])[0]
    turn = cv2.getRotationMatrix2D((230, 120), -70, 1.0)
    picture = cv2.warpAffine(sight.picture, turn, (512, 512), borderMode=cv2.BORDER_REPLICATE)
    points = np.array(sight.face.points) @ turn[:, :2].T + turn[:, 2]
    box = (*points.min(axis=0), *points.max(axis=0))
    face = Face(tuple(map(float, box)), 0.9, tuple(map(tuple, points.tolist())))
    tilted = fit(mesh_model, [(scenes.slot(picture, "yuv444p").frame(), face)])[0]
    moved = straight.points[:, :2] @ turn[:, :2].T + turn[:, 2]
    off = np.linalg.norm(tilted.points[:, :2] - moved, axis=1).mean()
    assert off < 0.02 * size(straight.points)


@pytest.mark.parametrize("side", [40.0, 192.0, 700.0])
def test_a_region_goes_to_its_crop_and_back(side: float) -> None:
    matrix = square_region((300.0, 200.0), side, 30.0, 192)
    points = np.array([[0, 0, 10], [191, 0, 0], [95.5, 95.5, -5]], np.float32)
    there = back(points, matrix)
    np.testing.assert_allclose(there[2, :2], (300, 200), atol=1e-2)
    np.testing.assert_allclose(there[0, 2], 10 * side / 192, rtol=1e-3)
    assert there[1, 1] > there[0, 1]  # turned clockwise: the upper edge falls to the right
    again = there[:, :2] @ matrix[:, :2].T + matrix[:, 2]
    np.testing.assert_allclose(again, points[:, :2], atol=0.02)


def test_an_outline_holds_every_point(found: list[Landmarks]) -> None:
    for landmarks in found:
        polygon = mesh_outline(landmarks.points)
        assert polygon.dtype == np.float32
        inside = [
            cv2.pointPolygonTest(polygon, (float(x), float(y)), measureDist=True)
            for x, y in landmarks.points[:, :2]
        ]
        assert min(inside) > -0.01
    assert cv2.contourArea(mesh_outline(np.eye(3, 2, dtype=np.float32))) == 0.5


def test_a_file_that_is_no_mesh_is_refused(model_store: ModelStore) -> None:
    session: Any = open_session(model_store.path("sface"), device="cpu")[0]
    with pytest.raises(ModelError, match="no face mesh: it gives fc1"):
        FaceMesh(session)
