"""The ring as one worker sees it: take a frame, work on it, give it on.

    source: alloc -> fill -> publish          end_of_stream
    stage:  take  -> work -> journal -> give, or drop
    sink:   take  -> work -> free, or retire -> reap

The moves themselves are in board.py; here each is made under the lock, one store at a time. What
only reads is in looking.py, what drops frames in dropping.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from time import monotonic_ns

from mpflow.shm import board, steps
from mpflow.shm.bell import Bell
from mpflow.shm.board import SOURCE, Stores
from mpflow.shm.dropping import Dropping
from mpflow.shm.errors import LeaseEnded, OneSlotOnly, UnknownWorker
from mpflow.shm.hand import Hand
from mpflow.shm.journal import Span
from mpflow.shm.lease import Lease
from mpflow.shm.order import Order, Seat, waiting
from mpflow.shm.segment import Segment
from mpflow.shm.waking import Waking
from mpflow.shm.word import FREE


class Ring(Dropping):
    """One worker's door to the ring.

    ``worker`` counts through all workers of all stages. ``bells[k]`` wakes the readers of stage
    k, ``bells[0]`` says that a slot came free. All calls must come from one thread.
    """

    def __init__(
        self,
        segment: Segment,
        bells: Sequence[Bell],
        stage: int,
        worker: int,
        order: Order = Order.LOWEST,
    ) -> None:
        geometry = segment.geometry
        if not 0 <= stage < geometry.stages or not 0 <= worker < geometry.workers:
            raise UnknownWorker(f"no worker {worker} of stage {stage} in {geometry}", stage=stage)
        if len(bells) != geometry.stages:
            raise UnknownWorker(f"{len(bells)} bells for {geometry.stages} stages", stage=stage)
        self.segment = segment
        self.stage = stage
        self.worker = worker
        self._waking = Waking(bells, stage)
        self._first = geometry.first_word
        self._first_born = geometry.first_born
        self._seat = Seat(self._first, stage, worker, order)
        self._hand = Hand(segment, stage, worker, self._waking)
        self._allocated: Lease | None = None
        self._starved = False
        self._ready = 0
        self._sink = geometry.sink
        self._thread = self._hand.thread
        self._expected = segment.published

    def alloc(self) -> Lease | None:
        """Take a free slot for frame ``lease.seq``; None if there is none (wait on the bell)."""
        if get_ident() != self._thread or self.stage != SOURCE:
            self._hand.refuse()
        if self._allocated is not None and not self._allocated.closed:
            raise OneSlotOnly(f"the source still holds frame {self._allocated.seq}", stage=SOURCE)
        if self._starved and FREE not in self.segment.snapshot()[self._first :]:
            return None
        stores = self._hand.transact(board.alloc, self._first, self.worker)
        self._starved = not stores
        if not stores:
            return None
        self._allocated = lease = self._hand.lease(stores[0])
        return lease

    def publish(self, lease: Lease, token: bytes, born: int = 0) -> bool:
        """Hand the source's frame to stage 1; False if the sink was rewound meanwhile.

        Then the slot was freed, and the source goes back to frame ``published``. Its age counts
        from ``born``, in nanoseconds of the monotonic clock; from now, if that is not given.
        """
        if get_ident() != self._thread or self.stage != SOURCE:
            self._hand.refuse()
        if lease.closed or lease.segment is not self.segment or lease.stage != SOURCE:
            self._hand.check_lease(lease)
        moment = born or monotonic_ns()
        ((name, cell, value),) = board.birth(self._first_born, lease.slot, moment)
        if steps.hook is not None:
            steps.hook(name)
        # seen by others once the frame is published: SYNC with Lease.born and ages.py
        self.segment.board[cell] = value
        stores = self._hand.hand_over(lease, token, board.publish)
        fresh = len(stores) > 1
        if fresh:
            self._expected = stores[0][2]
        self._waking.moved(1 if fresh else SOURCE)
        return fresh

    def end_of_stream(self, total: int | None = None) -> bool:
        """Say that the input has ``total`` frames (all published so far, if not given).

        False if the sink was rewound meanwhile: the source goes back to frame ``published``.
        """
        if get_ident() != self._thread or self.stage != SOURCE:
            self._hand.refuse()
        frames = self._expected if total is None else total
        stores = self._hand.transact(board.end_of_stream, frames)
        if stores:
            self._waking.all()
        return bool(stores)

    def take(self) -> Lease | None:
        """Take the next frame that the order allows; None if there is none."""
        stores = self._take(1)
        return self._hand.lease(stores[0]) if stores else None

    def take_batch(self, limit: int) -> list[Lease]:
        """Take up to ``limit`` frames in one go; a suspect comes as a batch of its own."""
        return [self._hand.lease(store) for store in self._take(limit)]

    def work(self, lease: Lease) -> None:
        """Mark a frame as being worked on: if this worker dies, the frame is a suspect."""
        self._hand.check_thread()
        self._hand.check_lease(lease, LeaseEnded)
        ((name, cell, word),) = board.work(lease.word, lease.cell)
        steps.step(name)
        # the holder's own store, without the lock: nobody else writes a held word
        self.segment.cells[cell] = lease.word = word

    def journal(self, lease: Lease, spans: Sequence[Span]) -> None:
        """Save the pixels under ``spans`` before they are changed."""
        self._hand.check_thread()
        self._hand.check_lease(lease, LeaseEnded)
        self._hand.journal.save(lease, spans)

    def undo(self, lease: Lease) -> None:
        """Make a held frame as it was when taken, after its stage failed on it; it stays held.

        Pixels come back from the journal. Raises ViewSurvives, and changes nothing, while an
        array made from the lease is alive.
        """
        self._hand.check_thread()
        self._hand.check_lease(lease, LeaseEnded)
        self._hand.undo(lease)

    def give(self, lease: Lease, token: bytes) -> bool:
        """Hand a frame to the next stage; False if it was made stale, and was freed."""
        if get_ident() != self._thread or not SOURCE < self.stage < self._sink:
            self._hand.refuse()
        if lease.closed or lease.segment is not self.segment or lease.stage != self.stage:
            self._hand.check_lease(lease)
        stores = self._hand.hand_over(lease, token, board.give)
        fresh = stores[0][0] == "G2"
        self._hand.journal.clear(lease)
        self._waking.moved(self.stage + 1 if fresh else SOURCE)
        return fresh

    def free(self, lease: Lease) -> None:
        """Give the slot back: the sink's frame is done, or another stage drops its frame."""
        self._hand.check_thread()
        self._hand.check_lease(lease)
        self._hand.end(lease)
        self._hand.free([lease])

    def retire(self, lease: Lease) -> None:
        """End a lease whose arrays may live on; its slot is freed when the last of them dies."""
        self._hand.check_thread()
        self._hand.check_lease(lease)
        watch = lease.end()
        if watch is None:
            self._hand.free([lease])
        else:
            self._hand.retired.add(lease, watch)

    def reap(self) -> int:
        """Free the retired slots whose arrays have died; return how many."""
        self._hand.check_thread()
        leases = self._hand.retired.collect()
        if leases:
            self._hand.free(leases)
        return len(leases)

    @property
    def retired(self) -> int:
        """How many retired slots are not freed yet."""
        return len(self._hand.retired)

    def wake_before(self) -> None:
        """Wake the workers of the stage before, which may wait until this one has taken."""
        self._waking.moved(self.stage - 1)

    def wait(self, timeout: float, also: Sequence[int] = ()) -> list[int]:
        """Wait up to ``timeout`` seconds for the own bell or one of ``also`` to be readable.

        Returns the readable descriptors. The bell is already cleared: look for frames now.
        """
        self._hand.check_thread()
        return self._waking.wait(timeout, also)

    @property
    def order(self) -> Order:
        """In what order this worker takes frames; may be set between two takes."""
        return self._seat.order

    @order.setter
    def order(self, order: Order) -> None:
        self._seat = self._seat._replace(order=order)

    def _take(self, limit: int) -> Stores:
        if get_ident() != self._thread or self.stage == SOURCE:
            self._hand.refuse()
        # after a bell there is work; else a look without the lock spares both sides a wait for it
        waking = self._waking
        if waking.heard:
            waking.heard = False
        elif not waiting(self.segment.snapshot(), self._first, self.stage):
            return ()
        stores = self._hand.transact(self._choose, limit)
        if stores and (waking.ended or self._ready > len(stores)):
            waking.took(self._ready - len(stores))
        return stores

    def _choose(self, cells: list[int], limit: int) -> Stores:
        ready = waiting(cells, self._first, self.stage)
        self._ready = len(ready)
        return board.take(cells, self._seat, ready, limit)
