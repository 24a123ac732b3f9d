"""The switch with a dwell time, as tables of pushes, and under any noise."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.policies.latch import OFF, Latch, push_of

TICK = 0.1


def turns(pushes: list[int], *, on_after: float = 1.0, off_after: float = 2.0) -> list[float]:
    """The seconds at which the switch turned, looked at ten times a second."""
    latch, told = OFF, []
    for number, push in enumerate(pushes):
        now = 50.0 + number * TICK
        after = latch.look(push, now, on_after=on_after, off_after=off_after)
        if after.on != latch.on:
            told.append(round(number * TICK, 3))
        latch = after
    return told


@pytest.mark.parametrize(
    ("pushes", "told"),
    [
        ([1] * 10, []),
        ([1] * 11, [1.0]),
        ([1] * 9 + [-1] + [1] * 9, []),
        ([1] * 9 + [-1] + [1] * 11, [1.9]),
        ([1] * 6 + [0] * 3 + [1] * 9, [1.6]),
        ([1] * 11 + [-1] * 19, [1.0]),
        ([1] * 11 + [-1] * 21, [1.0, 3.0]),
        ([1] * 11 + [-1] * 19 + [1] + [-1] * 19, [1.0]),
        ([1] * 11 + [0] * 500, [1.0]),
        ([0] * 500, []),
        ([-1] * 500, []),
    ],
    ids=[
        "too short",
        "long enough",
        "broken off",
        "begun anew",
        "between the marks it falls back",
        "relief too short",
        "relief long enough",
        "relief broken off",
        "between the marks it stays on",
        "between the marks it stays off",
        "never pushed",
    ],
)
def test_it_turns_only_after_a_push_that_lasted(pushes: list[int], told: list[float]) -> None:
    assert turns(pushes) == told


@pytest.mark.parametrize(
    ("value", "push"), [(0.9, 1), (0.8, 1), (0.79, 0), (0.51, 0), (0.5, -1), (0.0, -1)]
)
def test_a_value_pushes_beyond_its_marks(value: float, push: int) -> None:
    assert push_of(value, low=0.5, high=0.8) == push


def test_time_in_which_nobody_looked_counts_for_a_second_at_most() -> None:
    latch = OFF
    for now in (0.0, 1000.0, 2000.0):
        latch = latch.look(1, now, on_after=2.5, off_after=1.0)
    assert latch == Latch(False, 2.0, 2000.0)


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    latch = OFF
    for now in (10.0, 10.5, 3.0, 3.4):
        latch = latch.look(1, now, on_after=5.0, off_after=1.0)
    assert latch.toward == pytest.approx(0.9)


@given(st.lists(st.floats(0.71, 0.89), max_size=300))
def test_noise_that_never_crosses_both_marks_never_turns_it_twice(values: list[float]) -> None:
    for low, high in ((0.6, 0.8), (0.8, 1.0)):  # noise around the high mark, and the low one
        assert len(turns([push_of(value, low=low, high=high) for value in values])) <= 1


@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=400))
def test_whatever_comes_it_stays_as_it_is_for_the_dwell_time(pushes: list[int]) -> None:
    told = turns(pushes, on_after=1.0, off_after=2.0)
    for at, (before, after) in enumerate(pairwise(told)):
        assert after - before > (2.0 if at % 2 == 0 else 1.0) - TICK / 2
