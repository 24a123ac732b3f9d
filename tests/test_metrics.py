"""Counters add up, news comes in time, and a stall names who has the oldest frame."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from mpflow.errors import ContractError
from mpflow.metrics import COUNTERS, Meter, Progress, suspect
from mpflow.shm import Geometry, Segment, State, Word, read_stats, read_times


@dataclass(frozen=True)
class Placed:
    """A worker by its label and stage."""

    label: str
    stage: int


WORKERS = [Placed("decode", 0), Placed("detect/0", 1), Placed("detect/1", 1), Placed("encode", 2)]


@pytest.fixture
def segment():
    made = Segment.create(Geometry(slots=2, slot_bytes=64, stages=3, workers=4))
    yield made
    made.close()


def word(state: State, seq: int, stage: int, worker: int = 0) -> Word:
    return Word(state, stage, worker, 0, 0, False, 0, seq)


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        ([], "decode"),
        ([word(State.FREE, 0, 0)], "decode"),
        ([word(State.READY, 8, 1), word(State.WORK, 7, 1, worker=2)], "detect/1"),
        ([word(State.READY, 6, 1), word(State.WORK, 7, 1, worker=2)], "detect/0"),
        ([word(State.HELD, 5, 2, worker=3), word(State.READY, 6, 1)], "encode"),
    ],
)
def test_whoever_has_the_oldest_frame_is_the_suspect(words: list[Word], culprit: str) -> None:
    assert WORKERS[suspect(words, WORKERS)].label == culprit


def test_news_comes_with_the_second_frame_and_then_now_and_again(segment: Segment) -> None:
    progress, sink = Progress(), Meter(segment, 3)
    assert progress.look(segment, WORKERS, 100, now=10.0) is None
    sink.worked(1000, frames=1)
    first = progress.look(segment, WORKERS, 100, now=11.0)
    assert first is not None and first["frame"] == 1
    assert progress.first_frame == 11.0
    sink.worked(1000, frames=20)
    assert progress.look(segment, WORKERS, 100, now=11.1) is None
    news = progress.look(segment, WORKERS, 100, now=13.0)
    assert news is not None
    assert (news["frame"], news["total"], news["fps"], news["eta_s"]) == (21, 100, 10.0, 7.9)


def test_a_stall_is_a_time_without_any_frame_and_can_be_forgiven(segment: Segment) -> None:
    progress, detect = Progress(patience=5), Meter(segment, 1)
    progress.look(segment, WORKERS, None, now=0)
    assert not progress.stalled(5)
    assert progress.stalled(5.1)
    detect.worked(10, frames=1)
    progress.look(segment, WORKERS, None, now=6)
    assert not progress.stalled(10)
    progress.forgive(50)
    assert not progress.stalled(61)
    assert progress.stalled(61.1)


def test_every_counter_has_a_cell_of_its_own_and_no_other_is_known(segment: Segment) -> None:
    meter = Meter(segment, 1)
    for place, name in enumerate(COUNTERS, 1):
        meter.count(name, place)
    row = read_stats(segment)[1]
    assert [getattr(row, name) for name in COUNTERS] == [*range(1, len(COUNTERS) + 1)]
    with pytest.raises(ContractError, match="no counter naps"):
        meter.count("naps")


def test_times_of_frames_are_kept_whole_and_in_buckets(segment: Segment) -> None:
    meter = Meter(segment, 2)
    meter.timed(3_000_000, 40_000_000)
    meter.timed(5_000_000, 0)
    meter.age(70_000_000)
    times, row = read_times(segment, 2), read_stats(segment)[2]
    assert (times.service.count, times.waited.count, times.age.count) == (2, 2, 1)
    assert (row.service_ns, row.waited_ns, row.age_ns) == (8_000_000, 40_000_000, 70_000_000)
    assert times.service.mean == 4_000_000
    assert times.age.quantile(0.99) == pytest.approx(70_000_000, rel=1 / 16)


def test_a_successor_finds_the_batch_limit_of_the_worker_before(segment: Segment) -> None:
    Meter(segment, 1).batch_limit = 4
    assert Meter(segment, 1).batch_limit == 4


def test_processor_time_is_told_now_and_then(segment: Segment, monkeypatch) -> None:
    clock = [1_000_000_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    monkeypatch.setattr(time, "process_time_ns", lambda: clock[0] // 2)
    meter, told = Meter(segment, 1), []
    for _ in range(4):
        meter.worked(1)
        told.append(read_stats(segment)[1].cpu_ns)
        clock[0] += 60_000_000
    assert told == [500_000_000, 500_000_000, 560_000_000, 560_000_000]
