"""What a worker remembers of frames that failed: nothing, once they are given on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from mpflow import wire
from mpflow.channel import Channel
from mpflow.desk import Desk
from mpflow.errors import ContractError
from mpflow.failing import Failures, Outcome
from mpflow.frame import PictureLayout
from mpflow.metrics import Meter
from mpflow.orders import Orders
from mpflow.recall import Memory
from mpflow.runner import StageRunner
from mpflow.shm import Bell, Geometry, Ring, Segment
from mpflow.spec import Job, JobSpec, MediaInfo, OnFailure, Rules, VideoInfo
from mpflow.stage import Options, Stage, StageContext, Work
from mpflow.tokens import Face, FrameState, Token

FRAMES = 40
VIDEO = VideoInfo(0, "x", 16, 16, "gray", "gray", (1, 1000))
JOB = Job(JobSpec("1", "camera"), MediaInfo("camera", "x", VIDEO))


class Flaky(Stage[Options]):
    """Fails the first ``failures`` times on each frame; after the last one the job is over."""

    def __init__(self, failures: int, caller: Channel) -> None:
        super().__init__(Options(), StageContext("paint"))
        self._failures = failures
        self._caller = caller
        self._tried: dict[int, int] = {}

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            seq = work.token.seq
            self._tried[seq] = self._tried.get(seq, 0) + 1
            if self._tried[seq] <= self._failures:
                raise ValueError("not at first")
            if seq == FRAMES - 1:
                self._caller.send("end")
            yield work.token


class Hoarder(Stage[Options]):
    """Keeps ``ahead`` frames back; what it puts on frame 7 does not fit on its card."""

    def __init__(self, ahead: int, caller: Channel) -> None:
        super().__init__(Options(), StageContext("paint"))
        self._ahead = ahead
        self._caller = caller
        self._waiting: list[Token] = []

    @property
    def holds(self) -> int:
        return self._ahead

    def begin(self, job: Job) -> None:
        self._waiting.clear()

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            self._waiting.append(work.token)
            if len(self._waiting) > self._ahead:
                yield self._crowded(self._waiting.pop(0))

    def flush(self) -> Iterator[Token]:
        while self._waiting:
            yield self._crowded(self._waiting.pop(0))

    def _crowded(self, token: Token) -> Token:
        if token.seq == FRAMES - 1:
            self._caller.send("end")
        faces = 1000 if token.seq == 7 else 1
        return token.with_faces([Face((0.0, 0.0, 1.0, 1.0), 0.5)] * faces)


class Bench:
    """A ring, and both ends of a worker's channel, in one process."""

    def __init__(self) -> None:
        layout = PictureLayout.of("gray", 16, 16)
        geometry = Geometry(FRAMES, layout.nbytes, 16384, stages=3, workers=3, journal_bytes=4096)
        self.segment = Segment.create(geometry)
        self.bells = [Bell.create() for _ in range(3)]
        self.caller, self.channel = Channel.pair()
        ring = Ring(self.segment, self.bells, stage=1, worker=1)
        meter, orders = Meter(self.segment, 1), Orders(self.channel)
        self.desk = Desk.at("paint", ring, meter, orders, VIDEO, number=0)

    def publish(self) -> None:
        source = Ring(self.segment, self.bells, stage=0, worker=0)
        for seq in range(FRAMES):
            lease = source.alloc()
            assert lease is not None
            token = Token("1", seq, ops=("paint",), born=time.monotonic_ns())
            source.publish(lease, wire.pack(token))
        source.end_of_stream()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench()
    monkeypatch.setattr(Desk, "pause", lambda self, seconds: None)
    monkeypatch.setattr(Desk, "tell", lambda self, kind, **values: None)
    yield made
    for each in (made.segment, made.caller, made.channel, *made.bells):
        each.close()


def run(bench: Bench, stage: Stage[Options], on_failure: OnFailure) -> StageRunner:
    bench.publish()
    rules = Rules(retries=2, on_failure=on_failure)
    runner = StageRunner(bench.desk, stage, JOB, rules, Memory())
    runner.run()
    assert bench.desk.ring.depth(2) == FRAMES
    return runner


@pytest.mark.parametrize("failures", [1, 2])
def test_frames_that_failed_and_came_through_are_forgotten(bench: Bench, failures: int) -> None:
    runner = run(bench, Flaky(failures, bench.caller), "fail")
    assert not runner._failures._attempts


@pytest.mark.parametrize("ahead", [0, 5])
def test_a_frame_whose_card_does_not_fit_is_given_up_alone(bench: Bench, ahead: int) -> None:
    run(bench, Hoarder(ahead, bench.caller), "mask")
    states = [wire.unpack(token).state for token in taken(bench)]
    expected = [FrameState.LIVE] * FRAMES
    expected[7] = FrameState.MASKED
    assert states == expected


@pytest.mark.parametrize("ahead", [0, 5])
def test_a_card_that_does_not_fit_ends_a_run_that_gives_nothing_up(
    bench: Bench, ahead: int
) -> None:
    with pytest.raises(ContractError, match="frame 7 has"):
        run(bench, Hoarder(ahead, bench.caller), "fail")


def taken(bench: Bench) -> Iterator[bytes]:
    sink = Ring(bench.segment, bench.bells, stage=2, worker=2)
    while (lease := sink.take()) is not None:
        yield bytes(lease.token)
        sink.free(lease)


def test_frames_that_were_given_up_are_forgotten() -> None:
    desk: Any = SimpleNamespace(tell=lambda *a, **k: None, pause=lambda seconds: None)
    failures = Failures(desk, Rules(retries=1, on_failure="mask", live=True))
    for seq in range(1000):
        held: Any = [SimpleNamespace(token=SimpleNamespace(seq=seq))]
        assert failures.decide(ValueError("x"), held) is None
        assert isinstance(failures.decide(ValueError("x"), held), Outcome)
    assert not failures._attempts


def test_a_flush_that_fails_is_tried_again_however_many_have_failed_before() -> None:
    desk: Any = SimpleNamespace(tell=lambda *a, **k: None, pause=lambda seconds: None)
    failures = Failures(desk, Rules(retries=1, on_failure="mask", live=True))
    held: Any = [SimpleNamespace(token=SimpleNamespace(seq=1))]
    for _ in range(3):
        assert failures.decide_flush(ValueError("x"), held) is None
        failures.flushed()
    for _ in range(3):
        assert failures.decide_flush(ValueError("x"), held) is None
        assert isinstance(failures.decide_flush(ValueError("x"), held), Outcome)
