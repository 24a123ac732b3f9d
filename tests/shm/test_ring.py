"""What a ring promises to the three kinds of workers."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from mpflow.shm import Order, Ring, Span, State, Word, recover
from mpflow.shm.layout import FIRST_KEY


def publish(source: Ring, count: int = 1) -> None:
    for _ in range(count):
        lease = source.alloc()
        assert lease is not None
        assert source.publish(lease, b"frame %d" % lease.seq)


@pytest.fixture
def small(make_ring: Callable):
    return make_ring()


def test_a_frame_passes_from_source_to_sink_without_a_copy(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    lease = source.alloc()
    lease.view(0, (16,), writable=True)[:] = 7
    assert source.publish(lease, b"decoded")
    held = stage.take()
    assert (held.seq, held.token, held.slot) == (0, b"decoded", lease.slot)
    held.view(8, (8,), writable=True)[:] = 9
    assert stage.give(held, b"edited")
    last = sink.take()
    assert last.token == b"edited"
    assert last.view(0, (16,)).tolist() == [7] * 8 + [9] * 8
    sink.free(last)
    assert small.segment.words() == [Word()] * 3


def test_a_full_ring_gives_the_source_no_slot_until_one_comes_free(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 3)
    assert source.alloc() is None
    stage.free(stage.take())
    assert source.wait(0)
    assert source.alloc().seq == 3


def test_the_lowest_order_takes_the_earliest_and_newest_the_latest(small) -> None:
    publish(small.ring(0, 0), 3)
    assert small.ring(1, 1, Order.NEWEST).take().seq == 2
    assert small.ring(1, 2, Order.LOWEST).take().seq == 0


def test_a_batch_comes_in_the_order_of_its_policy(small) -> None:
    publish(small.ring(0, 0), 3)
    assert [lease.seq for lease in small.ring(1, 1, Order.NEWEST).take_batch(2)] == [2, 1]


def test_the_watermark_waits_for_an_earlier_frame_upstream(small) -> None:
    source, first, second = small.ring(0, 0), small.ring(1, 1), small.ring(1, 2)
    sink = small.ring(2, 3, Order.WATERMARK)
    publish(source, 2)
    slow, quick = first.take(), second.take()
    second.give(quick, b"1")
    assert sink.take() is None
    first.give(slow, b"0")
    assert [lease.seq for lease in sink.take_batch(5)] == [0, 1]


def test_an_ordered_stage_is_woken_when_the_frame_it_waits_for_vanishes(small) -> None:
    source, first, second = small.ring(0, 0), small.ring(1, 1), small.ring(1, 2)
    sink = small.ring(2, 3, Order.WATERMARK)
    publish(source, 2)
    slow, quick = first.take(), second.take()
    second.give(quick, b"1")
    assert sink.wait(0)
    assert sink.take() is None
    first.free(slow)
    assert sink.wait(0)
    assert sink.take().seq == 1


def test_the_watermark_keeps_order_behind_a_restarted_worker(small) -> None:
    source, sink = small.ring(0, 0), small.ring(2, 3, Order.WATERMARK)
    first, second = small.ring(1, 1), small.ring(1, 2)
    publish(source, 2)
    first.take()
    second.give(second.take(), b"1")
    recover(small.segment, small.bells, worker=1, stage=1)
    assert sink.take() is None
    again = small.ring(1, 1)
    again.give(again.take(), b"0")
    assert sink.take().seq == 0


def test_an_undone_frame_is_as_it_was_taken_and_still_held(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source)
    lease = stage.take()
    before, pixels = lease.word, lease.view(0, (4096,)).copy()
    stage.work(lease)
    for span in (Span(0, 16, 4, 64), Span(8, 16, 4, 64)):
        stage.journal(lease, [span])
        lease.view(span.offset, (4, 16), (64, 1), writable=True)[:] = span.offset + 1
    stage.undo(lease)
    assert (lease.view(0, (4096,)) == pixels).all()
    assert (lease.word, small.segment.words()[lease.slot].state) == (before, State.HELD)
    assert small.segment.cells[FIRST_KEY + 1] == 0
    stage.work(lease)
    stage.journal(lease, [Span(0, 4096, 1, 4096)])
    lease.view(0, (4096,), writable=True)[:] = 7
    assert stage.give(lease, b"covered")
    assert (small.ring(2, 3).take().view(0, (4096,)) == 7).all()


def test_undoing_untouched_frames_changes_nothing_and_spares_another_frames_journal(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 2)
    edited, other = stage.take_batch(2)
    stage.undo(other)
    stage.journal(edited, [Span(0, 8, 1, 8)])
    key = small.segment.cells[FIRST_KEY + 1]
    stage.work(other)
    stage.undo(other)
    assert small.segment.cells[FIRST_KEY + 1] == key != 0
    assert [word.state for word in small.segment.words()][:2] == [State.HELD] * 2
    stage.give(edited, b"")
    stage.give(other, b"")


def test_a_suspect_whose_work_was_undone_stays_a_suspect(small) -> None:
    publish(small.ring(0, 0))
    stage = small.ring(1, 1)
    stage.work(stage.take())
    recover(small.segment, small.bells, worker=1, stage=1)
    stage = small.ring(1, 1)
    lease = stage.take()
    stage.work(lease)
    stage.undo(lease)
    assert (lease.alone, lease.retries) == (True, 1)
    assert recover(small.segment, small.bells, worker=1, stage=1).suspects == ()


def test_a_suspect_is_retried_alone_and_quarantined_when_it_kills_again(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 3)
    leases = stage.take_batch(2)
    stage.work(leases[1])
    told = recover(small.segment, small.bells, worker=1, stage=1)
    assert (told.requeued, told.suspects, told.quarantined) == ((0, 1), (1,), ())
    stage = small.ring(1, 1)
    assert [(lease.seq, lease.alone) for lease in stage.take_batch(3)] == [(0, False)]
    (suspect,) = stage.take_batch(3)
    assert (suspect.seq, suspect.alone, suspect.retries) == (1, True, 1)
    assert not suspect.quarantined
    stage.work(suspect)
    told = recover(small.segment, small.bells, worker=1, stage=1)
    assert told.quarantined == (1,)
    stage = small.ring(1, 1)
    assert stage.take().seq == 0
    again = stage.take()
    assert again.quarantined
    stage.give(again, b"covered")
    fresh = small.ring(2, 3).take()
    assert (fresh.alone, fresh.retries) == (False, 0)


def test_recovery_puts_the_journalled_pixels_back(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    lease = source.alloc()
    before = np.arange(4096, dtype=np.uint8)
    lease.view(0, (4096,), writable=True)[:] = before
    source.publish(lease, b"")
    held = stage.take()
    stage.journal(held, [Span(10, 20, 5, 64), Span(2000, 1, 1, 1)])
    held.view(0, (2001,), writable=True)[10:330] = 0
    stage.journal(held, [Span(0, 400, 1, 400)])
    held.view(0, (400,), writable=True)[:] = 1
    recover(small.segment, small.bells, worker=1, stage=1)
    after = small.ring(1, 1).take().view(0, (4096,))
    rows = after[10:330].reshape(5, 64)[:, :20]
    assert (rows == before[10:330].reshape(5, 64)[:, :20]).all()
    assert (after[400:] == before[400:]).all()


def test_spans_that_take_more_than_the_whole_slot_save_it_once(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source)
    held = stage.take()
    stage.journal(held, [Span(0, 4096, 1, 4096)] * 5)
    held.view(0, (4096,), writable=True)[:] = 255
    recover(small.segment, small.bells, worker=1, stage=1)
    assert not small.ring(1, 1).take().view(0, (4096,)).any()


def test_a_rewind_frees_waiting_frames_and_makes_held_ones_stale(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 3)
    held = stage.take()
    source.end_of_stream()
    told = recover(small.segment, small.bells, worker=3, stage=2, durable=0)
    assert (told.rewound_to, told.freed) == (0, (1, 2))
    assert (source.published, source.end, source.epoch) == (0, None, 1)
    assert held.epoch != stage.epoch
    assert not stage.give(held, b"stale")
    assert source.alloc().seq == 0


def test_a_source_that_was_rewound_can_neither_publish_nor_end(small) -> None:
    source = small.ring(0, 0)
    publish(source)
    lease = source.alloc()
    recover(small.segment, small.bells, worker=3, stage=2, durable=0)
    assert not source.publish(lease, b"stale")
    assert not source.end_of_stream(2)
    publish(source, 2)
    assert source.end_of_stream(2)
    assert source.end == 2


def test_upstream_is_empty_only_when_nothing_can_come_any_more(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source)
    assert not stage.upstream_empty()
    source.end_of_stream()
    assert not stage.upstream_empty(), "a frame is READY for it"
    held = stage.take()
    assert stage.upstream_empty()
    assert not sink.upstream_empty()
    stage.give(held, b"")
    assert not sink.upstream_empty()
    assert not small.segment.drained()
    sink.free(sink.take())
    assert sink.upstream_empty()
    assert small.segment.drained()


def test_a_retired_slot_comes_free_when_its_last_array_dies_on_any_thread(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source)
    stage.give(stage.take(), b"")
    sink.wait(0)
    lease = sink.take()
    views = [lease.view(0, (64, 64), writable=True)[::2, ::2]]
    sink.retire(lease)
    assert (sink.retired, sink.reap()) == (1, 0)
    other = threading.Thread(target=views.clear)
    other.start()
    other.join()
    assert sink.wait(0), "the finalizer rings the sink's own bell"
    assert (sink.reap(), sink.retired) == (1, 0)
    assert small.segment.words() == [Word()] * 3


def test_a_dlpack_export_keeps_a_retired_slot(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source)
    stage.give(stage.take(), b"")
    lease = sink.take()
    kept = np.from_dlpack(lease.view(0, (4096,), writable=True))
    sink.retire(lease)
    assert (sink.retired, sink.reap()) == (1, 0)
    del kept
    assert sink.reap() == 1


def test_a_lease_without_views_retires_at_once(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source)
    stage.give(stage.take(), b"")
    sink.retire(sink.take())
    assert sink.retired == 0
    assert small.segment.words() == [Word()] * 3


def test_a_worker_that_leaves_work_behind_wakes_its_neighbour(small) -> None:
    source, one, two = small.ring(0, 0), small.ring(1, 1), small.ring(1, 2)
    publish(source, 2)
    assert one.wait(0)
    assert not two.wait(0), "the bell was cleared"
    one.take()
    assert two.wait(0)
    assert two.take().seq == 1
    assert not one.wait(0)


def test_a_ring_that_comes_between_clearing_and_looking_is_heard(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source)
    assert stage.wait(0)
    publish(source)
    stage.take_batch(2)
    assert stage.wait(0)


def test_wait_names_other_descriptors_that_are_readable(small) -> None:
    stage, other = small.ring(1, 1), small.bells[2]
    other.ring()
    assert stage.wait(5, [other.fileno()]) == [other.fileno()]


def test_in_tests_a_released_slot_is_filled_with_a_pattern(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    publish(source)
    held = stage.take()
    held.view(0, (4096,), writable=True)[:] = 3
    stage.give(held, b"")
    last = sink.take()
    slot = last.slot
    assert set(last.view(0, (4096,)).tolist()) == {3}
    sink.free(last)
    at = small.segment.geometry.slot_at(slot)
    assert bytes(small.segment.bytes[at : at + 4096]) == b"\xa5" * 4096


def test_only_ready_frames_are_shed(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    publish(source, 3)
    held = stage.take()
    assert stage.shed([0, 1]) == [1]
    states = {word.seq: word.state for word in small.segment.words() if word.state}
    assert states == {0: State.HELD, 2: State.READY}
    assert stage.give(held, b"")


def test_every_token_size_up_to_the_bank_is_carried(small) -> None:
    source, stage = small.ring(0, 0), small.ring(1, 1)
    for size in (0, 1, 255, 256):
        assert source.publish(source.alloc(), b"x" * size)
        lease = stage.take()
        assert lease.token == b"x" * size
        stage.free(lease)


def test_the_side_area_follows_the_picture(make_ring: Callable) -> None:
    small = make_ring(side_bytes=512)
    lease = small.ring(0, 0).alloc()
    side = lease.view(4096, (128,), dtype=np.float32, writable=True)
    side[:] = 1.5
    assert (lease.view(4096, (512,), dtype=np.uint8)[2:4] == [192, 63]).all()


def test_views_are_read_only_unless_asked_otherwise(small) -> None:
    view = small.ring(0, 0).alloc().view(0, (8,))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
