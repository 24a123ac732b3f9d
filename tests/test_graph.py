"""The ring is large enough never to deadlock, and says so when it cannot be."""

import pytest

from mpflow.errors import ResourceError
from mpflow.graph import (
    Demand,
    comfortable_slots,
    cut_batches,
    cut_holds,
    minimum_slots,
    plan_workers,
    ring_slots,
    uncut_slots,
    worker_threads,
)
from mpflow.spec import PipelineSpec, StageSpec

DEMANDS = (Demand(), Demand(holds=8, max_batch=4), Demand(holds=8, max_batch=4), Demand(holds=2))


def test_the_minimum_is_what_all_workers_hold_plus_one() -> None:
    assert minimum_slots(DEMANDS) == 19
    assert minimum_slots([Demand(), Demand()]) == 1


def test_a_seat_that_is_not_in_use_has_room_for_what_it_holds_and_one_batch() -> None:
    seat = Demand(holds=3, max_batch=4, spare=True)
    assert minimum_slots([*DEMANDS, seat]) == minimum_slots(DEMANDS) + 3
    assert comfortable_slots([*DEMANDS, seat]) == comfortable_slots(DEMANDS) + 3 + 4


def test_workers_are_numbered_through_the_pipeline() -> None:
    stages = tuple(StageSpec(name, "x:Y", workers=n) for name, n in (("a", 1), ("b", 2), ("c", 1)))
    plans = plan_workers(PipelineSpec("p", stages))
    assert [(plan.id, plan.stage, plan.label) for plan in plans] == [
        (0, 0, "a"),
        (1, 1, "b/0"),
        (2, 1, "b/1"),
        (3, 2, "c"),
    ]


@pytest.mark.parametrize(("cores", "between"), [(1, 1), (2, 1), (4, 1), (8, 2), (32, 8)])
def test_codecs_may_use_every_core_and_stages_between_them_a_quarter(
    cores: int, between: int
) -> None:
    stages = tuple(StageSpec(name, "x:Y") for name in ("decode", "detect", "encode"))
    plans = plan_workers(PipelineSpec("p", stages))
    assert [worker_threads(plan, cores) for plan in plans] == [cores, between, cores]


def slots(asked: int = 0, budget: int = 10_000) -> int:
    return ring_slots(DEMANDS, bytes_per_slot=100, fixed_bytes=50, asked=asked, budget=budget)


def test_a_ring_gets_what_helps_within_the_budget() -> None:
    assert slots() == comfortable_slots(DEMANDS)
    assert slots(asked=19) == 19
    assert slots(budget=50 + 100 * 20) == 20


@pytest.mark.parametrize(
    ("asked", "budget", "words"),
    [(18, 10_000, "at least 19 slots"), (0, 1949, "enlarge /dev/shm"), (0, -1, "0 MiB may")],
)
def test_a_ring_below_the_minimum_is_refused_with_the_figures(
    asked: int, budget: int, words: str
) -> None:
    with pytest.raises(ResourceError, match=words) as caught:
        slots(asked=asked, budget=budget)
    assert caught.value.exit_status == 6


@pytest.mark.parametrize(
    ("slots", "batches"),
    [
        (100, (1, 8, 3, 1)),
        (17, (1, 8, 3, 1)),
        (16, (1, 7, 3, 1)),
        (12, (1, 3, 3, 1)),
        (11, (1, 2, 2, 1)),
        (10, (1, 2, 2, 1)),
        (8, (1, 1, 1, 1)),
        (4, (1, 1, 1, 1)),
    ],
)
def test_the_largest_batches_are_cut_first_when_the_ring_is_small(
    slots: int, batches: tuple[int, ...]
) -> None:
    demands = (Demand(), Demand(max_batch=8), Demand(max_batch=3), Demand(holds=3))
    assert minimum_slots(demands) == 4
    assert cut_batches(demands, slots) == batches


def test_an_empty_pipeline_has_no_batches() -> None:
    assert cut_batches((), 5) == cut_holds((), 5) == ()


LOOKING_AHEAD = (
    Demand(),
    Demand(holds=4, max_batch=2, least_holds=0),
    Demand(holds=10, least_holds=0),
    Demand(holds=12, least_holds=1),
    Demand(holds=3),
)


def test_the_minimum_is_what_stages_can_do_with() -> None:
    assert minimum_slots(LOOKING_AHEAD) == 5
    assert uncut_slots(LOOKING_AHEAD) == 30
    assert comfortable_slots(LOOKING_AHEAD) > 30 + 2 * 2
    assert minimum_slots([Demand(holds=2, least_holds=7)]) == 3


@pytest.mark.parametrize(
    ("slots", "holds"),
    [
        (100, (0, 4, 10, 12, 3)),
        (30, (0, 4, 10, 12, 3)),
        (29, (0, 4, 10, 11, 3)),
        (28, (0, 4, 10, 10, 3)),
        (27, (0, 4, 9, 9, 3)),
        (26, (0, 4, 9, 9, 3)),
        (15, (0, 3, 3, 3, 3)),
        (8, (0, 1, 1, 1, 3)),
        (6, (0, 0, 0, 1, 3)),
        (5, (0, 0, 0, 1, 3)),
    ],
)
def test_the_farthest_look_ahead_is_cut_first_and_what_a_stage_needs_never(
    slots: int, holds: tuple[int, ...]
) -> None:
    assert cut_holds(LOOKING_AHEAD, slots) == holds
    assert sum(holds) < slots


def test_batches_are_cut_before_any_look_ahead() -> None:
    assert cut_batches(LOOKING_AHEAD, 36) == (1, 2, 1, 1, 1)
    assert cut_batches(LOOKING_AHEAD, 30) == (1, 1, 1, 1, 1)
    assert cut_holds(LOOKING_AHEAD, 30) == (0, 4, 10, 12, 3)
    assert cut_batches(LOOKING_AHEAD, 5) == (1, 1, 1, 1, 1)


def test_a_ring_is_as_small_as_stages_can_do_with() -> None:
    def slots(budget: int, asked: int = 0) -> int:
        return ring_slots(
            LOOKING_AHEAD, bytes_per_slot=100, fixed_bytes=0, asked=asked, budget=budget
        )

    assert slots(500) == 5
    assert slots(10_000, asked=5) == 5
    for too_little in ({"budget": 499}, {"budget": 500, "asked": 4}):
        with pytest.raises(ResourceError):
            slots(**too_little)
