"""Times in buckets: how far off a bucket may be, and how windows and workers are put together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.shm import Histogram
from mpflow.shm.histogram import begin_of, bucket
from mpflow.shm.layout import BUCKETS

times = st.integers(0, 1 << 43)


def test_the_buckets_follow_each_other_without_a_gap() -> None:
    assert [bucket(begin_of(place)) for place in range(BUCKETS)] == list(range(BUCKETS))
    assert all(bucket(begin_of(place) - 1) == place - 1 for place in range(1, BUCKETS))


@given(times)
def test_a_time_lies_in_its_bucket_and_above_8_us_the_bucket_is_an_eighth_wide(time: int) -> None:
    place = bucket(time)
    begin, end = begin_of(place), begin_of(place + 1)
    assert begin <= time < end
    assert end - begin <= max(1024, begin / 8)


@pytest.mark.parametrize(
    ("nanoseconds", "place"),
    [(-5, 0), (0, 0), (1023, 0), (1024, 1), (8192, 8), (1 << 44, BUCKETS - 1), (1 << 63, 255)],
)
def test_times_outside_fall_into_the_outermost_buckets(nanoseconds: int, place: int) -> None:
    assert bucket(nanoseconds) == place


@given(st.lists(times, min_size=1, max_size=50), st.sampled_from([0.0, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_near_the_time_that_stands_there(found: list[int], share: float) -> None:
    histogram = Histogram.of(found)
    rank = max(0, -(-int(share * 100) * len(found) // 100) - 1)
    right = sorted(found)[rank]
    assert abs(histogram.quantile(share) - right) <= max(1024, right / 8)
    assert histogram.largest > max(found)
    assert histogram.mean == pytest.approx(sum(found) / len(found))


def test_nothing_measured_is_nothing() -> None:
    nothing = Histogram()
    assert (nothing.count, nothing.mean, nothing.quantile(0.5), nothing.largest) == (0, 0, 0, 0)


@given(st.lists(times), st.lists(times))
def test_a_window_is_the_later_less_the_earlier_and_workers_add_up(one: list[int], two: list[int]):
    early, both = Histogram.of(one), Histogram.of(one + two)
    assert both - early == Histogram.of(two)
    assert early + Histogram.of(two) == both


def test_a_row_that_began_anew_counts_from_its_beginning() -> None:
    assert Histogram.of([5000]) - Histogram.of([5000, 90000]) == Histogram.of([5000])


def test_quantiles_grow_with_their_share() -> None:
    histogram = Histogram.of(range(0, 10_000_000, 7919))
    quantiles = [histogram.quantile(share / 100) for share in range(101)]
    assert all(a <= b for a, b in pairwise(quantiles))
