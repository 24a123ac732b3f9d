"""How a head is turned: meshes of real faces turned by known angles, and painted so."""

from __future__ import annotations

import fits
import heads
import numpy as np
import pytest
import scenes

from mpflow.models.facemesh import FaceMesh
from mpflow.models.landmarks import fit
from mpflow.models.pose import Pose, pose_of, quality
from mpflow.models.store import ModelStore
from mpflow.tokens import Face

Array = heads.Array
ANGLES = [
    (yaw, pitch, roll)
    for yaw in (-45, -30, 0, 30, 45)
    for pitch in (-20, 0, 20)
    for roll in (-30, 0, 30)
]


@pytest.fixture(scope="module")
def mesh_model(model_store: ModelStore) -> FaceMesh:
    return fits.face_mesh(model_store)


@pytest.fixture(scope="module")
def meshes(model_store: ModelStore, mesh_model: FaceMesh) -> list[Array]:
    """The meshes of four portraits and a group of six, who look here and there."""
    seen = [*fits.sights(model_store, *fits.PORTRAITS, "group-photo")]
    found = fit(mesh_model, [(each.frame, each.face) for each in seen])
    return [each.points.astype(np.float64) for each in found]


def posed(mesh: Array, own: Pose, angles: tuple[float, float, float]) -> Array:
    """A mesh whose pose is ``own``, with these angles instead."""
    return heads.turned(mesh, heads.rotation(*angles) @ heads.rotation(*own).T)


def test_the_pose_of_a_mesh_is_how_it_was_turned(meshes: list[Array]) -> None:
    errors = []
    for mesh in meshes:
        own = pose_of(mesh)
        assert own is not None
        errors += [np.subtract(pose_of(posed(mesh, own, angles)), angles) for angles in ANGLES]
    size = np.abs(errors)
    assert size.mean() < 1.5
    assert np.quantile(size, 0.95) <= 3
    assert size.max() < 7


def test_five_points_tell_the_pose_more_roughly(meshes: list[Array], mesh_model: FaceMesh) -> None:
    errors = []
    for mesh in meshes:
        own = pose_of(mesh_model.five(mesh))
        assert own is not None
        turned = [posed(mesh, own, angles) for angles in ANGLES]
        errors += [
            np.subtract(pose_of(mesh_model.five(each)), angles)
            for each, angles in zip(turned, ANGLES, strict=True)
        ]
    size = np.abs(errors)
    assert np.quantile(size, 0.95) <= 8
    assert size.max() < 15


def test_each_angle_has_the_sign_that_is_seen(meshes: list[Array]) -> None:
    """By the nose between the eyes: right of their middle, above, and the eyes' line tilted."""
    mesh = meshes[0]
    own = pose_of(mesh)
    assert own is not None
    left_eye, right_eye, nose = 33, 263, 1
    straight = posed(mesh, own, (0, 0, 0))
    looks_right = posed(mesh, own, (30, 0, 0))
    looks_up = posed(mesh, own, (0, 20, 0))
    clockwise = posed(mesh, own, (0, 0, 30))
    middle = (straight[left_eye] + straight[right_eye]) / 2
    assert looks_right[nose, 0] > middle[0] + 10
    assert looks_up[nose, 1] - looks_up[left_eye, 1] < straight[nose, 1] - straight[left_eye, 1]
    assert clockwise[right_eye, 1] > clockwise[left_eye, 1] + 10


def test_a_mirrored_face_looks_the_other_way(model_store: ModelStore, mesh_model: FaceMesh) -> None:
    picture = scenes.read(model_store, "group-photo")
    mirrored = np.ascontiguousarray(picture[:, ::-1])
    poses = []
    for each in (picture, mirrored):
        frame = scenes.slot(each, "yuv444p").frame()
        found = fit(mesh_model, [(frame, face) for face in fits.faces_of(model_store, each)])
        poses.append(sorted(known(pose_of(one.points)) for one in found))
    assert len(poses[0]) == len(poses[1]) == 6
    for (yaw, _, roll), (other_yaw, _, other_roll) in zip(poses[0], poses[1][::-1], strict=True):
        assert abs(yaw + other_yaw) < 8
        assert abs(roll + other_roll) < 8


def known(pose: Pose | None) -> Pose:
    assert pose is not None
    return pose


def test_a_photo_painted_anew_and_turned_is_seen_turned(
    model_store: ModelStore, mesh_model: FaceMesh
) -> None:
    """The network makes less of a turn than it is: it has learnt photographs, not paintings."""
    (sight,) = fits.sights(model_store, "astronaut")
    mesh = fit(mesh_model, [(sight.frame, sight.face)])[0].points.astype(np.float64)
    own = pose_of(mesh)
    assert own is not None
    upright = posed(mesh, own, (0, 0, 0))
    for yaw, roll in ((-30, 0), (30, 0), (0, 25), (0, -25)):
        goal = posed(mesh, own, (yaw, 0, roll))
        picture = heads.painted(sight.picture, mesh, goal, upright)
        frame = scenes.slot(picture, "yuv444p").frame()
        box = (*goal[:, :2].min(axis=0), *goal[:, :2].max(axis=0))
        face = Face(box, 0.9, tuple(map(tuple, mesh_model.five(goal).tolist())))
        found = fit(mesh_model, [(frame, face)])[0]
        pose = pose_of(found.points)
        assert found.score > 0.9
        assert pose is not None
        assert abs(pose[0] - yaw) <= 10
        assert abs(pose[2] - roll) <= 4


@pytest.mark.parametrize(
    "points",
    [
        np.ones((5, 2)),
        np.zeros((468, 3)),
        np.full((5, 2), np.nan),
        np.zeros((4, 2)),
        np.zeros((0, 2)),
    ],
)
def test_points_that_are_no_faces_have_no_pose(points: Array) -> None:
    assert pose_of(points) is None


def test_points_in_a_line_make_no_numbers_that_are_none() -> None:
    pose = pose_of(np.column_stack([np.arange(5.0), np.zeros(5)]))
    assert pose is None or np.isfinite(pose).all()


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (((0, 0, 0), 112, 1.0), ((30, 0, 0), 112, 1.0)),
        (((30, 0, 0), 112, 1.0), ((60, 0, 0), 112, 1.0)),
        (((0, 0, 0), 112, 1.0), ((0, -30, 0), 112, 1.0)),
        (((0, 0, 0), 112, 1.0), ((0, 0, 0), 40, 1.0)),
        (((0, 0, 0), 112, 0.9), ((0, 0, 0), 112, 0.6)),
        (((0, 0, 0), 112, 1.0), (None, 112, 1.0)),
        ((None, 112, 1.0), ((90, 0, 0), 112, 1.0)),
    ],
)
def test_a_crop_is_worth_more(
    better: tuple[Pose | None, float, float], worse: tuple[Pose | None, float, float]
) -> None:
    assert 1 >= quality(*better) > quality(*worse) >= 0


def test_roll_and_size_beyond_the_crop_do_not_matter() -> None:
    assert quality((0, 0, 80), 400, 1.0) == quality((0, 0, 0), 112, 1.0) == 1
