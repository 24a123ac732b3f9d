"""A batch that memory has no room for is halved, remembered, and tried larger again later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mpflow.policies.batching import FIRST_PAUSE_NS, LONGEST_PAUSE_NS, BatchLimit

S = 1_000_000_000


def test_each_failure_halves_until_a_batch_fits() -> None:
    limit, sizes = BatchLimit.none(8), []
    for now in range(4):
        size = limit.allowed(now)
        sizes.append(size)
        limit = limit.failed(size, now) if size > 2 else limit.fitted(size, now)
    assert sizes == [8, 4, 2, 2]


def test_a_batch_that_was_not_full_says_how_little_fits() -> None:
    assert BatchLimit.none(16).failed(5, 0).known == 2
    assert BatchLimit.none(16).failed(3, 0).known == 1


def test_a_larger_batch_is_tried_after_a_while_and_less_often_each_time_it_fails() -> None:
    limit = BatchLimit.none(8).failed(8, 0).failed(4, 0)
    now, waits = 0, []
    for _ in range(8):
        pause = limit.probe_at - now
        assert limit.allowed(limit.probe_at - 1) == 2
        now = limit.probe_at
        assert limit.allowed(now) == 4
        limit = limit.failed(4, now)
        assert limit.known == 2
        waits.append(pause // S)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 640]


def test_what_fits_again_is_kept_step_by_step_up_to_what_was_wanted() -> None:
    limit = BatchLimit.none(12).failed(12, 0).failed(6, 0)
    assert limit.known == 3
    sizes, now = [], 0
    while limit.lowered:
        now = limit.probe_at
        limit = limit.fitted(limit.allowed(now), now)
        sizes.append(limit.known)
    assert sizes == [6, 12]
    assert limit.allowed(now) == 12


def test_a_probe_waits_for_a_batch_that_is_large_enough_to_prove_it() -> None:
    limit = BatchLimit.none(8).failed(8, 0)
    late = limit.probe_at + S
    assert limit.fitted(3, late) == limit
    assert limit.fitted(5, late).known == 5


def test_a_success_at_last_makes_the_next_pause_short_again() -> None:
    limit = BatchLimit.none(16).failed(4, 0)
    limit = limit.failed(4, limit.probe_at)
    assert limit.pause_ns == 2 * FIRST_PAUSE_NS
    limit = limit.fitted(4, limit.probe_at)
    assert limit.pause_ns == FIRST_PAUSE_NS


def test_a_fresh_worker_goes_on_with_what_the_dead_one_had_learned() -> None:
    limit = BatchLimit.recalled(8, known=2, now=5 * S)
    assert (limit.allowed(5 * S), limit.allowed(15 * S)) == (2, 4)
    assert BatchLimit.recalled(8, known=0, now=0) == BatchLimit.none(8)
    assert BatchLimit.recalled(8, known=8, now=0) == BatchLimit.none(8)


def test_another_job_may_want_other_batches() -> None:
    assert BatchLimit.none(8).resized(3) == BatchLimit.none(3)
    lowered = BatchLimit.none(8).failed(8, 0)
    assert (lowered.resized(16).known, lowered.resized(3).known) == (4, 3)


@given(
    wanted=st.integers(1, 64),
    fits=st.lists(st.integers(1, 64), min_size=1, max_size=60),
    steps=st.lists(st.integers(0, 30), min_size=60, max_size=60),
)
def test_it_never_allows_nothing_nor_more_than_was_wanted_and_settles_below_what_fails(
    wanted: int, fits: list[int], steps: list[int]
) -> None:
    limit, now = BatchLimit.none(wanted), 0
    for room, step in zip(fits, steps, strict=False):
        now += step * S
        size = limit.allowed(now)
        assert 1 <= size <= wanted
        before = limit
        limit = limit.failed(size, now) if size > room and size > 1 else limit.fitted(size, now)
        if limit.known < before.known:
            assert limit.known <= size // 2
        assert limit.pause_ns <= LONGEST_PAUSE_NS
