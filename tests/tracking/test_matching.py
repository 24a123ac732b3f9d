"""Finds go to the tracks that expect them, all taken together."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from walks import face_at

from mpflow.boxes import centre_of, size_of
from mpflow.tokens import Box
from mpflow.tracking.matching import FARTHEST, RATIO, SPEED, Expected, costs_of, match


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


def cost_of(expected: Expected, box: Box, reach: float) -> float:
    """What one pair costs, in words as plain as the rule's own."""
    here, there = size_of(box), size_of(expected.box)
    far = math.dist(centre_of(box), centre_of(expected.box)) / ((here + there) / 2)
    ratio = abs(math.log(here / there))
    if far > min(reach + SPEED * expected.unseen, FARTHEST) or ratio > RATIO:
        return 1e3
    return far + 0.3 * ratio + 0.3 * expected.unseen


@pytest.mark.parametrize(("faces", "tracks"), [(1, 1), (3, 70), (60, 5), (80, 80)])
def test_all_pairs_at_once_cost_what_each_costs(faces: int, tracks: int) -> None:
    chance = np.random.default_rng(faces)

    def one() -> Box:
        x, y = chance.uniform(0, 500, 2)
        across, down = chance.uniform(0.2, 90, 2)
        return float(x), float(y), float(x + across), float(y + down)

    boxes = [one() for _ in range(faces)]
    expected = [Expected(one(), float(chance.uniform(0, 1))) for _ in range(tracks)]
    each = [[cost_of(track, box, 0.6) for track in expected] for box in boxes]
    np.testing.assert_allclose(costs_of(expected, boxes, 0.6), each, rtol=1e-12)


def test_a_crowd_is_matched_fast_enough_to_be_followed() -> None:
    """By counting, not by the clock: nothing is called once for each pair."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    crowd = [face_at(30.0 * at, 100, 20).box for at in range(200)]
    expected = [Expected(box, 0.04) for box in crowd]
    sys.setprofile(count)
    try:
        found = match(expected, crowd, 0.6)
    finally:
        sys.setprofile(None)
    assert found == list(range(200))
    assert calls < len(crowd) * len(expected)
