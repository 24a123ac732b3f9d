"""Decoding times across chunks: later from packet to packet, and never after the picture's own."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mpflow.media.reorder import DecodingTimes

PYRAMID = [0, 4, 2, 1, 3]


def coded(start: int, step: int) -> list[int]:
    """Packets of five pictures, two places before their turn."""
    return [start + place * step for place in PYRAMID]


def test_times_are_the_sorted_pts_two_places_late() -> None:
    times = DecodingTimes(2, 1)
    assert times.of(coded(10, 1)) == [8, 9, 10, 11, 12]
    assert times.of(coded(15, 1)) == [13, 14, 15, 16, 17]


@pytest.mark.parametrize("steps", [(1, 2), (2, 1), (1, 100), (100, 1)])
def test_a_rate_that_changes_at_a_join_leaves_times_in_order(steps: tuple[int, int]) -> None:
    times = DecodingTimes(2, 1)
    first = coded(0, steps[0])
    second = coded(5 * steps[0], steps[1])
    third = coded(5 * sum(steps), steps[0])
    stamps = [
        (decoded, shown)
        for pts in (first, second, third)
        for shown, decoded in zip(pts, times.of(pts), strict=True)
    ]
    assert all(earlier < later for (earlier, _), (later, _) in pairwise(stamps))
    assert all(decoded <= shown for decoded, shown in stamps)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 5), (2, 1, 5), (0, 3, 0, 2)])
def test_chunks_shorter_than_the_depth_stay_in_order(sizes: tuple[int, ...]) -> None:
    times, given, start = DecodingTimes(3, 10), [], 0
    for size in sizes:
        pts = [start + 10 * number for number in range(size)]
        given += zip(times.of(pts), pts, strict=True)
        start += 10 * size
    assert all(earlier < later for (earlier, _), (later, _) in pairwise(given))
    assert all(decoded <= shown for decoded, shown in given)


def test_pictures_that_are_never_reordered_have_one_time() -> None:
    times = DecodingTimes(0, 1)
    assert times.of([3, 4, 9]) == [3, 4, 9]
    assert times.of([10]) == [10]


def test_deeper_reordering_than_the_first_chunk_had_is_noticed() -> None:
    times = DecodingTimes(1, 1)
    assert times.fits([0, 2, 1, 3])
    assert not times.fits(coded(4, 1))


def test_pts_that_run_into_the_last_chunk_are_moved_behind_it() -> None:
    times = DecodingTimes(1, 1)
    times.of(times.in_line([0, 2, 1]))
    assert times.in_line([2, 4, 3]) == [3, 5, 4]
    assert times.in_line([7, 9, 8]) == [7, 9, 8]
