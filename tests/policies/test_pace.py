"""How many frames apart a detector looks."""

from __future__ import annotations

import pytest

from mpflow.policies.pace import REACH, Motion, close_due, gap_after


@pytest.mark.parametrize(
    ("gap", "motion", "most", "expected"),
    [
        (4, None, 5, 1),  # a scene begins
        (4, Motion(4, 0.0, strange=True), 5, 1),  # one came, or went
        (1, Motion(1, 0.0), 5, 2),  # nobody there, or nobody moves: one more
        (4, Motion(4, 0.0), 5, 5),
        (5, Motion(5, 0.0), 5, 5),
        (5, Motion(5, 0.0), 3, 3),
        (5, Motion(5, REACH), 5, 5),  # just as far as is allowed
        (5, Motion(5, 2 * REACH), 5, 2),  # at once
        (5, Motion(5, 20 * REACH), 5, 1),
        (1, Motion(1, REACH / 10), 5, 2),  # slow, yet only one more at a time
        (3, Motion(6, REACH), 9, 4),  # a look was late
    ],
)
def test_the_gap_shrinks_at_once_and_grows_by_one(
    gap: int, motion: Motion | None, most: int, expected: int
) -> None:
    assert gap_after(gap, motion, most) == expected


@pytest.mark.parametrize(
    ("frames", "seconds", "most", "due"),
    [
        (5, 5 / 30, 5, False),  # the next is the tenth
        (6, 6 / 30, 5, True),  # the next may be the eleventh
        (9, 9 / 30, 1, False),
        (5, 5 / 20, 5, True),  # 0.25 s, and up to 0.2 more
        (3, 3 / 15, 5, False),
        (5, 0.0, 5, False),  # a video without times
        (0, 0.0, 5, True),  # the frame itself, made again
        (3, -0.1, 5, True),  # the clock went back
    ],
)
def test_a_close_look_is_due_while_the_one_after_it_would_not_be_late(
    frames: int, seconds: float, most: int, due: bool
) -> None:
    assert close_due(frames, seconds, most) is due
