"""Pictures that a live input says are turned stand upright in the output."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from av import VideoFrame

from mpflow.media.pixels import plane_view
from mpflow.media.turning import Turner, quarter_turns, upright
from mpflow.spec import VideoInfo

VIDEO = VideoInfo(
    0, "h264", 64, 48, "yuv420p", "yuv420p", (1, 30), sample_aspect=(4, 3), rotation=90
)


def picture(format_name: str) -> VideoFrame:
    made = VideoFrame(64, 48, format_name)
    made.pts, made.time_base = 7, Fraction(1, 30)
    for number, plane in enumerate(made.planes):
        shape = (plane.height, plane.width)
        view = plane_view(made, number, (), np.dtype("u1"))[: shape[0], : shape[1]]
        view[...] = np.arange(shape[0] * shape[1]).reshape(shape) % 251
    return made


@pytest.mark.parametrize("format_name", ["yuv420p", "yuv444p", "nv12"])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_planes_are_turned_counter_clockwise(format_name: str, turns: int) -> None:
    before = picture(format_name)
    planes = [
        plane_view(before, n, (), np.dtype("u1"))[: p.height, : p.width].copy()
        for n, p in enumerate(before.planes)
    ]
    after = Turner(turns)(before)
    assert (after.pts, after.format.name) == (7, format_name)
    same = 1 if format_name == "nv12" else 3  # its colours lie in pairs
    for number, plane in enumerate(after.planes[:same]):
        view = plane_view(after, number, (), np.dtype("u1"))[: plane.height, : plane.width]
        assert np.array_equal(view, np.rot90(planes[number], turns))


def test_many_pictures_go_through_one_turner() -> None:
    turn = Turner(1)
    assert [turn(picture("yuv420p")).width for _ in range(20)] == [48] * 20


@pytest.mark.parametrize(("degrees", "turns"), [(0, 0), (90, 1), (-90, 3), (180, 2), (270, 3)])
def test_quarters_are_counted_as_the_display_matrix_counts(degrees: int, turns: int) -> None:
    assert quarter_turns(msgspec.structs.replace(VIDEO, rotation=degrees)) == turns


def test_a_turned_stream_has_its_sides_and_its_aspect_swapped() -> None:
    found = upright(VIDEO)
    assert (found.width, found.height, found.rotation) == (48, 64, 0)
    assert found.sample_aspect == (3, 4)
