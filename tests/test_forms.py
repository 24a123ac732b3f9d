"""Forms of covers: around a box, around the hull of a mesh, around the whole head."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpflow.cover import FULL, Outline
from mpflow.forms import Around, Former, Hull, agree
from mpflow.heads import UPRIGHT, head_box, head_hull, up_of
from mpflow.picture import PictureLayout, PlaneFormat
from mpflow.tokens import Box, Face

LUMA, CHROMA = PlaneFormat(), PlaneFormat(1, 1)
Floats = npt.NDArray[np.float32]

# image-left eye, image-right eye, nose, image-left and image-right corner of the mouth, as a
# detector gives them for a face in the box (0, 0, 75, 100)
POINTS = ((22, 42), (53, 42), (37, 62), (25, 78), (50, 78))
BOX: Box = (0, 0, 75, 100)


def face(angle: float = 0, pose: tuple[float, float, float] | None = None) -> Face:
    """An upright face, turned clockwise about its centre; its box stays as upright ones are."""
    turn = math.radians(angle)
    x, y = np.array(POINTS, float).T - np.array([[37.5], [50]])
    turned = x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)
    points = tuple((float(a) + 37.5, float(b) + 50) for a, b in zip(*turned, strict=True))
    return Face(BOX, 0.9, points, pose=pose)


def polygon(points: list[tuple[float, float]]) -> Floats:
    return cv2.convexHull(np.array(points, np.float32))[:, 0].astype(np.float32)


places = st.tuples(st.integers(-80, 320), st.integers(-80, 240)).map(
    lambda at: (at[0] / 2, at[1] / 2)
)
polygons = st.lists(places, min_size=3, max_size=9).map(polygon)


@given(polygons, st.floats(0, 30), st.floats(1, 20), places)
@settings(max_examples=200, deadline=None)
def test_a_hull_is_covered_with_its_margin_and_nothing_beyond_the_feather(
    hull: Floats, margin: float, feather: float, place: tuple[float, float]
) -> None:
    """Also where the hull itself lies outside of the picture."""
    x, y = int(place[0]) % 120, int(place[1]) % 80
    weight = Hull(hull, margin, feather).weights((0, 0, 120, 80), LUMA)[y, x]
    outside = -cv2.pointPolygonTest(hull[:, None], (x, y), measureDist=True)
    if outside <= margin:
        assert weight == FULL
    coarse = 2 * max(1, int(np.ptp(hull, axis=0).max() // 64)) + 0.03 * (margin + feather)
    if outside > margin + feather + coarse:
        assert weight == 0


@given(polygons, st.floats(0, 30), st.floats(1, 20))
@settings(max_examples=60, deadline=None)
def test_the_extent_of_a_hull_holds_every_weight(
    hull: Floats, margin: float, feather: float
) -> None:
    form = Hull(hull, margin, feather)
    weights = form.weights((0, 0, 120, 80), LUMA).copy()
    x1, y1, x2, y2 = PictureLayout.of("gray", 120, 80).align(form.extent)
    weights[y1:y2, x1:x2] = 0
    assert not weights.any()


def test_a_large_hull_is_drawn_coarsely_and_hides_no_less() -> None:
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    hull = np.column_stack([700 + 520 * np.cos(angles), 600 + 500 * np.sin(angles)])
    weights = Hull(hull.astype(np.float32), 40, 60).weights((100, 20, 1301, 1201), LUMA)
    y, x = np.mgrid[20:1201, 100:1301]
    away = np.hypot((x - 700) / 520, (y - 600) / 500)
    assert weights.shape == (1181, 1201)
    assert (weights[away <= 1.05] == FULL).all()
    assert (weights[away > 1.32] == 0).all()


def test_a_chroma_sample_takes_the_largest_weight_of_its_pixels() -> None:
    form = Hull(polygon([(20, 15), (60, 20), (40, 55)]), 6, 9)
    fine = form.weights((4, 6, 81, 61), LUMA)
    coarse = form.weights((4, 6, 81, 61), CHROMA)
    padded = np.pad(fine, ((0, 1), (0, 1)))
    np.testing.assert_array_equal(coarse, padded.reshape(28, 2, 39, 2).max(axis=(1, 3)))


@pytest.mark.parametrize("angle", [0, 45, 90, 180, -90, -30])
def test_the_top_of_a_head_is_where_its_points_say(angle: float) -> None:
    x, y = up_of(face(angle))
    assert x == pytest.approx(math.sin(math.radians(angle)), abs=0.03)
    assert y == pytest.approx(-math.cos(math.radians(angle)), abs=0.03)


def test_without_points_the_pose_tells_where_the_top_is_and_without_both_the_picture() -> None:
    assert up_of(Face(BOX, 0.9, pose=(0, 0, 90))) == pytest.approx((1, 0))
    assert up_of(Face(BOX, 0.9), (0, 1)) == (0, 1)
    assert up_of(Face(BOX, 0.9, ((5.0, 5.0),) * 5)) == UPRIGHT


@pytest.mark.parametrize(("angle", "side"), [(0, 1), (90, 2), (180, 3), (-90, 0)])
def test_a_head_reaches_farthest_where_its_hair_is(angle: float, side: int) -> None:
    box = head_box(face(angle))
    reach = [BOX[0] - box[0], BOX[1] - box[1], box[2] - BOX[2], box[3] - BOX[3]]
    assert min(reach) > 15
    assert max(range(4), key=reach.__getitem__) == side
    assert 45 <= max(reach) <= 60


def test_the_back_of_a_head_in_profile_is_meant_too() -> None:
    """A face that looks to the picture's right has the back of its head on the left."""
    straight, right = head_box(face()), head_box(face(pose=(80, 0, 0)))
    assert right[0] < straight[0] - 30
    assert right[2] == pytest.approx(straight[2], abs=1)
    nose_aside = Face(BOX, 0.9, ((52, 42), (66, 42), (74, 62), (50, 78), (62, 78)))
    assert head_box(nose_aside)[0] < straight[0] - 20


