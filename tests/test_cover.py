"""Covers: full where the face is, nothing outside the feather, and the same at every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpflow import cover
from mpflow.cover import FULL, Outline
from mpflow.picture import PictureLayout, PlaneFormat

LUMA = PlaneFormat()
CHROMA = PlaneFormat(1, 1)

coordinate = st.floats(-60, 140, allow_nan=False)
side = st.floats(0, 120, allow_nan=False)
faces = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), coordinate, coordinate, side, side)
outlines = st.builds(
    Outline,
    shape=st.sampled_from(["ellipse", "box"]),
    margin=st.floats(0, 1),
    feather=st.floats(0, 1),
)


def distances(
    face: tuple[float, float, float, float], outline: Outline, shape: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """Distance of each pixel from the face's centre, 1 at the edge of the margin; in float64."""
    grow = (1 + 2 * outline.margin) / 2
    rx, ry = (max((face[i + 2] - face[i]) * grow, 0.5) for i in (0, 1))
    x = np.abs(np.arange(shape[1]) - (face[0] + face[2]) / 2) / rx
    y = np.abs(np.arange(shape[0]) - (face[1] + face[3]) / 2) / ry
    result: npt.NDArray[np.float64] = (
        np.maximum.outer(y, x) if outline.shape == "box" else np.hypot.outer(y, x)
    )
    return result


@given(faces, outlines)
def test_weights_are_full_within_the_margin_and_nothing_beyond_the_feather(
    face: tuple[float, float, float, float], outline: Outline
) -> None:
    weights = outline.weights(face, (0, 0, 80, 60), LUMA)
    distance = distances(face, outline, (60, 80))
    assert (weights[distance <= 1 - 1e-5] == FULL).all()
    outside = distance > (1 + max(outline.feather, 0.01)) + 1e-5
    assert (weights[outside] <= 1).all()


@given(faces, outlines)
def test_the_extent_holds_every_weight(
    face: tuple[float, float, float, float], outline: Outline
) -> None:
    weights = outline.weights(face, (0, 0, 80, 60), LUMA).copy()
    x1, y1, x2, y2 = PictureLayout.of("gray", 80, 60).align(outline.extent(face))
    weights[y1:y2, x1:x2] = 0
    assert (weights <= 1).all()


@given(faces, outlines)
def test_a_chroma_sample_takes_the_largest_weight_of_its_pixels(
    face: tuple[float, float, float, float], outline: Outline
) -> None:
    fine = outline.weights(face, (4, 6, 81, 61), LUMA)
    coarse = outline.weights(face, (4, 6, 81, 61), CHROMA)
    padded = np.pad(fine, ((0, 1), (0, 1)))
    largest = padded.reshape(28, 2, 39, 2).max(axis=(1, 3))
    np.testing.assert_array_equal(coarse, largest)


@pytest.mark.parametrize(
    ("dtype", "peak"), [(np.uint8, 255), (np.uint16, 1023), (np.uint16, 65472)]
)
def test_blending_is_exact_at_both_ends_and_near_between(dtype: Any, peak: int) -> None:
    rng = np.random.default_rng(4)
    target = rng.integers(0, peak + 1, (64, 256)).astype(dtype)
    hidden = rng.integers(0, peak + 1, (64, 256)).astype(dtype)
    weight = np.broadcast_to(np.arange(256, dtype=np.uint8), (64, 256)).copy()
    blended = target.copy()
    cover.blend(blended, hidden.copy(), weight)
    np.testing.assert_array_equal(blended[:, 0], target[:, 0])
    np.testing.assert_array_equal(blended[:, 255], hidden[:, 255])
    exact = (hidden * (weight / 255.0)) + (target * (1 - weight / 255.0))
    assert np.abs(blended - exact).max() <= 1


@given(st.integers(1, 90), st.integers(1, 70), st.integers(1, 40), st.integers(1, 40))
@settings(max_examples=60)
def test_a_mosaic_has_one_value_in_each_cell_and_it_is_their_mean(
    height: int, width: int, across: int, down: int
) -> None:
    plane = np.random.default_rng(height).integers(0, 256, (height, width)).astype(np.uint8)
    result = cover.mosaic(plane, (across, down))
    assert result.shape == plane.shape
    for y in range(0, height, down):
        for x in range(0, width, across):
            cell = result[y : y + down, x : x + across]
            assert (cell == cell[0, 0]).all()
    whole = plane[: height // down * down, : width // across * across]
    if whole.size and across * down < 16:
        means = whole.reshape(height // down, down, width // across, across).mean(axis=(1, 3))
        assert np.abs(result[: len(whole) : down, : whole.shape[1] : across] - means).max() <= 1


def test_a_blur_takes_detail_away_and_keeps_the_mean() -> None:
    plane = np.zeros((120, 100), np.uint8)
    plane[::2] = 200
    result = cover.blur(plane, (20, 20))
    assert result.std() < 2
    assert abs(float(result.mean()) - 100) < 2


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.01, 500))
def test_a_blur_takes_any_size(height: int, width: int, sigma: float) -> None:
    plane = np.full((height, width), 77, np.uint8)
    np.testing.assert_array_equal(cover.blur(plane, (sigma, sigma)), plane)
