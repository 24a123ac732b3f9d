"""Random histories of a live ring: whoever drops or dies, every frame is accounted for."""

from __future__ import annotations

import time

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mpflow.shm import (
    Bell,
    Geometry,
    Lease,
    Order,
    Ring,
    Segment,
    State,
    Why,
    drop_of,
    ready_ages,
    recover,
    shed_stale,
)

STAGES = (0, 1, 1, 2, 3)
SINK = 4


class LiveMachine(RuleBasedStateMachine):
    """A source that never waits, two workers, an ordered stage, and a sink that sends at once."""

    def __init__(self) -> None:
        super().__init__()
        geometry = Geometry(slots=4, slot_bytes=8, token_bytes=16, stages=4, workers=5)
        self.segment = Segment.create(geometry)
        self.bells = [Bell.create() for _ in range(4)]
        self.rings = [self.start(worker) for worker in range(5)]
        self.held: list[list[Lease]] = [[] for _ in STAGES]
        self.sent: list[int] = []
        self.seen = 0

    def start(self, worker: int) -> Ring:
        ordered = STAGES[worker] > 1
        order = Order.WATERMARK if ordered else Order.LOWEST
        return Ring(self.segment, self.bells, STAGES[worker], worker, order)

    @rule(age=st.integers(0, 100))
    def a_picture_comes(self, age: int) -> None:
        """Into a free slot, or into one that is made free, or it is missed."""
        source = self.rings[0]
        lease = source.alloc()
        if lease is None and source.shed_oldest() is not None:
            lease = source.alloc()
            assert lease is not None
        if lease is not None:
            born = time.monotonic_ns() - age * 1_000_000_000
            assert source.publish(lease, b"%d" % lease.seq, born)

    @rule(worker=st.sampled_from([1, 2, 3]), limit=st.integers(1, 2))
    def take(self, worker: int, limit: int) -> None:
        self.held[worker] += self.rings[worker].take_batch(limit)

    @rule(worker=st.sampled_from([1, 2]))
    def take_the_newest(self, worker: int) -> None:
        ring = self.rings[worker]
        ring.order = Order.NEWEST
        lease = ring.take()
        if lease is not None:
            self.held[worker].append(lease)
            ring.shed_before(lease.seq)
        ring.order = Order.LOWEST

    @precondition(lambda self: not self.held[3])
    @rule()
    def take_the_latest(self) -> None:
        ring = self.rings[3]
        ring.order = Order.LATEST
        lease = ring.take()
        if lease is not None:
            self.held[3].append(lease)
            ring.shed_before(lease.seq)
        ring.order = Order.WATERMARK

    @rule(worker=st.sampled_from([1, 2, 3]), drop=st.booleans())
    def finish_one(self, worker: int, drop: bool) -> None:
        if not self.held[worker]:
            return
        ring, lease = self.rings[worker], self.held[worker].pop(0)
        assert lease.token == b"%d" % lease.seq
        ring.work(lease)
        if drop:
            ring.drop(lease, Why.STALE)
        else:
            assert ring.give(lease, b"%d" % lease.seq)

    @rule()
    def send(self) -> None:
        lease = self.rings[SINK].take()
        if lease is not None:
            self.account_to(lease.seq)
            self.sent.append(lease.seq)
            self.seen = lease.seq + 1
            self.rings[SINK].free(lease)

    @rule(stage=st.integers(1, 3), limit_s=st.integers(1, 99))
    def the_supervisor_sheds(self, stage: int, limit_s: int) -> None:
        limits = [0] * 4
        limits[stage] = limit_s * 1_000_000_000
        now = time.monotonic_ns()
        shed_stale(self.segment, self.bells, limits, now, Why.EXPIRED)
        assert ready_ages(self.segment, now)[stage].oldest_ns <= limits[stage]

    @rule(worker=st.integers(1, 4), held=st.booleans())
    def die(self, worker: int, held: bool) -> None:
        if held and worker == SINK:
            self.rings[SINK].take()
        told = recover(self.segment, self.bells, worker, STAGES[worker], live=True)
        if worker == SINK:
            assert told.goes_on_at is not None and told.goes_on_at >= self.seen
        self.held[worker] = []
        self.rings[worker] = self.start(worker)

    @invariant()
    def frames_are_sent_in_order(self) -> None:
        assert self.sent == sorted(set(self.sent))

    @invariant()
    def every_held_slot_has_its_holder(self) -> None:
        held = {(word.stage, word.seq) for word in self.segment.words() if word.state > State.READY}
        assert held == {(lease.stage, lease.seq) for leases in self.held for lease in leases}

    def account_to(self, seq: int) -> None:
        """Between two frames that were sent, each has a record."""
        assert all(drop_of(self.segment, missing) for missing in range(self.seen, seq))

    def teardown(self) -> None:
        """Whatever happened before, the ring can be run to its end, and every frame is known."""
        try:
            assert self.rings[0].end_of_stream()
            for _ in range(12):
                for worker in (1, 2, 3):
                    self.take(worker, 1)
                    self.finish_one(worker, drop=False)
                self.send()
            self.account_to(self.rings[0].published)
            assert self.segment.drained()
        finally:
            self.segment.close()
            for bell in self.bells:
                bell.close()


LiveMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, derandomize=True, deadline=None
)
test_any_history_of_a_live_ring_accounts_for_every_frame = LiveMachine.TestCase
