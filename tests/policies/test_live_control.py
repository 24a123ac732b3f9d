"""All policies of live runs together, steering a simulated pipeline for minutes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liveplant import LivePlant

from mpflow.policies.single_frame import Wish
from mpflow.tokens import Mode

ONE_SLOW = (("detect", 0.1), ("send", 0.01))
LATER_SLOW = (("detect", 0.02), ("swap", 0.1), ("send", 0.01))
SLOW_SINK = (("detect", 0.02), ("send", 0.1))


def oldest(plant: LivePlant, since: float = 0.0) -> float:
    return max(age for second, age in plant.ages if second >= since)


@pytest.mark.parametrize("costs", [ONE_SLOW, LATER_SLOW, SLOW_SINK])
@pytest.mark.parametrize("slots", [8, 64])
@pytest.mark.parametrize("wish", [Wish.AUTO, Wish.THROUGHPUT])
def test_three_times_too_many_frames_stay_young_and_nothing_is_lost_to_idling(
    costs: tuple[tuple[str, float], ...], slots: int, wish: Wish
) -> None:
    plant = LivePlant(costs, slots=slots, wish=wish, pull=True)
    plant.run(90)
    assert oldest(plant) < 2.0
    assert plant.delivered >= 0.95 * 90 / 0.105  # a step of the simulation is 5 ms
    if wish is Wish.AUTO:
        assert oldest(plant, since=10.0) < 0.65
        assert plant.modes == [(pytest.approx(1.8, abs=0.8), Mode.SINGLE_FRAME)]


@pytest.mark.parametrize("costs", [LATER_SLOW, SLOW_SINK])
@pytest.mark.parametrize("slots", [8, 64])
@pytest.mark.parametrize("wish", [Wish.AUTO, Wish.THROUGHPUT])
def test_hardly_a_frame_is_worked_on_in_vain(
    costs: tuple[tuple[str, float], ...], slots: int, wish: Wish
) -> None:
    plant = LivePlant(costs, slots=slots, wish=wish, pull=True)
    plant.run(90)
    assert plant.dropped > 1500
    assert plant.worked_in_vain < 0.02 * plant.dropped


@pytest.mark.parametrize(
    ("costs", "max_latency", "most"),
    [
        (ONE_SLOW, 2.0, 10),
        (LATER_SLOW, 2.0, 30),
        ((("detect", 0.03), ("redact", 0.03), ("send", 0.035)), 0.5, 30),  # all are just too slow
        (SLOW_SINK, 2.0, 90 * 4),
        ((("detect", 0.01), ("redact", 0.01), ("send", 0.06)), 0.5, 90 * 7),
    ],
)
def test_the_entrance_is_not_closed_and_opened_at_every_look(
    costs: tuple[tuple[str, float], ...], max_latency: float, most: int
) -> None:
    """Ten looks a second. Before a slow sink, with two frames or three in line, it is closed for
    as many looks as these take; nothing is lost to idling for that."""
    plant = LivePlant(costs, max_latency=max_latency, pull=True)
    plant.run(90)
    assert plant.news <= most
    assert plant.delivered >= 0.94 * 90 / (max(cost for _, cost in costs) + 0.005)
    assert all(age < max_latency for _, age in plant.ages)


def test_a_load_that_is_just_borne_changes_nothing() -> None:
    plant = LivePlant((("detect", 0.03), ("send", 0.01)), fps=28)
    plant.run(120)
    assert (plant.modes, plant.dropped) == ([], 0)


def test_a_burst_changes_nothing() -> None:
    plant = LivePlant((("detect", 0.02), ("send", 0.01)))
    for fps, seconds in ((30, 10), (100, 0.5), (30, 20)):
        plant.fps = fps
        plant.run(seconds)
    assert (plant.modes, plant.dropped) == ([], 0)


def test_when_the_load_is_over_the_run_returns_to_what_it_was() -> None:
    plant = LivePlant(ONE_SLOW, top=2, ease=lambda level: (1.0, 0.8, 0.6)[level])
    plant.run(30)
    assert plant.ladder.level == 2
    plant.fps = 5
    plant.run(120)
    assert [level for _, level in plant.levels] == [1, 2, 1, 0]
    assert [mode for _, mode in plant.modes] == [Mode.SINGLE_FRAME, Mode.THROUGHPUT]
    before = plant.dropped
    plant.run(60)
    assert plant.dropped == before


def test_a_silent_source_ends_single_frame_mode() -> None:
    plant = LivePlant(ONE_SLOW)
    plant.run(20)
    plant.fps = 0
    plant.run(30)
    assert [mode for _, mode in plant.modes] == [Mode.SINGLE_FRAME, Mode.THROUGHPUT]


def test_a_rung_that_just_helps_is_tried_without_rarely_and_ever_more_rarely() -> None:
    plant = LivePlant(ONE_SLOW, fps=12, top=1, ease=lambda level: (1.0, 0.5)[level])
    plant.run(1200)
    returned = [second for second, level in plant.levels if level == 0]
    assert len(returned) <= 3
    apart = [b - a for a, b in pairwise(returned)]
    assert apart == sorted(apart)
    assert plant.dropped < 0.01 * plant.delivered


def test_a_pipeline_that_is_too_slow_by_itself_goes_on_measuring_and_recovers() -> None:
    plant = LivePlant((("detect", 1.5), ("swap", 1.0), ("send", 0.01)))
    plant.run(30)
    assert plant.delivered == 0
    assert [text.partition(":")[0] for _, text in plant.alerts] == [
        "no frame has come through for 6 s",
        "a frame takes 2.5 s of work, 1.5 s of it at detect, and max_latency is 2 s",
    ]
    for desk, cost in zip(plant.desks[1:], (0.02, 0.02, 0.01), strict=True):
        desk.cost = cost
    plant.run(30)
    assert plant.delivered > 25 * 20


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1.0, 60.0), st.floats(0.5, 20.0)), min_size=1, max_size=6),
    st.sampled_from([ONE_SLOW, LATER_SLOW, SLOW_SINK]),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_however_the_frames_come_their_age_is_bounded_and_the_mode_does_not_swing(
    spells: list[tuple[float, float]],
    costs: tuple[tuple[str, float], ...],
    max_latency: float,
) -> None:
    plant = LivePlant(costs, max_latency=max_latency, pull=True)
    for fps, seconds in spells:
        plant.fps = fps
        plant.run(seconds)
    assert all(age < max_latency + 0.02 for _, age in plant.ages)
    assert len(plant.modes) <= 1 + 2 * plant.now / 5
