"""What a live run drops, who may drop it, and what is known of it afterwards."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.shm import (
    Dropped,
    LockTimeout,
    Order,
    State,
    Why,
    WrongStage,
    drop_of,
    frame_ages,
    ready_ages,
    recover,
    shed_stale,
)
from mpflow.shm.drops import Births, read, shed
from mpflow.shm.word import Word

MS = 1_000_000
LONG = 10**15


@pytest.fixture
def small(make_ring):
    return make_ring(slots=4)


def publish(source, *ages_ms: int) -> None:
    """Publish a frame of each age."""
    for age in ages_ms:
        lease = source.alloc()
        assert source.publish(lease, b"%d" % lease.seq, born=time.monotonic_ns() - age * MS)


def seqs(leases) -> list[int]:
    return [lease.seq for lease in leases]


def test_a_frame_keeps_its_birth_at_every_stage_and_after_a_death(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    lease = source.alloc()
    source.publish(lease, b"", born=12345)
    stage.take()
    recover(small.segment, small.bells, worker=1, stage=1)
    again = stage.take()
    assert again.born == 12345
    stage.give(again, b"")
    assert small.ring(2, 3).take().born == 12345


def test_a_frame_without_a_birth_was_born_when_it_was_published(small) -> None:
    source = small.ring(0, 0)
    before = time.monotonic_ns()
    source.publish(source.alloc(), b"")
    assert before <= small.ring(1, 1).take().born <= time.monotonic_ns()


def test_a_dropped_frame_is_free_and_says_who_dropped_it_and_why(small) -> None:
    publish(small.ring(0, 0), 70)
    stage = small.ring(1, 1)
    stage.drop(stage.take(), Why.STALE)
    dropped = drop_of(small.segment, 0)
    assert dropped is not None
    assert (dropped.seq, dropped.stage, dropped.why) == (0, 1, Why.STALE)
    assert dropped.age_ms >= 70
    assert drop_of(small.segment, 1) is None
    assert {word.state for word in small.segment.words()} == {State.FREE}


def test_a_drop_wakes_a_stage_that_waits_for_that_very_frame(small) -> None:
    source, first, second = small.ring(0, 0), small.ring(1, 1), small.ring(1, 2)
    sink = small.ring(2, 3, Order.WATERMARK)
    publish(source, 0, 0)
    slow, quick = first.take(), second.take()
    second.give(quick, b"")
    sink.wait(0)
    assert sink.take() is None
    first.drop(slow, Why.EXPIRED)
    assert sink.wait(0)
    assert sink.take().seq == 1


def test_a_stale_lease_is_freed_without_a_record_for_its_frame_is_made_again(small) -> None:
    publish(small.ring(0, 0), 0)
    stage = small.ring(1, 1)
    lease = stage.take()
    recover(small.segment, small.bells, worker=3, stage=2, durable=0)
    stage.drop(lease, Why.STALE)
    assert drop_of(small.segment, 0) is None
    assert small.segment.words() == [Word()] * 4


def test_the_source_drops_nothing_it_holds(small) -> None:
    source = small.ring(0, 0)
    with pytest.raises(WrongStage):
        source.drop(source.alloc(), Why.FULL)


def test_the_source_makes_room_with_the_oldest_frame_before_the_sink(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source, 40, 30, 20, 10)
    stage.give(stage.take(), b"")
    assert source.alloc() is None
    assert source.shed_oldest() == 1
    assert drop_of(small.segment, 1) == drop_of(small.segment, 1)._replace(why=Why.FULL, stage=1)
    assert source.alloc().seq == 4
    assert sink.take().seq == 0


def test_with_everything_held_or_at_the_sink_there_is_no_room_to_make(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 0, 0)
    stage.give(stage.take(), b"")
    stage.take()
    assert source.shed_oldest() is None


def test_what_the_newest_supersedes_is_shed_at_its_own_stage_only(small) -> None:
    source, stage, other = small.ring(0, 0), small.ring(1, 1, Order.NEWEST), small.ring(1, 2)
    publish(source, 0, 0, 0, 0)
    other.give(other.take(), b"")
    held = other.take()
    newest = stage.take()
    assert (held.seq, newest.seq) == (1, 3)
    assert stage.shed_before(newest.seq) == [2]
    assert [word.seq for word in small.segment.words() if word.state] == [0, 1, 3]
    assert drop_of(small.segment, 2).why is Why.SUPERSEDED


def test_only_what_is_older_than_the_limit_is_shed(small) -> None:
    publish(small.ring(0, 0), 900, 800, 10)
    stage = small.ring(1, 1)
    assert stage.shed_older(LONG) == []
    assert stage.shed_older(500 * MS) == [0, 1]
    assert seqs(stage.take_batch(9)) == [2]


def test_an_order_may_change_between_two_takes(small) -> None:
    publish(small.ring(0, 0), 0, 0, 0)
    stage = small.ring(1, 1)
    assert stage.order is Order.LOWEST
    stage.order = Order.NEWEST
    assert stage.take().seq == 2
    stage.order = Order.LOWEST
    assert stage.take().seq == 0


def test_the_latest_in_order_waits_for_an_earlier_frame_upstream_and_comes_alone(small) -> None:
    source, first = small.ring(0, 0), small.ring(1, 1)
    last = small.ring(2, 3, Order.LATEST)
    publish(source, 0, 0, 0, 0)
    leases = first.take_batch(4)
    for seq in (0, 1, 3):
        first.give(leases[seq], b"")
    assert seqs(last.take_batch(5)) == [1], "3 must not pass 2"
    assert last.shed_before(1) == [0]
    first.give(leases[2], b"")
    assert last.take().seq == 3


def test_the_supervisor_sheds_by_each_stages_own_limit(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 100, 100, 100)
    stage.give(stage.take(), b"")
    stage.take()
    now = time.monotonic_ns()
    limits = [0, 50 * MS, 0]
    (dropped,) = shed_stale(small.segment, small.bells, limits, now, Why.EXPIRED)
    assert (dropped.seq, dropped.stage, dropped.why) == (2, 1, Why.EXPIRED)
    assert drop_of(small.segment, 2) == dropped
    assert shed_stale(small.segment, small.bells, limits, now, Why.EXPIRED) == []
    assert source.wait(0), "a slot came free"


def test_the_supervisor_asks_for_the_lock_only_when_there_is_something_to_shed(small) -> None:
    from mpflow.shm import Segment

    other = Segment.attach(small.segment.fd)
    publish(small.ring(0, 0), 100)
    with other.lock:
        now = time.monotonic_ns()
        assert shed_stale(small.segment, small.bells, [0, LONG, 0], now) == []
        with pytest.raises(LockTimeout):
            shed_stale(small.segment, small.bells, [0, MS, 0], now, within=0)
    other.close()


def test_upstream_is_idle_while_nothing_is_on_its_way(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    assert stage.upstream_idle() and sink.upstream_idle()
    lease = source.alloc()
    assert not stage.upstream_idle(), "a slot is being filled"
    source.publish(lease, b"")
    assert stage.upstream_idle(), "what waits here is not on its way"
    assert not sink.upstream_idle()
    stage.give(stage.take(), b"")
    assert sink.upstream_idle() and not sink.upstream_empty()


def test_a_stale_frame_is_not_on_its_way(small) -> None:
    publish(small.ring(0, 0), 0)
    small.ring(1, 1).take()
    recover(small.segment, small.bells, worker=3, stage=2, durable=0)
    assert small.ring(2, 3).upstream_idle()


def test_depth_and_ages_are_told_by_stage(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 0, 0, 0)
    stage.take()
    source.alloc()
    found = frame_ages(small.segment, 10 * MS)
    assert {frame.word.seq for frame in found} == {0, 1, 2}, "one being filled has no birth yet"
    assert all(small.segment.words()[frame.slot] == frame.word for frame in found)
    now = max(small.segment.births) + 70 * MS
    waiting, at_sink = ready_ages(small.segment, now)[1:]
    assert (waiting.depth, waiting.held) == (2, 1)
    assert waiting.held_oldest_ns >= waiting.oldest_ns >= 70 * MS
    assert at_sink == (0, 0, 0, 0)


def test_a_dead_live_sink_loses_what_it_held_and_nothing_else(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3, Order.WATERMARK)
    publish(source, 0, 0, 0, 0)
    for _ in range(2):
        stage.give(stage.take(), b"")
    sink.free(sink.take())
    sink.take()
    held = stage.take()
    told = recover(small.segment, small.bells, worker=3, stage=2, live=True)
    assert (told.lost, told.goes_on_at, told.rewound_to) == ((1,), 1, None)
    assert (source.published, source.epoch) == (4, 0)
    assert drop_of(small.segment, 1).why is Why.LOST
    assert stage.give(held, b""), "whoever lives goes on"
    assert small.ring(2, 3, Order.WATERMARK).take().seq == 2


def test_a_dead_live_sink_of_an_empty_ring_goes_on_with_the_next_frame(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source, 0)
    stage.give(stage.take(), b"")
    sink.free(sink.take())
    told = recover(small.segment, small.bells, worker=3, stage=2, live=True)
    assert (told.lost, told.goes_on_at) == ((), 1)


def test_a_record_is_kept_for_4096_frames(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    for _ in range(4097):
        source.publish(source.alloc(), b"")
        stage.drop(stage.take(), Why.STALE)
    assert drop_of(small.segment, 0) is None
    assert drop_of(small.segment, 1) is not None
    assert drop_of(small.segment, 4096) is not None


@given(
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 31),
    st.sampled_from(Why),
    st.integers(-5, 1 << 36),
)
def test_a_record_survives_packing(seq: int, stage: int, why: Why, age_ms: int) -> None:
    word = Word(State.READY, stage, seq=seq).pack()
    births = Births([1 << 60], (1 << 60) + age_ms * MS, 3, 100, 4096)
    (_, cell, record), freed = shed((0, 0, 0, word), births, [word], why)
    assert read(record) == Dropped(seq, stage, why, min(max(age_ms, 0), 0xFFFFFF))
    assert 0 < record < 1 << 64
    assert (cell, freed) == (100 + seq % 4096, ("S1", 3, 0))
