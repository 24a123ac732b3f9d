"""The swapper without weights: what it draws, what it leaves, and whose face comes of it."""

from __future__ import annotations

from dataclasses import replace

import fits
import numpy as np
import pytest
import swapfaces

from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.swapping.compose import Blending, compose, laid_over
from mpflow.swapping.contract import Made, Photo, Picture, Target
from mpflow.swapping.masks import least, outline_mask
from mpflow.swapping.meshwarp import MeshWarp, affine, nearest
from mpflow.swapping.textures import Texture, texture_of

FRONTAL = [
    ("astronaut", "person-a-1"),
    ("astronaut", "person-b-1"),
    ("person-a-2", "astronaut"),
    ("person-b-2", "person-a-2"),
    ("impostor-2", "astronaut"),
    ("person-b-1", "impostor-2"),
]


@pytest.fixture(scope="module")
def faces(model_store: ModelStore) -> swapfaces.Faces:
    return swapfaces.Faces(model_store, fits.face_mesh(model_store))


@pytest.fixture(scope="module")
def sface(model_store: ModelStore) -> SFace:
    return SFace(open_session(model_store.path("sface"), device="cpu")[0])


@pytest.fixture(scope="module")
def closed(faces: swapfaces.Faces) -> Photo:
    """A face with closed lips and open eyes."""
    return faces.photo("person-a-2")


def swapped(photo: Photo, at: Target, *, size: int = 256) -> Made:
    warp = MeshWarp(size)
    (made,) = warp.swap([at], [warp.prepare(swapfaces.source(photo))])
    assert made is not None
    return made


def composed(made: Made, at: Target) -> Picture:
    assert at.mesh is not None
    mask = least(outline_mask(at.mesh, len(at.crop)), made.mask)
    return laid_over(at.crop, *compose(at.crop, Made(made.picture, mask), Blending()))


def test_a_face_in_its_own_place_stays_as_it_is(closed: Photo) -> None:
    at = swapfaces.target(closed)
    made = swapped(closed, at)
    good = made.mask > 250
    assert good.mean() > 0.15
    off = np.abs(made.picture.astype(int) - at.crop)[good]
    assert off.mean() < 3
    assert np.percentile(off, 99) < 25


def test_what_the_mesh_does_not_cover_is_the_target(closed: Photo) -> None:
    at = swapfaces.target(closed)
    assert at.mesh is not None
    made = swapped(replace(closed, picture=255 - closed.picture), at)
    around = outline_mask((at.mesh - at.mesh.mean(axis=0)) * 1.05 + at.mesh.mean(axis=0), 256)
    assert (made.picture == at.crop)[around == 0].all()
    assert (made.picture != at.crop).any(axis=2)[made.mask > 250].mean() > 0.95


def test_a_face_moves_with_the_mesh(closed: Photo) -> None:
    at = swapfaces.target(closed)
    assert at.mesh is not None
    there = swapped(closed, at)
    shift = np.array([8, -4, 0], np.float32)
    moved = swapped(closed, replace(at, mesh=at.mesh + shift))
    inner = (slice(90, 180), slice(90, 160))
    part = moved.picture[86:176, 98:168].astype(int)
    assert np.abs(part - there.picture[inner]).mean() < 1


@pytest.mark.parametrize(("whose", "where"), FRONTAL)
def test_the_result_is_nearer_to_the_source_than_to_the_target(
    faces: swapfaces.Faces, sface: SFace, whose: str, where: str
) -> None:
    photo, at = faces.photo(whose), swapfaces.target(faces.photo(where))
    result = composed(swapped(photo, at), at), at.points
    to_source = swapfaces.alike(sface, result, (photo.picture, photo.points))
    to_target = swapfaces.alike(sface, result, (at.crop, at.points))
    assert to_source > to_target + 0.02
    assert to_source > 0.42  # one person, says SFace


def test_an_open_mouth_stays_the_targets(faces: swapfaces.Faces, closed: Photo) -> None:
    at = swapfaces.target(faces.photo("person-b-1"))
    assert at.mesh is not None
    mouth = np.rint(at.mesh[[13, 14], :2].mean(axis=0)).astype(int)
    assert swapped(closed, at).mask[mouth[1], mouth[0]] < 10
    own = swapfaces.target(closed)
    assert own.mesh is not None
    mouth = np.rint(own.mesh[[13, 14], :2].mean(axis=0)).astype(int)
    assert swapped(closed, own).mask[mouth[1], mouth[0]] > 250
    assert swapped(faces.photo("person-b-1"), own).mask[mouth[1], mouth[0]] < 10  # no teeth on lips


