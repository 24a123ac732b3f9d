"""Crops of faces straight from a frame's planes, against what OpenCV makes of the whole as BGR."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import scenes

from mpflow.errors import ContractError
from mpflow.frame import PIXEL_FORMATS
from mpflow.memory import MemorySlot
from mpflow.models.align import ARCFACE_POINTS, TEMPLATES, Template, aligned, crop, cut
from mpflow.models.store import ModelStore
from mpflow.models.warp import warped

POINTS = np.array([(253, 140), (300, 138), (277, 165), (258, 190), (296, 189)])  # on the portrait


def smooth(width: int = 400, height: int = 300) -> scenes.Picture:
    """A picture without edges, so that a crop depends little on how it was interpolated."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 17) + np.cos(y / 13), np.sin((x + y) / 23), np.cos((x - 2 * y) / 31)]
    return np.stack([(128 + 45 * wave) for wave in waves], -1).astype(np.uint8)


def turned(scale: float, degrees: float, size: int) -> np.ndarray:
    """A turn and scale about the middle of the picture into the middle of a crop."""
    matrix = cv2.getRotationMatrix2D((200, 150), degrees, scale)
    matrix[:, 2] += np.array([size / 2 - 200, size / 2 - 150])
    return matrix.astype(np.float32)


def reference(picture: scenes.Picture, matrix: np.ndarray, size: int) -> np.ndarray:
    """The same crop with an exact mean over what each pixel shows: 8x8 samples of each."""
    fine = matrix.astype(np.float64) * 8
    fine[:, 2] += 3.5
    large = cv2.warpAffine(picture, fine, (size * 8, size * 8), flags=cv2.INTER_LINEAR)
    return cv2.resize(large, (size, size), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("name", sorted(PIXEL_FORMATS))
@pytest.mark.parametrize("scale", [2.0, 0.9, 0.45, 0.1])
def test_a_crop_shows_what_the_picture_has_there_in_every_format(name: str, scale: float) -> None:
    picture = smooth()
    made = scenes.slot(picture, name)
    if PIXEL_FORMATS[name].gray:
        picture = scenes.bgr(made)
    size = 24 if scale < 0.2 else 100
    matrix = turned(scale, 25, size)
    found = warped(made.frame(), matrix, (size, size))
    difference = np.abs(found.astype(int) - reference(picture, matrix, size))
    assert difference.mean() < 1.5
    assert np.quantile(difference, 0.99) <= 6


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_outside_the_frame_a_crop_is_black_or_repeats_the_edge(scale: float) -> None:
    made = scenes.slot(np.full((90, 120, 3), 200, np.uint8))
    shift = np.array([[scale, 0, 40], [0, scale, 40]], np.float32)
    black = warped(made.frame(), shift, (160, 160))
    assert black[:38].max() <= 1
    assert abs(int(black[50, 50, 0]) - 200) <= 1
    repeated = warped(made.frame(), shift, (160, 160), repeat_edge=True)
    assert np.abs(repeated.astype(int) - 200).max() <= 1


@pytest.mark.parametrize("shift", [(-5000, 0), (0, 5000), (9000, 9000)])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_crop_that_lies_outside_the_frame_is_black(scale: float, shift: tuple[int, int]) -> None:
    made = scenes.slot(np.full((91, 121, 3), 200, np.uint8))
    matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)
    assert warped(made.frame(), matrix, (50, 50)).max() <= 1


def test_a_face_larger_than_its_crop_keeps_no_moire() -> None:
    """Stripes of two pixels, shown at a tenth, are grey."""
    stripes = np.zeros((1000, 1000, 3), np.uint8)
    stripes[:, ::4] = stripes[:, 1::4] = 255
    found = warped(scenes.slot(stripes).frame(), turned(0.1, 0, 30), (30, 30))
    assert np.ptp(found[1:-1, :, 1].astype(int)) <= 12


@pytest.mark.parametrize("template", sorted(TEMPLATES))
@pytest.mark.parametrize("size", [112, 128, 256])
def test_the_five_points_come_to_the_templates_places(template: Template, size: int) -> None:
    turn = cv2.getRotationMatrix2D((0, 0), 30, 1.7)
    points = np.column_stack([TEMPLATES[template] * 60, np.ones(5)]) @ turn.T + (90, 120)
    made = MemorySlot.of("yuv420p", 320, 240)
    face, matrix = aligned(made.frame(), points, template, size)
    assert face.shape == (size, size, 3)
    assert matrix.dtype == np.float32
    there = np.column_stack([points, np.ones(5)]) @ matrix.T
    np.testing.assert_allclose(there, TEMPLATES[template] * size, atol=0.01)


def test_a_swappers_template_is_the_embedders_moved_to_the_middle() -> None:
    np.testing.assert_allclose(TEMPLATES["arcface-128"] * 128, ARCFACE_POINTS + np.array([8, 0]))


def test_the_older_template_lies_where_others_put_it() -> None:
    """Its published shares of the crop, to the fourth place."""
    shares = [(0.3547, 0.4566), (0.6453, 0.4566), (0.5, 0.6115), (0.3791, 0.7769), (0.6209, 0.7769)]
    np.testing.assert_allclose(TEMPLATES["arcface-v1"], shares, atol=1e-4)


@pytest.mark.parametrize("scale", [1, 3, 9])
def test_a_photo_is_cut_in_place_whatever_its_size(scale: int) -> None:
    """A ramp stays the same ramp, and stripes become grey."""
    side = 64 * scale
    points = TEMPLATES["ffhq"] * side + np.array([3.0, -2.0]) * scale
    column, row = np.meshgrid(np.arange(side + 40), np.arange(side + 40))
    ramp = ((column + 0.5) / scale * 2).clip(0, 255)
    picture = np.stack([ramp, (row + 0.5) / scale * 2, row % 2 * 255], axis=2)
    found = cut(np.rint(picture.clip(0, 255)).astype(np.uint8), points, "ffhq", 64)
    across = np.arange(4, 60)
    at = across / 64 * side + 3 * scale + 0.5
    np.testing.assert_allclose(found[30, 4:60, 0], at / scale * 2, atol=1.6)
    if scale > 2:
        assert np.ptp(found[10:50, 10:50, 2].astype(int)) <= 60


def test_a_crop_from_planes_is_the_crop_from_bgr(model_store: ModelStore) -> None:
    picture = scenes.read(model_store, "astronaut")
    found, _ = aligned(scenes.slot(picture, "yuv444p").frame(), POINTS - (50, 30))
    wanted = crop(picture, POINTS - (50, 30))
    assert np.abs(found.astype(int) - wanted).mean() < 2


@pytest.mark.parametrize(
    ("points", "words"),
    [(np.ones((5, 2)), "all one"), (np.ones((4, 2)), "by five points"), ((), "by five points")],
)
def test_what_cannot_be_aligned_is_refused(points: object, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        aligned(MemorySlot.of("yuv420p", 64, 64).frame(), points)  # type: ignore[arg-type]
