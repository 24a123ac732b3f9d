"""When a person is told that frames come too late."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sights import snapshot, spread

from mpflow.policies.alerting import AgeWatch, age_limit, watch_age
from mpflow.spec import PipelineSpec


def watch(ages: list[float], *, limit: float = 1.0, count: int = 500) -> list[tuple[float, bool]]:
    """The news, each with its second; looked at ten times a second."""
    state, told = AgeWatch(), []
    for tick, p99 in enumerate(ages):
        seen = msgspec.structs.replace(snapshot(), age=spread(0.1, count, p99=p99))
        state, news = watch_age(state, seen, tick / 10, limit=limit)
        if news is not None:
            told.append((tick / 10, news.over))
    return told


@pytest.mark.parametrize(
    ("ages", "told"),
    [
        ([1.2] * 30, []),
        ([1.2] * 100, [(3.0, True)]),
        ([1.2] * 40 + [0.95] * 500, [(3.0, True)]),
        ([1.2] * 40 + [0.5] * 99, [(3.0, True)]),
        ([1.2] * 40 + [0.5] * 200, [(3.0, True), (pytest.approx(13.9), False)]),
    ],
    ids=["too short", "over", "not quite under", "under, too short", "under again"],
)
def test_age_over_its_limit_is_told_once_and_so_is_its_end(
    ages: list[float], told: list[tuple[float, bool]]
) -> None:
    assert watch(ages) == told


def test_the_worst_of_a_few_frames_is_not_one_in_a_hundred() -> None:
    assert watch([5.0] * 500, count=9) == []


def test_without_a_limit_nothing_is_told() -> None:
    assert watch([5.0] * 500, limit=0.0) == []


def test_the_sentence_has_the_figures() -> None:
    state = AgeWatch()
    seen = msgspec.structs.replace(snapshot(), age=spread(0.1, p99=1.234))
    for tick in range(100):
        state, news = watch_age(state, seen, tick / 10, limit=0.8)
        if news is not None:
            assert news.reason == "frames are older than 800 ms at the output (p99 1234 ms)"
            return
    raise AssertionError("nothing was told")


@pytest.mark.parametrize(
    ("live", "alert_p99", "limit"),
    [(True, 0.0, 2.0), (True, 250.0, 0.25), (False, 0.0, 0.0), (False, 250.0, 0.25)],
)
def test_the_limit_is_what_was_asked_or_the_largest_latency_of_a_live_run(
    live: bool, alert_p99: float, limit: float
) -> None:
    spec = PipelineSpec("p", (), live=live, alert_p99=alert_p99, max_latency=1.0)
    assert age_limit(spec, 2.0) == limit


@given(st.lists(st.floats(0.91, 1.2), max_size=300))
def test_noise_around_the_limit_is_told_at_most_once(ages: list[float]) -> None:
    assert len(watch(ages)) <= 1
