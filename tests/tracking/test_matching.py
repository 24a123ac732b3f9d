"""Finds go to the tracks that expect them, all taken together."""

from __future__ import annotations

import pytest
from walks import face_at

from mpflow.tracking.matching import Expected, match


def _match(tracks: list[tuple[float, float]], finds: list[float]) -> list[int | None]:
    expected = [Expected(face_at(x, 100).box, unseen) for x, unseen in tracks]
    return match(expected, [face_at(x, 100).box for x in finds], 0.6)


@pytest.mark.parametrize(
    ("tracks", "finds", "pairs"),
    [
        ([], [100], [None]),
        ([(100, 0.04)], [], []),
        ([(100, 0.04)], [110], [0]),
        ([(100, 0.04)], [300], [None]),
        ([(100, 0.04), (200, 0.04)], [190, 95], [1, 0]),
        # the nearest one would leave the other find without a track
        ([(100, 0.04), (160, 0.04)], [125, 95], [1, 0]),
        # a face that was not seen for long may be farther away
        ([(100, 0.04)], [165], [None]),
        ([(100, 0.4)], [165], [0]),
        # of two that expect a find equally, the one seen lately has it
        ([(80, 0.8), (120, 0.04)], [100], [1]),
    ],
)
def test_match(
    tracks: list[tuple[float, float]], finds: list[float], pairs: list[int | None]
) -> None:
    assert _match(tracks, finds) == pairs


def test_a_face_of_another_size_is_another() -> None:
    expected = [Expected(face_at(100, 100, 60).box, 0.04)]
    assert match(expected, [face_at(100, 100, 140).box], 0.6) == [None]
    assert match(expected, [face_at(100, 100, 80).box], 0.6) == [0]
