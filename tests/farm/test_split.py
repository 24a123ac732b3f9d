"""Cutting frames into chunks: every frame in one of them, none beyond the end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.errors import ConfigError
from mpflow.farm.split import Split

NTSC = Fraction(30000, 1001)


def test_the_last_chunk_of_ten_frames_by_four_ends_at_ten() -> None:
    assert Split(frames=4).chunks(0, 10, None) == ((0, 4), (4, 8), (8, 10))


def test_a_range_is_cut_from_its_own_start() -> None:
    assert Split(frames=4).chunks(3, 10, None) == ((3, 7), (7, 10))


def test_seconds_count_in_frames_of_the_input() -> None:
    assert Split(seconds=2).chunks(0, 100, NTSC) == ((0, 60), (60, 100))
    assert Split(seconds=0.001).chunks(0, 2, NTSC) == ((0, 1), (1, 2))


def test_a_chunk_is_a_minute_where_nothing_is_asked() -> None:
    assert Split().chunks(0, 3000, Fraction(25)) == ((0, 1500), (1500, 3000))


def test_a_number_of_chunks_is_exactly_that_number() -> None:
    assert Split(count=6).chunks(0, 10, None) == ((0, 1), (1, 3), (3, 5), (5, 6), (6, 8), (8, 10))


@given(
    start=st.integers(0, 50),
    total=st.integers(1, 200),
    split=st.one_of(
        st.builds(Split, frames=st.integers(1, 250)),
        st.builds(Split, seconds=st.floats(0.01, 20)),
        st.builds(Split, count=st.integers(1, 20)),
    ),
)
def test_every_frame_is_in_exactly_one_chunk(start: int, total: int, split: Split) -> None:
    if split.count is not None and split.count > total:
        with pytest.raises(ConfigError):
            split.chunks(start, start + total, NTSC)
        return
    chunks = split.chunks(start, start + total, NTSC)
    frames = [frame for first, stop in chunks for frame in range(first, stop)]
    assert frames == list(range(start, start + total))
    assert all(stop > first for first, stop in chunks)
    if split.count is not None:
        assert len(chunks) == split.count
        lengths = [stop - first for first, stop in chunks]
        assert max(lengths) - min(lengths) <= 1


def test_more_chunks_than_frames_are_refused_with_the_number_that_goes() -> None:
    with pytest.raises(ConfigError, match=r"10 frames .* 11 chunks.*from 1 to 10"):
        Split(count=11).chunks(0, 10, None)


def test_an_unknown_rate_asks_for_frames() -> None:
    with pytest.raises(ConfigError, match="--chunk-frames"):
        Split(seconds=2).chunks(0, 10, None)


def test_two_ways_of_cutting_contradict_each_other() -> None:
    with pytest.raises(ConfigError, match="--chunk-frames and --chunks contradict"):
        Split(frames=4, count=2).check()


def test_a_million_chunks_are_refused() -> None:
    with pytest.raises(ConfigError, match="make them longer"):
        Split(frames=1).chunks(0, 1_000_000, None)
