"""How many frames apart a detector looks."""

from __future__ import annotations

import pytest

from mpflow.policies.pace import REACH, Motion, gap_after


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
