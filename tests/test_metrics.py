"""Counters add up, news comes in time, and a stall names who has the oldest frame."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mpflow.metrics import Meter, Progress, suspect
from mpflow.shm import Geometry, Segment, State, Word


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
