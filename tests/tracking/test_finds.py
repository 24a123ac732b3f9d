"""What a detector found, kept and found again."""

from __future__ import annotations

import pytest
from walks import face_at

from mpflow.errors import InternalError
from mpflow.tokens import Face, Sighting
from mpflow.tracking.finds import packed, unpacked


def test_finds_are_the_same_when_they_are_unpacked_again() -> None:
    finds = [
        face_at(100.123456789, 20.5),
        Face((0.1, 0.2, 3.3, 4.4), 0.25, sighting=Sighting.WEAK),
        face_at(7, 8, sighting=Sighting.CARRIED),
    ]
    once = unpacked(packed(finds))
    assert unpacked(packed(once)) == once
    assert [face.sighting for face in once] == [face.sighting for face in finds]
    assert [len(face.points) for face in once] == [5, 0, 5]
    for face, find in zip(once, finds, strict=True):
        assert face.box == pytest.approx(find.box, abs=1e-4)


def test_no_finds_are_no_bytes() -> None:
    assert packed([]) == b""
    assert unpacked(b"") == ()


@pytest.mark.parametrize("data", [b"\x00", packed([face_at(1, 2)])[:-1], b"\x09" * 61])
def test_other_bytes_are_no_finds(data: bytes) -> None:
    with pytest.raises(InternalError, match="no finds"):
        unpacked(data)
