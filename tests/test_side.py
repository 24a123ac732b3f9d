"""Arrays beside a picture: kept in order, found by what the token's faces say, copied out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from mpflow import side
from mpflow.errors import ContractError
from mpflow.frame import Frame
from mpflow.memory import MemorySlot
from mpflow.tokens import Face

FACES = tuple(Face((float(at), 0.0, 9.0, 9.0), 0.5) for at in range(3))
MESH = np.arange(468 * 3, dtype=np.float32).reshape(468, 3)

arrays = stn.arrays(
    st.sampled_from(["u1", "i2", "u2", "i4", "f2", "f4", "f8"]),
    stn.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
)


def frame_with(size: int) -> Frame:
    return MemorySlot.of("yuv420p", 64, 48, side_bytes=size).frame()


@given(st.lists(arrays, max_size=5))
def test_arrays_of_every_kind_come_back_equal(many: list[np.ndarray]) -> None:
    area = np.full(1 << 14, 0xAA, np.uint8)
    places, at = [], 0
    for array in many:
        places.append(at)
        at = side.write(area, at, array)
        assert at is not None
    assert at == sum(side.bytes_for(array.shape, array.dtype) for array in many)
    assert side.behind(area, places) == at
    for place, array in zip(places, many, strict=True):
        back = side.read(area, place)
        assert back.dtype == array.dtype and back.shape == array.shape
        assert back.tobytes() == array.tobytes()


def test_a_later_stage_writes_behind_an_earlier_one() -> None:
    frame = frame_with(4 * side.bytes_for(MESH.shape, MESH.dtype))
    meshed = frame.attach(FACES[:2], {"mesh": [MESH, MESH + 1]})
    both = frame.attach(meshed, {"crop": [None, MESH[:100] + 2]})
    assert [set(face.refs) for face in both] == [{"mesh"}, {"mesh", "crop"}]
    assert np.array_equal(frame.attached(both[0], "mesh"), MESH)
    assert np.array_equal(frame.attached(both[1], "mesh"), MESH + 1)
    assert np.array_equal(frame.attached(both[1], "crop"), MESH[:100] + 2)
    assert frame.attached(both[0], "crop") is None


def test_a_retry_with_the_old_token_writes_over_what_was_begun() -> None:
    frame = frame_with(2 * side.bytes_for(MESH.shape, MESH.dtype))
    first = frame.attach(FACES[:2], {"mesh": [MESH, MESH]})
    again = frame.attach(FACES[:2], {"mesh": [MESH + 5, MESH + 6]})
    assert [face.refs for face in again] == [face.refs for face in first]
    assert np.array_equal(frame.attached(again[1], "mesh"), MESH + 6)


def test_where_there_is_no_room_a_face_goes_without() -> None:
    frame = frame_with(2 * side.bytes_for(MESH.shape, MESH.dtype) + 8)
    faces = frame.attach(FACES, {"mesh": [MESH] * 3})
    assert ["mesh" in face.refs for face in faces] == [True, True, False]


def test_of_several_arrays_a_face_gets_all_or_keeps_what_it_had() -> None:
    small = MESH[:10]
    room = side.bytes_for(MESH.shape, MESH.dtype) + 2 * side.bytes_for(small.shape, small.dtype)
    frame = frame_with(room)
    had = frame.attach(FACES[:1], {"mesh": [MESH], "mark": [small]})
    (kept,) = frame.attach(had, {"mark": [small + 7], "mesh": [MESH]})
    assert kept.refs == had[0].refs
    assert np.array_equal(frame.attached(kept, "mark"), small)


def test_a_frame_without_room_beside_it_keeps_nothing() -> None:
    assert frame_with(0).attach(FACES, {"mesh": [MESH] * 3}) == FACES


def test_what_is_read_outlives_the_frame() -> None:
    frame = frame_with(1 << 14)
    (face,) = frame.attach(FACES[:1], {"mesh": [MESH]})
    mesh = frame.attached(face, "mesh")
    frame.end()
    assert np.array_equal(mesh, MESH)


@pytest.mark.parametrize("array", [np.zeros(3, np.complex64), np.zeros((1,) * 5, np.float32)])
def test_what_cannot_be_kept_is_named(array: np.ndarray) -> None:
    with pytest.raises(ContractError, match="cannot be kept beside a picture"):
        side.write(np.zeros(4096, np.uint8), 0, array)


@pytest.mark.parametrize("at", [4080, 5000, 0])
def test_a_place_without_an_array_is_named(at: int) -> None:
    area = np.full(4096, 0xFF, np.uint8)
    with pytest.raises(ContractError, match=f"no array at byte {at}"):
        side.read(area, at)
