"""Lists of numbers as people and farm managers write them."""

from __future__ import annotations

import pytest

from mpflow.errors import ConfigError
from mpflow.farm.numbers import as_text, list_text, read_ranges


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("3", [(3, 4)]),
        ("0-3", [(0, 4)]),
        ("0-3,7", [(0, 4), (7, 8)]),
        (" 1 - 2 , 5 ", [(1, 3), (5, 6)]),
        ("0007", [(7, 8)]),
        ("7-", [(7, 10)]),
        ("0-,3", [(0, 10), (3, 4)]),
        ("12-", [(12, 13)]),
    ],
)
def test_both_ends_are_meant_and_an_open_end_is_the_end(
    text: str, ranges: list[tuple[int, int]]
) -> None:
    assert read_ranges(text, 10, "--chunks") == ranges


@pytest.mark.parametrize("text", ["", "a", "1..3", "-3", "1-2-3", "1,,2", "3x5", "0x10"])
def test_what_is_no_list_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--chunks .* is not a list"):
        read_ranges(text, 10, "--chunks")


def test_a_range_that_runs_backwards_is_named() -> None:
    with pytest.raises(ConfigError, match="runs backwards"):
        read_ranges("5-3", 10, "--chunks")


def test_numbers_come_back_as_the_shortest_list() -> None:
    assert list_text([0, 1, 2, 3, 7]) == "0-3,7"
    assert list_text([5]) == "5"
    assert list_text([]) == ""
    assert as_text(4, 8) == "4-7"
    assert as_text(4, 5) == "4"