def test_shut_eyes_stay_the_targets(faces: swapfaces.Faces, closed: Photo) -> None:
    at = swapfaces.target(faces.photos("group-photo")[0])
    assert at.mesh is not None
    for eye in at.points[:2]:
        x, y = np.rint(eye).astype(int)
        assert swapped(closed, at).mask[y, x] < 60


def test_what_a_photo_does_not_show_stays_the_targets(
    faces: swapfaces.Faces, closed: Photo
) -> None:
    aside = faces.photos("group-photo")[4]  # by 48 degrees to the image's left
    made = swapped(aside, swapfaces.target(closed))
    at = swapfaces.target(closed)
    assert at.mesh is not None
    left, right = (np.rint(at.mesh[point, :2]).astype(int) for point in (123, 352))
    assert made.mask[left[1], left[0]] < 60  # its far cheek
    assert made.mask[right[1], right[0]] > 200


def test_hair_over_a_forehead_is_not_brought_along(faces: swapfaces.Faces) -> None:
    texture = texture_of(faces.photo("astronaut"), "ffhq", 256)
    forehead, cheek = (np.rint(texture.mesh[point, :2]).astype(int) for point in (10, 50))
    assert texture.picture[forehead[1] + 2, forehead[0], 3] < 100
    assert texture.picture[cheek[1], cheek[0], 3] == 255


def test_the_photo_turned_like_the_target_is_drawn() -> None:
    empty = np.zeros((1, 1, 4), np.uint8), np.zeros((468, 3), np.float32), np.zeros(896, np.float32)
    front = Texture(*empty, (0.0, -5.0, 20.0), parted=0, shut=0)
    smiling = Texture(*empty, (1.0, -5.0, 0.0), parted=1, shut=0)
    aside = Texture(*empty, (30.0, 0.0, 0.0), parted=0, shut=0)
    all_of_them = [smiling, aside, front]
    assert nearest(all_of_them, (2.0, -5.0, -40.0)) is front
    assert nearest(all_of_them, (40.0, 0.0, 0.0)) is aside
    assert nearest(all_of_them, (-40.0, 0.0, 0.0)) is front
    assert nearest(all_of_them, None) is front


def test_a_face_without_a_mesh_in_its_crop_is_left(closed: Photo) -> None:
    warp = MeshWarp()
    at = swapfaces.target(closed)
    assert at.mesh is not None
    skin = warp.prepare(swapfaces.source(closed))
    away = replace(at, mesh=at.mesh + 5000)
    found = warp.swap([replace(at, mesh=None), at, away], [skin] * 3)
    assert [made is None for made in found] == [True, False, True]


@pytest.mark.parametrize("size", [128, 512])
def test_crops_of_any_size_are_drawn(closed: Photo, size: int) -> None:
    at = swapfaces.target(closed, size)
    made = swapped(closed, at, size=size)
    assert made.picture.shape == (size, size, 3)
    assert made.mask.shape == (size, size)
    assert np.abs(made.picture.astype(int) - at.crop)[made.mask > 250].mean() < 6


def test_a_photo_that_cuts_the_face_is_drawn_as_far_as_it_goes(closed: Photo) -> None:
    x = int(closed.mesh[1, 0]) + 20
    half = replace(closed, picture=closed.picture[:, :x])
    at = swapfaces.target(closed)
    assert at.mesh is not None
    made = swapped(half, at)
    left, right = (np.rint(at.mesh[point, :2]).astype(int) for point in (50, 352))
    assert made.mask[left[1], left[0]] > 200
    assert made.mask[right[1], right[0]] == 0


def test_matrices_bring_corners_to_corners() -> None:
    rng = np.random.default_rng(3)
    start, goal = rng.uniform(0, 100, (2, 20, 3, 2)).astype(np.float32)
    ways = affine(start, goal).reshape(-1, 2, 3)
    there = np.einsum("tij,tkj->tki", ways[..., :2], start) + ways[:, None, :, 2]
    np.testing.assert_allclose(there, goal, atol=0.05)
    flat = np.zeros((1, 3, 2), np.float32)
    assert np.isfinite(affine(flat, goal[:1])).all()
