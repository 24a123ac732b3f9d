"""When a person hears that nothing arrives any more."""

from __future__ import annotations

import pytest
from sights import snapshot, stage

from mpflow.policies.arrivals import Arrivals, watch


def look(
    state: Arrivals, now: float, frames: int, redact: int, send: int = 0, **changes: int
) -> tuple[Arrivals, str]:
    views = [stage("receive"), stage("redact", shed=redact), stage("send", shed=send)]
    seen = snapshot(views, uptime=now, frames=frames, **changes)
    return watch(state, seen, max_latency=0.5)


def test_that_nothing_arrives_is_said_after_some_seconds_and_once() -> None:
    state, said = look(Arrivals(), 100.0, 30, redact=40)
    assert not said
    for tick in range(1, 300):
        state, text = look(state, 100 + tick / 10, 30, redact=40 + 2 * tick, send=tick)
        said += text
    assert said == (
        "no frame has come through for 5 s: 150 were dropped, most of them too old for redact;"
        " max_latency is 0.5 s"
    )


@pytest.mark.parametrize(
    ("frames", "redact", "undelivered"),
    [
        (30, 0, 0),  # nothing comes
        (30, 9, 0),  # hardly any
        (31, 500, 0),  # one arrives
        (30, 500, 1),  # the output is away
    ],
)
def test_what_is_no_trouble_of_age_is_not_said(frames: int, redact: int, undelivered: int) -> None:
    state, _ = look(Arrivals(), 100.0, 30, redact=0)
    assert look(state, 109.0, frames, redact=redact, undelivered=undelivered)[1] == ""


def test_a_frame_now_and_then_is_no_news_each_time() -> None:
    state, told = Arrivals(), []
    for tick in range(1200):
        state, text = look(state, 100 + tick / 10, frames=tick // 80, redact=tick)
        told += [tick / 10] if text else []
    assert told == [pytest.approx(5.0, abs=0.2), pytest.approx(69.0, abs=4.0)]


def test_a_large_latency_takes_longer() -> None:
    views = [stage("receive"), stage("send", shed=50)]
    state, _ = watch(Arrivals(), snapshot(views, uptime=0.0), max_latency=4.0)
    views = [stage("receive"), stage("send", shed=90)]
    for now, said in ((6.0, False), (12.0, True)):
        assert bool(watch(state, snapshot(views, uptime=now), max_latency=4.0)[1]) is said
