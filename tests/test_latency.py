"""Quantiles from a few counters are close to the true ones, whatever the times are."""

from __future__ import annotations

import random

import pytest

from mpflow.latency import Histogram


@pytest.mark.parametrize("scale", [1, 30, 1_000, 5_000_000, 3_600_000_000_000])
def test_quantiles_are_off_by_a_sixteenth_at_most(scale: int) -> None:
    draw = random.Random(scale)
    values = sorted(int(draw.lognormvariate(0, 1) * scale) for _ in range(5000))
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    for share in (0.5, 0.9, 0.99):
        true = values[int(share * len(values)) - 1]
        assert histogram.quantile(share) == pytest.approx(true, rel=1 / 16, abs=1)
    assert histogram.largest == values[-1]
    assert histogram.spread().mean == pytest.approx(sum(values) / 5000 / 1e9, abs=1e-6)


@pytest.mark.parametrize("value", [0, 1, 15, 16, 31, 32, 33, (1 << 63) - 1, (1 << 64) - 1])
def test_any_time_has_a_bucket_near_it(value: int) -> None:
    histogram = Histogram()
    histogram.add(value)
    assert histogram.quantile(0.5) == pytest.approx(value, rel=1 / 16)


def test_without_a_time_all_is_zero_and_a_negative_time_is_none() -> None:
    histogram = Histogram()
    assert histogram.quantile(0.5) == 0
    assert histogram.spread().max == 0
    histogram.add(-5)
    assert (histogram.quantile(0.99), histogram.largest) == (0, 0)
