"""The ring is large enough never to deadlock, and says so when it cannot be."""

import pytest

from mpflow.errors import ResourceError
from mpflow.graph import (
    Demand,
    comfortable_slots,
    cut_batches,
    minimum_slots,
    plan_workers,
    ring_slots,
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
    assert cut_batches((), 5) == ()
