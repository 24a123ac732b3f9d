"""Colour: stored samples mean what the standards say."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from mpflow.colour import Colour
from mpflow.spec import VideoInfo

EVERY = [
    Colour(*each)
    for each in itertools.product(("bt601", "bt709", "bt2020"), (False, True), (8, 10))
]


def video(width: int = 1920, height: int = 1080, **more: object) -> VideoInfo:
    facts = {"index": 0, "codec": "h264", "width": width, "height": height, "time_base": (1, 25)}
    formats = {"pixel_format": "yuv420p", "source_format": "yuv420p"}
    return msgspec.convert({**facts, **formats, **more}, VideoInfo)


@pytest.mark.parametrize("colour", EVERY, ids=str)
def test_black_white_and_grey_have_no_colour(colour: Colour) -> None:
    step = 1 << (colour.depth - 8)
    low, high = (0, colour.peak) if colour.full_range else (16 * step, 235 * step)
    neutral = 128 * step
    for luma, expected in ((low, 0), (high, 255), ((low + high) / 2, 127.5)):
        bgr = colour.bgr_from_yuv @ [luma, neutral, neutral, 1]
        np.testing.assert_allclose(bgr, expected, atol=1e-9)


@pytest.mark.parametrize("colour", EVERY, ids=str)
def test_there_and_back_is_the_identity(colour: Colour) -> None:
    bgr = np.array([[12.0, 200, 77], [255, 0, 0], [0, 255, 0], [0, 0, 255]])
    yuv = np.column_stack([bgr, np.ones(4)]) @ colour.yuv_from_bgr.T
    back = np.column_stack([yuv, np.ones(4)]) @ colour.bgr_from_yuv.T
    np.testing.assert_allclose(back, bgr, atol=1e-9)


@pytest.mark.parametrize(
    ("matrix", "full", "red"),
    [
        # Table values: BT.601 red in 8 bits is (81, 90, 240), BT.709 (63, 102, 240).
        ("bt601", False, (81, 90, 240)),
        ("bt709", False, (63, 102, 240)),
        ("bt601", True, (76, 85, 255)),
    ],
)
def test_red_is_where_the_standards_put_it(
    matrix: str, full: bool, red: tuple[int, int, int]
) -> None:
    assert Colour(matrix, full).yuv((0, 0, 255)) == red


@pytest.mark.parametrize(
    ("code", "width", "height", "name"),
    [
        (1, 320, 240, "bt709"),
        (5, 1920, 1080, "bt601"),
        (6, 1920, 1080, "bt601"),
        (9, 640, 360, "bt2020"),
        (2, 1920, 1080, "bt709"),
        (2, 1280, 544, "bt709"),
        (2, 720, 576, "bt601"),
        (0, 720, 1280, "bt709"),
    ],
)
def test_tags_decide_and_size_decides_where_there_are_none(
    code: int, width: int, height: int, name: str
) -> None:
    assert Colour.from_tags(video(width, height, matrix=code)).matrix == name


@pytest.mark.parametrize(
    ("tag", "source", "full"),
    [(0, "yuv420p", False), (1, "yuv420p", False), (2, "yuv420p", True), (0, "yuvj420p", True)],
)
def test_full_range_comes_from_the_tag_or_the_old_names(tag: int, source: str, full: bool) -> None:
    assert Colour.from_tags(video(range=tag, source_format=source)).full_range is full


@pytest.mark.parametrize(
    ("name", "depth"),
    [("yuv420p", 8), ("nv12", 8), ("yuv420p10le", 10), ("p010le", 10), ("gray10le", 10)],
)
def test_depth_comes_from_the_format_in_the_ring(name: str, depth: int) -> None:
    assert Colour.from_tags(video(pixel_format=name)).depth == depth


def test_an_unknown_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="ycgco"):
        Colour("ycgco")
