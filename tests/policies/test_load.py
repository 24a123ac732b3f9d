"""Load and pressure, as tables of what is seen."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from sights import snapshot, stage, worker

from mpflow.policies.load import Load, LoadState, measure
from mpflow.policies.pressure import Pressure, PressureState, feel


def look(seen: Any, *, max_latency: float = 2.0) -> Load:
    return measure(LoadState(), seen, 0.0, max_latency=max_latency)[1]


def over(seconds: float, *, live: bool = True, done: int, shed: int, busy: float) -> Load:
    """The load after so long, with all that was shed dropped before detect."""
    state, load = LoadState(), Load()
    for tick in range(round(seconds * 10) + 1):
        share = tick / (seconds * 10)
        views = [
            stage("receive"),
            stage("detect", frames=int(done * share), shed=int(shed * share)),
        ]
        crew = [
            worker("receive"),
            worker("detect", busy=busy * share, waiting=(seconds - busy) * share),
        ]
        seen = snapshot(views, crew, frames=int(done * share), dropped=int(shed * share), live=live)
        state, load = measure(state, seen, tick / 10, max_latency=2.0)
    return load


@pytest.mark.parametrize(
    ("depth", "slots", "backlog"), [(8, 16, 0.5), (3, 6, 0.5), (2, 2, 0.0), (0, 16, 0.0)]
)
def test_the_backlog_is_the_longest_queue_as_a_share_of_the_ring(
    depth: int, slots: int, backlog: float
) -> None:
    views = [stage("receive"), stage("detect", depth=1), stage("send", depth=depth)]
    assert look(snapshot(views, slots=slots)).backlog == backlog


@pytest.mark.parametrize(
    ("service", "oldest", "waited"),
    [
        (0.0, 1.0, 0.5),
        (0.5, 0.5, 0.0),
        (0.5, 1.0, 0.5),
        (0.5, 1.5, 1.0),
        (3.0, 3.1, 0.5),
    ],
    ids=["no work", "worked on all the time", "half", "no time left", "work longer than the limit"],
)
def test_waited_is_the_share_of_the_time_to_spare_that_was_spent_waiting(
    service: float, oldest: float, waited: float
) -> None:
    views = [
        stage("receive"),
        stage("detect", service),
        stage("redact", service),
        stage("send", depth=1, oldest=oldest + service),
    ]
    assert look(snapshot(views)).waited == pytest.approx(waited)


def test_what_was_dropped_and_what_is_asked_for_are_told_of_live_runs_only() -> None:
    load = over(10.0, done=100, shed=200, busy=10.0)
    assert (load.lost, load.demand) == (pytest.approx(0.65, abs=0.03), pytest.approx(3, rel=0.05))
    load = over(10.0, done=100, shed=200, busy=10.0, live=False)
    assert (load.lost, load.demand) == (0.0, 0.0)


def test_a_stage_that_gets_nothing_done_is_asked_for_more_than_it_can_do() -> None:
    assert over(5.0, done=0, shed=50, busy=0.0).demand == math.inf
    assert over(5.0, done=0, shed=0, busy=0.0).demand == 0.0


def test_drops_are_forgotten_when_no_frames_come_any_more() -> None:
    state, load = LoadState(), Load()
    for tick in range(300):
        seen = snapshot(frames=min(tick, 50), dropped=min(tick, 50))
        state, load = measure(state, seen, tick / 10, max_latency=2.0)
    assert load.lost < 0.01


def test_counters_that_begin_anew_are_no_drops() -> None:
    state, _ = measure(LoadState(), snapshot(frames=900, dropped=900), 0.0, max_latency=2.0)
    state, load = measure(state, snapshot(frames=5, dropped=0), 0.1, max_latency=2.0)
    assert load.lost == 0.0


@pytest.mark.parametrize(
    ("load", "push"),
    [
        (Load(), -1),
        (Load(backlog=0.5), 1),
        (Load(backlog=0.3), 0),
        (Load(waited=0.5), 1),
        (Load(waited=0.26), 0),
        (Load(lost=0.05, demand=1.0), 1),
        (Load(lost=0.03, demand=1.0), 0),
        (Load(lost=0.01, demand=1.0), -1),
        (Load(lost=0.10, demand=0.8), -1),
        (Load(lost=0.16, demand=0.8), 1),
    ],
    ids=str,
)
def test_a_load_pushes_up_down_or_neither(load: Load, push: int) -> None:
    assert load.push == push


def press(seconds: float, **shares: Any) -> Pressure:
    state, pressure = PressureState(), Pressure()
    seen = msgspec.structs.replace(snapshot(), **shares)
    for tick in range(round(seconds * 10) + 1):
        state, pressure = feel(state, seen, tick / 10)
    return pressure


@pytest.mark.parametrize(
    ("seconds", "shares", "pressure"),
    [
        (60.0, {}, (False, False, True)),
        (1.0, {"memory_share": 0.95}, (False, False, False)),
        (2.1, {"memory_share": 0.95}, (True, False, False)),
        (60.0, {"memory_share": 0.9}, (False, False, False)),
        (9.0, {"cpu_share": 1.0}, (False, False, False)),
        (10.1, {"cpu_share": 1.0}, (False, True, False)),
        (60.0, {"cpu_share": 1.0, "live": False}, (False, False, True)),
        (60.0, {"memory_share": 0.95, "live": False}, (True, False, False)),
    ],
)
def test_pressure_takes_its_time(
    seconds: float, shares: dict[str, Any], pressure: tuple[bool, bool, bool]
) -> None:
    felt = press(seconds, **shares)
    assert (felt.memory, felt.cpu, felt.calm) == pressure
    assert bool(felt.why) is felt.high
