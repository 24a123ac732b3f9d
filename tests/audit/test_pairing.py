"""Frames of two videos are put side by side by their times."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mpflow.audit.pairing import paired, shift, tolerance


def pairs(
    one: list[float], other: list[float], within: float = 0.005
) -> list[tuple[float | None, float | None]]:
    times = (lambda item: item), (lambda item: item)
    return list(paired(iter(one), iter(other), times, within))


def test_equal_times_go_together() -> None:
    assert pairs([0, 0.1, 0.2], [0, 0.1, 0.2]) == [(0, 0), (0.1, 0.1), (0.2, 0.2)]


def test_times_that_a_container_has_rounded_still_go_together() -> None:
    assert pairs([0, 1 / 30, 2 / 30], [0, 0.033, 0.067]) == [
        (0, 0),
        (1 / 30, 0.033),
        (2 / 30, 0.067),
    ]


def test_a_frame_that_was_left_out_and_one_that_was_added_stand_alone() -> None:
    assert pairs([0, 0.1, 0.2, 0.3], [0, 0.2, 0.25, 0.3, 0.4]) == [
        (0, 0),
        (0.1, None),
        (0.2, 0.2),
        (None, 0.25),
        (0.3, 0.3),
        (None, 0.4),
    ]


def test_an_output_without_frames_leaves_all_of_the_input_alone() -> None:
    assert pairs([0, 0.1], []) == [(0, None), (0.1, None)]
    assert pairs([], []) == []


def test_the_next_frame_of_a_side_is_asked_for_only_when_its_last_was_given() -> None:
    """A frame's pixels are gone as soon as the next one is asked for."""
    alive: dict[str, float] = {}

    def walk(name: str, times: list[float]) -> Iterator[float]:
        for time in times:
            alive[name] = time
            yield time

    one, other = walk("one", [0, 0.1, 0.2]), walk("other", [0.1, 0.2, 0.3])
    for before, after in paired(one, other, (float, float), 0.005):
        assert before is None or alive["one"] == before
        assert after is None or alive["other"] == after


@pytest.mark.parametrize(
    ("start_in", "start_out", "lacking", "expected"),
    [
        (0.0, 0.0, 0, 0.0),
        (0.0, 0.001, 0, 0.0),  # rounded
        (3.0, 0.0, 90, -3.0),  # a range, which begins at 0
        (0.0, 0.1, 3, 0.0),  # its first three frames are gone
        (0.0, 0.1, 0, 0.1),  # another clock
        (0.0, 0.1, None, 0.1),
        (0.0, 0.1, 2, 0.1),  # not by that
    ],
)
def test_clocks_that_begin_apart_are_shifted_unless_frames_are_missing(
    start_in: float, start_out: float, lacking: int | None, expected: float
) -> None:
    assert shift(start_in, start_out, 30.0, lacking) == pytest.approx(expected)


def test_the_tolerance_is_a_share_of_a_frame_and_never_nothing() -> None:
    assert tolerance(25) == pytest.approx(0.01)
    assert tolerance(0) == tolerance(1000) == pytest.approx(0.002)
