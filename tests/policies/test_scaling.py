"""Who gets a worker or a thread: whole runs of a simulated pipeline, with and without noise."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scalingplant import Crew, ScalingPlant


def waits(name: str, cost: float, seats: int = 1, **more) -> Crew:
    """A stage that uses no core."""
    return Crew(name, cost, 0.0, seats, **more)


def works(name: str, cost: float, seats: int = 1, **more) -> Crew:
    """A stage that is on a core all the time."""
    return Crew(name, cost, 1.0, seats, **more)


def run(*crews: Crew, seconds: float = 120.0, **more) -> ScalingPlant:
    plant = ScalingPlant(list(crews), **more)
    plant.run(seconds)
    return plant


def test_stages_that_only_wait_grow_beyond_the_cores_to_the_pace_of_the_others() -> None:
    plant = run(waits("decode", 0.01), waits("a", 0.1, 8), waits("b", 0.05, 8), waits("end", 0.02))
    assert plant.workers() == {"decode": 1, "a": 5, "b": 3, "end": 1}
    assert plant.moves[0][0] < 3.0
    assert plant.moves[-1][0] < 10.0


def test_a_stage_never_gets_more_workers_than_it_has_seats() -> None:
    plant = run(waits("decode", 0.001), waits("slow", 0.1, 3), waits("encode", 0.001))
    assert plant.told() == [("slow", 3)]


def test_what_works_grows_within_the_cores() -> None:
    crews = works("decode", 0.006), works("detect", 0.1, 8), works("encode", 0.02)
    assert run(*crews, cores=8).workers()["detect"] == 5


def test_the_cores_that_other_programs_use_are_not_free() -> None:
    crews = works("decode", 0.006), works("detect", 0.1, 8), works("encode", 0.02)
    assert run(*crews, cores=8, others=5).workers()["detect"] == 3


def test_on_two_busy_cores_nothing_moves() -> None:
    crews = works("decode", 0.006), works("detect", 0.03, 2), works("encode", 0.02)
    assert run(*crews, seconds=600).moves == []


def test_stages_with_a_fixed_number_of_workers_are_left_alone() -> None:
    assert run(waits("decode", 0.01), waits("slow", 0.1), waits("encode", 0.01)).moves == []


def test_a_move_that_did_not_help_is_taken_back_and_not_tried_again_for_long() -> None:
    device = Crew("detect", 0.02, 0.2, seats=4, most=50)  # all workers share one device
    plant = run(works("decode", 0.006), device, works("encode", 0.01), cores=8, seconds=1000)
    assert plant.told() == [("detect", 2), ("detect", 1)] * 4
    tried = [second for second, move in plant.moves if move.workers == 2]
    apart = [round(b - a) for a, b in pairwise(tried)]
    assert apart == [pytest.approx(each, abs=8) for each in (120, 240, 480)]
    assert plant.moves[1][1].reason.startswith(
        "1 workers for detect again, as 2 workers did not help: 50.0 frames/s after"
    )


def test_a_worker_that_never_comes_is_taken_back() -> None:
    crews = waits("decode", 0.01), waits("slow", 0.1, 2), waits("encode", 0.01)
    plant = run(*crews, opening=math.inf)
    assert plant.told() == [("slow", 2), ("slow", 1)]
    assert "did not come within 60 s" in plant.moves[1][1].reason


def test_a_worker_that_is_not_needed_is_given_back_after_half_a_minute() -> None:
    plant = run(waits("decode", 0.01), waits("slow", 0.1, 8), waits("encode", 0.01), seconds=60)
    assert plant.workers()["slow"] == 8
    plant.crews[1].cost = 0.02
    plant.run(400)
    given = [second for second, move in plant.moves if second > 60]
    assert given[0] > 90
    assert all(b - a > 30 for a, b in pairwise(given))
    assert 2 <= plant.workers()["slow"] <= 4
    assert plant.rate == pytest.approx(100)


def test_a_live_stage_gets_what_the_frames_that_come_need() -> None:
    crews = works("receive", 0.006), Crew("detect", 0.1, 0.1, seats=8), works("send", 0.01)
    plant = run(*crews, cores=8, fps=30.0, seconds=300)
    assert plant.workers()["detect"] == 4
    assert plant.rate == pytest.approx(30)


def test_a_live_run_that_loses_nothing_is_left_alone() -> None:
    crews = works("receive", 0.006), Crew("detect", 0.02, 0.1, seats=8), works("send", 0.01)
    assert run(*crews, cores=8, fps=30.0, seconds=300).moves == []


def test_a_live_source_that_falls_silent_changes_nothing() -> None:
    crews = works("receive", 0.006), Crew("detect", 0.1, 0.1, seats=8), works("send", 0.01)
    plant = run(*crews, cores=8, fps=30.0, seconds=5)
    plant.fps = 1e-9
    before = plant.workers()
    plant.run(25)
    assert plant.workers() == before


def test_a_stage_that_can_have_no_more_workers_gets_threads() -> None:
    crews = works("decode", 0.006), Crew("detect", 0.1, 0.2), works("encode", 0.01)
    plant = run(*crews, cores=4, threaded=("detect",))
    assert [(move.stage, move.workers, move.threads) for _, move in plant.moves] == [
        ("detect", None, 4)
    ]


def test_threads_that_did_not_help_are_taken_back() -> None:
    crews = works("decode", 0.006), Crew("detect", 0.1, 0.2, most=10.0), works("encode", 0.01)
    plant = run(*crews, cores=4, threaded=("detect",))
    assert [move.threads for _, move in plant.moves] == [4, 1]


def test_nothing_moves_before_enough_was_seen() -> None:
    crews = waits("decode", 0.1), waits("slow", 2.0, 4), waits("encode", 0.1)
    plant = run(*crews, seconds=15)
    assert plant.moves == []
    plant.run(15)
    assert plant.told() == [("slow", 4)]


costs = st.floats(0.005, 0.2)
shares = st.sampled_from([0.0, 0.0, 0.3, 1.0])


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(costs, shares, st.integers(1, 6)), min_size=2, max_size=4),
    st.integers(1, 8),
    st.floats(0.0, 0.2),
    st.integers(0, 1000),
)
def test_noise_never_makes_it_swing(
    stages: list[tuple[float, float, int]], cores: int, noise: float, seed: int
) -> None:
    crews = [Crew(f"s{n}", cost, cpu, seats) for n, (cost, cpu, seats) in enumerate(stages)]
    plant = ScalingPlant(crews, cores=cores, noise=noise, seed=seed)
    plant.run(400)
    assert len(plant.moves) <= 8 * len(crews)
    late = [move for second, move in plant.moves if second > 200]
    assert len(late) <= 3 * len(crews)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(costs, st.integers(1, 6)), min_size=2, max_size=4),
    st.floats(0.0, 0.05),
)
def test_without_a_need_for_cores_the_best_pace_is_found(
    stages: list[tuple[float, int]], noise: float
) -> None:
    crews = [waits(f"s{n}", cost, seats) for n, (cost, seats) in enumerate(stages)]
    plant = ScalingPlant(crews, noise=noise)
    plant.run(120)
    best = min(crew.seats / crew.cost for crew in crews)
    assert min(crew.pace() for crew in crews) >= 0.88 * best
