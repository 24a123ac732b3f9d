"""Random runs of a real ring: whatever its workers do, in whatever order, and whoever dies."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mpflow.shm import Bell, Geometry, Lease, Order, Ring, Segment, Span, State, Word, recover
from mpflow.shm.order import Seat, choose, waiting
from mpflow.shm.word import held, ready_again, ready_next

words = st.builds(
    Word,
    state=st.sampled_from(State),
    stage=st.integers(0, 31),
    worker=st.integers(0, 255),
    bank=st.integers(0, 1),
    retries=st.integers(0, 15),
    alone=st.booleans(),
    epoch=st.integers(0, 0x7FF),
    seq=st.integers(0, 0xFFFFFFFF),
)


@given(words)
def test_a_word_survives_packing(word: Word) -> None:
    assert Word.unpack(word.pack()) == word
    assert word.pack() < 1 << 64


@given(words, st.integers(0, 31), st.integers(0, 255))
def test_holding_and_giving_change_only_their_own_fields(word: Word, stage: int, worker: int):
    packed = word.pack()
    assert Word.unpack(held(State.HELD, stage, worker, packed)) == word._replace(
        state=State.HELD, stage=stage, worker=worker
    )
    assert Word.unpack(ready_next(packed, stage)) == word._replace(
        state=State.READY, stage=stage, worker=0, bank=1 - word.bank, retries=0, alone=False
    )
    suspect = word.state is State.WORK
    assert Word.unpack(ready_again(packed)) == word._replace(
        state=State.READY,
        worker=0,
        retries=min(15, word.retries + suspect),
        alone=word.alone or suspect,
    )


@given(st.lists(words, max_size=12, unique_by=lambda word: word.seq), st.integers(1, 5))
def test_a_batch_is_what_a_plain_sort_would_give(found: list[Word], limit: int) -> None:
    found = [word._replace(epoch=0, stage=word.stage % 3) for word in found]
    cells = (0, 0, 0, *(0 if word.state is State.FREE else word.pack() for word in found))
    ready = sorted(w.seq for w in found if w.state is State.READY and w.stage == 2)
    above = [w.seq for w in found if w.state is not State.FREE and w.stage < 2]
    alone = {w.seq for w in found if w.alone}
    want = []
    for seq in ready[:limit]:
        if seq in alone and want:
            break
        want.append(seq)
        if seq in alone:
            break
    low = [seq for seq in want if all(seq < other for other in above)]
    found_ready = waiting(cells, 3, 2)
    for order, expected in ((Order.LOWEST, want), (Order.WATERMARK, low)):
        chosen = choose(cells, Seat(3, 2, 0, order), found_ready, limit)
        assert [word >> 32 for word in chosen] == expected


class RingMachine(RuleBasedStateMachine):
    """A source, two editing workers and a sink that makes every frame durable when it writes."""

    FRAMES = 6

    def __init__(self) -> None:
        super().__init__()
        geometry = Geometry(
            slots=3, slot_bytes=64, token_bytes=16, stages=3, workers=4, journal_bytes=256
        )
        self.segment = Segment.create(geometry)
        self.bells = [Bell.create() for _ in range(3)]
        self.rings = [self.start(worker) for worker in range(4)]
        self.leases: list[list[Lease]] = [[], [], [], []]
        self.durable: list[int] = []

    def start(self, worker: int) -> Ring:
        stage = (0, 1, 1, 2)[worker]
        order = Order.WATERMARK if stage == 2 else Order.LOWEST
        return Ring(self.segment, self.bells, stage, worker, order)

    @precondition(lambda self: not self.leases[0])
    @rule()
    def alloc(self) -> None:
        if self.rings[0].published < self.FRAMES:
            lease = self.rings[0].alloc()
            if lease is not None:
                lease.view(0, (64,), writable=True)[:] = lease.seq
                self.leases[0].append(lease)

    @precondition(lambda self: self.leases[0])
    @rule()
    def publish(self) -> None:
        lease = self.leases[0].pop()
        self.rings[0].publish(lease, b"%d" % lease.seq)

    @rule()
    def end(self) -> None:
        self.rings[0].end_of_stream(self.FRAMES)

    @rule(worker=st.sampled_from([1, 2]), limit=st.integers(1, 2))
    def take(self, worker: int, limit: int) -> None:
        self.leases[worker] += self.rings[worker].take_batch(limit)

    @rule(worker=st.sampled_from([1, 2]), place=st.integers(0, 3), after=st.integers(0, 4))
    def edit(self, worker: int, place: int, after: int) -> None:
        """Edit and give one frame; or die after so many of the parts of that."""
        if not self.leases[worker]:
            return
        ring, lease = self.rings[worker], self.leases[worker][place % len(self.leases[worker])]
        assert lease.token == b"%d" % lease.seq
        assert (lease.view(0, (64,)) == lease.seq).all()
        parts = (
            lambda: ring.work(lease),
            lambda: ring.journal(lease, [Span(8, 8, 4, 12)]),
            lambda: lease.view(8, (4, 8), (12, 1), writable=True).fill(lease.seq + 100),
            lambda: ring.give(lease, b"%d" % (lease.seq + 100)),
        )
        for part in parts[:after]:
            part()
        if after < len(parts):
            self.die(worker)
        else:
            self.leases[worker].remove(lease)

    @rule()
    def write(self) -> None:
        lease = self.rings[3].take()
        if lease is None:
            return
        assert lease.token == b"%d" % (lease.seq + 100)
        edited = lease.view(8, (4, 8), (12, 1))
        assert (edited == lease.seq + 100).all()
        del edited
        self.durable.append(lease.seq)
        self.rings[3].free(lease)

    @rule(worker=st.integers(0, 3), taken=st.booleans())
    def die(self, worker: int, taken: bool = False) -> None:
        if worker == 3 and taken:
            self.rings[3].take()
        durable = len(self.durable) if worker == 3 else None
        recover(self.segment, self.bells, worker, (0, 1, 1, 2)[worker], durable)
        self.leases[worker] = []
        self.rings[worker] = self.start(worker)

    @invariant()
    def what_is_durable_is_in_order(self) -> None:
        assert self.durable == list(range(len(self.durable)))

    @invariant()
    def every_held_slot_has_its_holder(self) -> None:
        held = {(w.stage, w.seq, w.epoch) for w in self.segment.words() if w.state > State.READY}
        known = {(x.stage, x.seq, x.epoch) for leases in self.leases for x in leases}
        assert held == known

    def teardown(self) -> None:
        """Whatever happened before, the ring can be run to its end."""
        for _ in range(40):
            self.alloc() if not self.leases[0] else self.publish()
            if self.rings[0].published == self.FRAMES:
                self.end()
            for worker in (1, 2):
                self.take(worker, 1)
                self.edit(worker, 0, 4)
            self.write()
        try:
            assert self.durable == list(range(self.FRAMES))
            assert self.segment.drained()
        finally:
            self.segment.close()
            for bell in self.bells:
                bell.close()


RingMachine.TestCase.settings = settings(
    max_examples=200, stateful_step_count=40, derandomize=True, deadline=None
)
test_any_history_of_a_ring_can_be_finished = RingMachine.TestCase


def test_a_lease_shows_what_its_word_says() -> None:
    word = Word(State.READY, 1, 0, 1, 3, True, 9, 77).pack()
    lease = Lease(None, 1, 0, 0, word)
    assert (lease.seq, lease.epoch, lease.retries, lease.alone) == (77, 9, 3, True)
