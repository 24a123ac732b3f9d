"""A made face over its target's crop: its colours, its edge, how it is joined."""

from __future__ import annotations

import cv2
import madefaces
import numpy as np
import pytest

from mpflow.swapping.colours import matching
from mpflow.swapping.compose import Blending, compose, laid_over
from mpflow.swapping.contract import Made
from mpflow.swapping.masks import least, outline_mask, weight_of

SIZE = madefaces.SIZE
CROP = madefaces.skin(SIZE, SIZE)


def off(one: madefaces.Picture, other: madefaces.Picture) -> np.ndarray:
    """How far two pictures are apart, by pixel."""
    return np.abs(one.astype(int) - other).max(axis=2)


@pytest.mark.parametrize("blend", ["soft", "seamless"])
def test_a_face_that_was_not_changed_changes_nothing(blend: str) -> None:
    picture, weight = compose(CROP, madefaces.whole(CROP), Blending(blend=blend))
    assert off(laid_over(CROP, picture, weight), CROP).max() <= 1
    assert weight.dtype == np.float32
    assert weight.max() == 1


@pytest.mark.parametrize(("blend", "most"), [("soft", 5.0), ("seamless", 8.0)])
def test_a_face_in_other_light_gets_the_colours_of_its_target(blend: str, most: float) -> None:
    made = madefaces.whole(madefaces.bluer(CROP))
    picture, weight = compose(CROP, made, Blending(blend=blend))
    inside = weight > 0.5
    assert off(made.picture, CROP)[inside].mean() > 30
    assert off(picture, CROP)[inside].mean() < most


def test_its_own_colours_are_kept_where_that_is_asked() -> None:
    made = madefaces.whole(madefaces.bluer(CROP))
    picture, _ = compose(CROP, made, Blending(colour="keep"))
    assert np.array_equal(picture, made.picture)


def test_light_from_one_side_falls_on_the_made_face_too() -> None:
    side = np.linspace(0.7, 1.2, SIZE)[None, :, None]
    lit = np.clip(CROP * side, 0, 255).astype(np.uint8)
    picture, _ = compose(lit, madefaces.whole(CROP), Blending())
    left, right = (slice(None), slice(20, 40)), (slice(None), slice(88, 108))
    for part in (left, right):
        assert off(picture, lit)[part].mean() < 6
        assert off(CROP, lit)[part].mean() > 12


def test_a_hand_before_the_target_does_not_colour_the_face() -> None:
    hidden = CROP.copy()
    hidden[int(0.6 * SIZE) :] = (20, 30, 10)
    made = madefaces.whole(madefaces.bluer(CROP))
    picture, _ = compose(hidden, made, Blending())
    open_part = slice(10, int(0.5 * SIZE))
    assert off(picture, CROP)[open_part].mean() < 4


def test_too_small_a_face_says_nothing_of_its_colours() -> None:
    weight = np.zeros((SIZE, SIZE), np.float32)
    weight[:3, :3] = 1
    assert matching(CROP, CROP, weight) is None


def test_ratio_is_how_much_of_the_face_is_seen() -> None:
    made = madefaces.whole(madefaces.bluer(CROP))
    _, weight = compose(CROP, made, Blending(ratio=0.25))
    assert weight.max() == pytest.approx(0.25)


def test_weight_rises_from_the_edge_inwards_and_never_steps() -> None:
    mask = np.zeros((SIZE, SIZE), np.uint8)
    cv2.circle(mask, (64, 64), 50, 255, -1)
    weight = weight_of(mask, 0.1)
    assert not weight[mask == 0].any()
    assert weight[64, 64] == 1
    row = weight[64, 14:64]
    assert (np.diff(row) >= 0).all()
    assert np.diff(row).max() < 1.6 / (0.1 * 101)


def test_what_is_cut_out_within_has_the_edge_that_it_has() -> None:
    mask = np.zeros((SIZE, SIZE), np.uint8)
    cv2.circle(mask, (64, 64), 50, 255, -1)
    whole = weight_of(mask, 0.1)
    mask[70:80, 50:78] = 0
    mask[5, 5] = 255
    weight = weight_of(mask, 0.1)
    assert not weight[70:80, 50:78].any()
    mask[70:80, 50:78] = 255
    kept = np.ones((SIZE, SIZE), bool)
    kept[70:80, 50:78] = False
    assert np.array_equal(weight[kept], whole[kept])


def test_the_border_of_the_crop_is_an_edge() -> None:
    weight = weight_of(np.full((SIZE, SIZE), 255, np.uint8), 0.1)
    frame = np.concatenate([weight[0], weight[-1], weight[:, 0], weight[:, -1]])
    assert frame.max() < 0.05


def test_weight_is_nowhere_more_than_the_swapper_allows() -> None:
    mask = np.full((SIZE, SIZE), 200, np.uint8)
    assert weight_of(mask, 0.0).max() == pytest.approx(200 / 255)


def test_the_outline_of_a_mesh_is_filled_and_joined_with_other_masks() -> None:
    matrix = madefaces.place(64, 64, SIZE)
    mesh = madefaces.oval(matrix)
    outline = outline_mask(mesh[:, :2] @ matrix[:, :2].T + matrix[:, 2], SIZE)
    assert outline.mean() / 255 == pytest.approx(np.pi * 0.3 * 0.4, rel=0.03)
    half = np.zeros_like(outline)
    half[:64] = 255
    joined = least(half, None, outline)
    assert not joined[64:].any()
    assert np.array_equal(joined[:64], outline[:64])


@pytest.mark.parametrize("blend", ["soft", "seamless"])
def test_nothing_is_laid_where_nothing_was_made(blend: str) -> None:
    mask = np.zeros((SIZE, SIZE), np.uint8)
    _, weight = compose(CROP, Made(madefaces.bluer(CROP), mask), Blending(blend=blend))
    assert not weight.any()


@pytest.mark.parametrize("blend", ["soft", "seamless"])
def test_there_is_no_seam(blend: str) -> None:
    """The step between neighbours is nowhere larger than in the two pictures themselves."""
    mask = np.zeros((SIZE, SIZE), np.uint8)
    cv2.circle(mask, (64, 64), 45, 255, -1)
    other = madefaces.bluer(madefaces.skin(SIZE, SIZE, seed=2))
    picture, weight = compose(CROP, Made(other, mask), Blending(blend=blend))
    laid = laid_over(CROP, picture, weight)
    steps = [np.abs(np.diff(each.astype(int), axis=1)).max() for each in (laid, CROP, picture)]
    assert steps[0] <= max(steps[1:]) + 6
