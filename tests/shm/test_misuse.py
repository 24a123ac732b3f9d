"""Each kind of misuse has an error of its own, and leaves the ring whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mpflow.shm import (
    BadGeometry,
    DoubleRelease,
    DurableUnknown,
    EpochsExhausted,
    ForeignLease,
    Geometry,
    JournalBusy,
    JournalTooSmall,
    LeaseEnded,
    NotASegment,
    NotHolder,
    OneSlotOnly,
    Segment,
    SegmentClosed,
    Span,
    State,
    Stats,
    TokenTooLarge,
    UnknownWorker,
    ViewOutside,
    ViewSurvives,
    WrongGeometry,
    WrongStage,
    WrongThread,
    WrongVersion,
    recover,
)
from mpflow.shm.layout import BOARD_AT, EPOCH


@pytest.fixture
def small(make_ring: Callable):
    return make_ring()


def held(small, count: int = 1):
    source, stage = small.ring(0, 0), small.ring(1, 1)
    for _ in range(count):
        source.publish(source.alloc(), b"")
    return stage, stage.take_batch(count)


def test_a_lease_is_released_only_once(small) -> None:
    stage, (lease,) = held(small)
    stage.give(lease, b"")
    with pytest.raises(DoubleRelease, match="frame 0 of stage 1"):
        stage.give(lease, b"")
    with pytest.raises(DoubleRelease):
        stage.free(lease)


def test_nothing_can_be_read_from_a_lease_that_ended(small) -> None:
    stage, (lease,) = held(small)
    stage.free(lease)
    with pytest.raises(LeaseEnded):
        lease.view(0, (1,))
    with pytest.raises(LeaseEnded):
        _ = lease.token
    with pytest.raises(LeaseEnded):
        stage.work(lease)
    with pytest.raises(LeaseEnded):
        stage.journal(lease, [])


def test_a_view_that_survives_its_lease_names_the_stage_and_keeps_the_slot(small) -> None:
    stage, (lease,) = held(small)
    view = lease.view(0, (8, 8))[2:]
    with pytest.raises(ViewSurvives, match="stage 1 keeps an array of frame 0") as caught:
        stage.give(lease, b"")
    assert caught.value.facts == {"stage": 1, "seq": 0}
    assert small.segment.words()[0].state is State.HELD
    assert stage.reap() == 0
    del view
    assert stage.reap() == 1
    assert small.segment.words()[0].state is State.FREE


def test_a_view_that_survives_forbids_to_undo_and_the_lease_goes_on(small) -> None:
    stage, (lease,) = held(small)
    stage.work(lease)
    stage.journal(lease, [Span(0, 8, 1, 8)])
    view = lease.view(0, (8,), writable=True)
    view[:] = 5
    with pytest.raises(ViewSurvives, match="stage 1 keeps an array of frame 0 while"):
        stage.undo(lease)
    assert small.segment.words()[0].state is State.WORK
    assert (lease.view(0, (8,)) == 5).all()
    del view
    stage.undo(lease)
    assert not (lease.view(0, (8,)) == 5).any()
    assert stage.give(lease, b"")
    with pytest.raises(LeaseEnded):
        stage.undo(lease)


def test_operations_belong_to_their_stages(small) -> None:
    source, stage, sink = small.ring(0, 0), small.ring(1, 1), small.ring(2, 3)
    lease = source.alloc()
    for misused in (
        source.take,
        stage.alloc,
        sink.alloc,
        stage.end_of_stream,
        lambda: source.give(lease, b""),
        lambda: sink.give(lease, b""),
        lambda: stage.publish(lease, b""),
    ):
        with pytest.raises(WrongStage):
            misused()


def test_a_lease_of_another_stage_is_refused(small) -> None:
    _, (lease,) = held(small)
    with pytest.raises(ForeignLease):
        small.ring(2, 3).free(lease)


def test_only_the_thread_that_made_the_ring_may_use_it(small) -> None:
    source = small.ring(0, 0)
    with ThreadPoolExecutor(1) as pool, pytest.raises(WrongThread):
        pool.submit(source.alloc).result()
    assert threading.active_count() >= 1


def test_a_token_that_does_not_fit_is_refused_and_the_lease_lives(small) -> None:
    stage, (lease,) = held(small)
    with pytest.raises(TokenTooLarge, match="257 bytes, 256 fit"):
        stage.give(lease, b"x" * 257)
    assert stage.give(lease, b"x" * 256)


def test_the_source_holds_one_slot_at_a_time(small) -> None:
    source = small.ring(0, 0)
    source.alloc()
    with pytest.raises(OneSlotOnly):
        source.alloc()


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(4090, (8,), None), (-1, (1,), None), (0, (2, 2), (4096, 1)), (0, (2,), (-1,))],
)
def test_a_view_outside_the_slot_is_refused(small, offset, shape, strides) -> None:
    _, (lease,) = held(small)
    with pytest.raises(ViewOutside):
        lease.view(offset, shape, strides)


def test_a_journal_that_is_too_small_says_how_large_it_must_be(make_ring: Callable) -> None:
    small = make_ring(journal_bytes=100)
    stage, (lease,) = held(small)
    with pytest.raises(JournalTooSmall, match="136 bytes for frame 0, it has 100"):
        stage.journal(lease, [Span(0, 100, 1, 100)])
    assert stage.give(lease, b"")


def test_a_second_frame_is_not_edited_before_the_first_was_given_on(small) -> None:
    stage, (one, two) = held(small, 2)
    stage.journal(one, [Span(0, 1, 1, 1)])
    with pytest.raises(JournalBusy, match="frame 1 is edited before frame 0"):
        stage.journal(two, [Span(0, 1, 1, 1)])
    stage.give(one, b"")
    stage.journal(two, [Span(0, 1, 1, 1)])


def test_a_worker_without_a_journal_can_save_nothing(make_ring) -> None:
    small = make_ring(first_journal=2, journals_end=3)
    source, ring = small.ring(0, 0), small.ring(1, 1)
    source.publish(source.alloc(), b"token")
    lease = ring.take()
    ring.work(lease)
    with pytest.raises(JournalTooSmall, match="for frame 0, it has 0"):
        ring.journal(lease, [Span(0, 16, 1, 16)])
    ring.give(lease, b"token")
    both = make_ring().segment.geometry
    assert both.total_bytes - small.segment.geometry.total_bytes == 3 * both.journal_span


def test_a_worker_with_the_only_journal_gets_back_what_it_saved(make_ring) -> None:
    small = make_ring(first_journal=2, journals_end=3)
    source, ring = small.ring(0, 0), small.ring(1, 2)
    source.publish(source.alloc(), b"token")
    lease = ring.take()
    ring.work(lease)
    ring.journal(lease, [Span(0, 16, 1, 16)])
    lease.view(0, (16,), writable=True)[:] = 7
    ring.undo(lease)
    assert lease.view(0, (16,)).tolist() == [0] * 16
    ring.give(lease, b"token")


@pytest.mark.parametrize("span", [Span(-1, 1, 1, 1), Span(4090, 8, 1, 8), Span(0, 8, 2, 4)])
def test_a_span_outside_the_slot_is_refused(small, span: Span) -> None:
    stage, (lease,) = held(small)
    with pytest.raises(ViewOutside):
        stage.journal(lease, [span])


def test_a_worker_that_was_recovered_alive_finds_its_frame_taken_away(small) -> None:
    stage, (lease,) = held(small)
    recover(small.segment, small.bells, worker=1, stage=1)
    with pytest.raises(NotHolder, match="taken away from worker 1 of stage 1"):
        stage.give(lease, b"")


def test_workers_stages_and_bells_are_checked_against_the_geometry(small) -> None:
    for stage, worker in ((3, 0), (-1, 0), (0, 4), (0, -1)):
        with pytest.raises(UnknownWorker):
            small.ring(stage, worker)
        with pytest.raises(UnknownWorker):
            recover(small.segment, small.bells, worker, stage)
    small.bells.append(small.bells[0])
    with pytest.raises(UnknownWorker, match="4 bells for 3 stages"):
        small.ring(0, 0)
    small.bells.pop()
    with pytest.raises(UnknownWorker):
        Stats(small.segment, 4)


def test_a_dead_sink_is_not_recovered_without_knowing_what_is_durable(small) -> None:
    with pytest.raises(DurableUnknown):
        recover(small.segment, small.bells, worker=3, stage=2)


def test_the_epochs_of_a_word_run_out_loudly(small) -> None:
    small.segment.cells[EPOCH] = 0x7FF
    with pytest.raises(EpochsExhausted):
        recover(small.segment, small.bells, worker=3, stage=2, durable=0)


@pytest.mark.parametrize(
    "numbers", [{"slots": 0}, {"stages": 33}, {"workers": 257}, {"slot_bytes": 0}, {"stages": 1}]
)
def test_numbers_that_fit_no_word_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(BadGeometry):
        Geometry(**({"slots": 2, "slot_bytes": 8} | numbers))


def test_a_closed_segment_says_so(small) -> None:
    source = small.ring(0, 0)
    small.segment.close()
    small.segment.close()
    for used in (source.alloc, lambda: source.epoch, source.words, source.upstream_empty):
        with pytest.raises(SegmentClosed):
            used()


@pytest.mark.parametrize(
    ("at", "data", "error"),
    [
        (0, b"RIFF", NotASegment),
        (8, b"\x09", WrongVersion),
        (16, b"\x09", WrongGeometry),
        (16, b"\x00", WrongGeometry),
    ],
)
def test_a_damaged_header_is_not_attached(small, at: int, data: bytes, error: type) -> None:
    assert at < BOARD_AT
    os.pwrite(small.segment.fd, data, at)
    with pytest.raises(error):
        Segment.attach(small.segment.fd)


def test_other_descriptors_are_not_attached(tmp_path) -> None:
    short = tmp_path / "short"
    short.write_bytes(b"too short")
    with short.open("rb+") as file, pytest.raises(NotASegment, match="too short"):
        Segment.attach(file.fileno())
    with pytest.raises(NotASegment):
        Segment.attach(99999)
    readable, writable = os.pipe()
    with pytest.raises(NotASegment):
        Segment.attach(readable)
    os.close(readable)
    os.close(writable)
