"""Which chunks are meant: by number, or by frames that are whole chunks."""

from __future__ import annotations

import pytest

from mpflow.errors import ConfigError
from mpflow.farm.choose import by_frames, by_number
from mpflow.farm.plan import Plan
from mpflow.spec import PipelineSpec

PLAN = Plan("in", "out", "parts", 14, ((2, 6), (6, 10), (10, 12)), PipelineSpec("p", ()))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1", [1]), ("0-2", [0, 1, 2]), ("0-", [0, 1, 2]), ("2,0,2", [0, 2]), ("0001", [1])],
)
def test_numbers_are_taken_once_and_in_order(text: str, numbers: list[int]) -> None:
    assert by_number(PLAN, text, "--chunk") == numbers


@pytest.mark.parametrize("text", ["3", "0-3", "99", "7-"])
def test_a_chunk_that_the_plan_has_not_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="numbered from 0 to 2"):
        by_number(PLAN, text, "--chunk")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2-5", [0]), ("6-11", [1, 2]), ("10-", [2]), ("2-11", [0, 1, 2]), ("10-11,2-5", [0, 2])],
)
def test_frames_that_are_whole_chunks_are_those_chunks(text: str, numbers: list[int]) -> None:
    assert by_frames(PLAN, text) == numbers


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("2-4", "2-5"),
        ("3-5", "2-5"),
        ("5-6", "2-9"),
        ("10", "10-11"),
        ("10-13", "10-11"),
        ("0-5", "2-5"),
        ("12-13", "10-11"),
        ("0-1", "2-5"),
    ],
)
def test_a_range_that_is_not_whole_chunks_is_refused_with_the_nearest(
    text: str, nearest: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        by_frames(PLAN, text)
    assert f"--frames {nearest} are whole chunks" in caught.value.cure