def test_the_hull_of_a_head_holds_that_of_the_face_and_reaches_over_it() -> None:
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    oval = np.column_stack([37 + 35 * np.cos(angles), 50 + 50 * np.sin(angles)])
    grown = head_hull(oval.astype(np.float32), UPRIGHT)
    for x, y in oval:
        assert cv2.pointPolygonTest(grown[:, None], (float(x), float(y)), measureDist=False) > 0
    (left, top), (right, bottom) = grown.min(axis=0), grown.max(axis=0)
    assert top == pytest.approx(-50, abs=2)
    assert bottom == pytest.approx(132, abs=2)
    assert (left, right) == pytest.approx((-33, 107), abs=2)


def test_a_mesh_that_is_not_the_faces_does_not_form_its_cover() -> None:
    former = Former(Outline())
    near = polygon([(5, 5), (70, 5), (70, 98), (5, 98)])
    assert isinstance(former.around_hull(face(), near), Hull)
    for far in (near + 200, near * 4, near[:2], np.full((5, 2), np.nan, np.float32)):
        assert isinstance(former.around_hull(face(), far.astype(np.float32)), Around)
        assert not agree(far.astype(np.float32), BOX)


@pytest.mark.parametrize("part", ["face", "head"])
def test_the_core_of_a_form_holds_the_face(part: str) -> None:
    former = Former(Outline(margin=0.2), "head" if part == "head" else "face")
    near = polygon([(5, 5), (70, 5), (70, 98), (5, 98)])
    for form in (former.around(face()), former.around_hull(face(), near)):
        x1, y1, x2, y2 = form.core
        assert x1 < 0 and y1 < 0 and x2 > 75 and y2 > 100
        wider = form.extent
        assert wider[0] < x1 and wider[1] < y1 and wider[2] > x2 and wider[3] > y2


def test_points_that_leave_the_forehead_out_hide_no_less_than_the_box_does() -> None:
    """As the 68 points of jaw, brows, eyes, nose and mouth do."""
    former = Former(Outline(margin=0.0, feather=0.0))
    low = polygon([(5, 40), (70, 40), (60, 90), (37, 100), (15, 90)])
    region = (-10, -10, 90, 120)
    ellipse = former.around(face()).weights(region, LUMA) == FULL
    assert not (
        ellipse & (former.around_hull(face(), low, whole=False).weights(region, LUMA) < FULL)
    ).any()
    assert (ellipse & (former.around_hull(face(), low).weights(region, LUMA) < FULL)).any()
