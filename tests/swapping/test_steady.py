"""What trembles along a track is steadied, and what changes is followed at once."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.swapping.colours import Matching, Shift
from mpflow.swapping.steady import LONGEST_S, Steady, Tracks

FRAME_S = 0.04
MEAN = np.array([120.0, 0.0, 20.0])


def match(off: float, gain: float = 1.0) -> Matching:
    everywhere = np.zeros((3, 3))
    everywhere[0] = off
    return Matching(Shift(np.full(3, gain), everywhere), MEAN)


def offs(given: list[float], seconds: float = 0.4) -> list[float]:
    """What is given for these, frame by frame."""
    steady, weight, found = Steady(seconds), np.ones((4, 4), np.float32), []
    for number, off in enumerate(given):
        _, matching = steady.steadied(weight, match(off), number * FRAME_S)
        assert matching is not None
        found.append(float(matching.shift.off[0, 0]))
    return found


def test_colours_that_tremble_are_steadied() -> None:
    rng = np.random.default_rng(3)
    trembling = list(rng.normal(10, 0.7, 200))
    before, after = np.abs(np.diff(trembling)).mean(), np.abs(np.diff(offs(trembling))).mean()
    assert after < before / 3


def test_a_light_that_is_switched_is_followed_in_the_same_frame() -> None:
    assert offs([0.0] * 10 + [40.0]) == [0.0] * 10 + [40.0]


def test_a_light_that_dims_is_never_more_than_a_few_levels_behind() -> None:
    ramp = [n * 1.2 for n in range(100)]  # 30 levels a second
    behind = np.array(ramp) - np.array(offs(ramp))
    assert behind.max() < 6


def test_a_hand_that_comes_before_the_face_is_left_out_at_once() -> None:
    steady = Steady(0.4)
    weight = np.ones((8, 8), np.float32)
    steady.steadied(weight, None, 0.0)
    hidden = weight.copy()
    hidden[:4] = 0
    given, _ = steady.steadied(hidden, None, FRAME_S)
    assert np.array_equal(given, hidden)


def test_an_edge_that_trembles_is_steadied() -> None:
    steady = Steady(0.4)
    steady.steadied(np.full((8, 8), 0.5, np.float32), None, 0.0)
    given, _ = steady.steadied(np.full((8, 8), 0.54, np.float32), None, FRAME_S)
    assert 0.5 < given[0, 0] < 0.515


@pytest.mark.parametrize("time", [LONGEST_S + 1, -1.0])
def test_after_a_gap_or_a_jump_back_a_track_begins_anew(time: float) -> None:
    steady = Steady(0.4)
    weight = np.ones((4, 4), np.float32)
    steady.steadied(weight, match(0.0), 0.0)
    _, matching = steady.steadied(weight, match(2.0), time)
    assert matching is not None
    assert matching.shift.off[0, 0] == 2.0


def test_a_crop_of_another_size_has_no_past_edge() -> None:
    steady = Steady(0.4)
    steady.steadied(np.zeros((4, 4), np.float32), None, 0.0)
    given, _ = steady.steadied(np.full((8, 8), 0.1, np.float32), None, FRAME_S)
    assert given.shape == (8, 8)
    assert given.max() == pytest.approx(0.1)


def test_tracks_are_kept_apart_and_let_go_of() -> None:
    tracks = Tracks(0.4)
    one, other = tracks.of(1, 0.0), tracks.of(2, 0.0)
    assert one is not None
    assert one is not other
    one.steadied(np.ones((4, 4), np.float32), None, 0.0)
    assert tracks.of(1, 0.5) is one
    assert tracks.of(1, 0.0 + 2 * LONGEST_S) is not one


def test_a_face_without_a_track_has_no_memory() -> None:
    assert Tracks(0.4).of(None, 0.0) is None
    assert Tracks(0.0).of(1, 0.0) is None
