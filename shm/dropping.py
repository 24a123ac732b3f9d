"""How frames are dropped in live runs: by a worker through its ring, or by the supervisor.

    a worker       drop (what it holds), shed, shed_before, shed_older (what waits for it)
    the source     shed_oldest: nothing is free, so the oldest frame makes room
    supervisor     shed_stale: what nobody takes

Only READY frames are shed by others; a held one is dropped by its holder, or after its death. In
file runs nothing is ever dropped here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from mpflow.shm import drops, steps
from mpflow.shm.bell import Bell
from mpflow.shm.board import NOTHING, SOURCE, Stores
from mpflow.shm.drops import Births, Dropped, Why
from mpflow.shm.hand import Hand
from mpflow.shm.lease import Lease
from mpflow.shm.looking import Looking
from mpflow.shm.segment import Segment

Choose = Callable[[list[int], Births], list[int]]


class Dropping(Looking):
    """The part of a ring that drops frames. Each one leaves a record (see drops.py)."""

    _hand: Hand

    def drop(self, lease: Lease, why: Why) -> None:
        """Free a held frame that is not worked on any more, and leave a record of it."""
        self._hand.check_thread()
        if self.stage == SOURCE:
            self._hand.refuse()  # its frame has no number yet that others know
        self._hand.check_lease(lease)
        self._hand.end(lease)
        births = births_of(self.segment, time.monotonic_ns())
        self._hand.free([lease], lambda cells, cell: drops.drop(cells, births, cell, why))

    def shed(self, seqs: Iterable[int], why: Why = Why.STALE) -> list[int]:
        """Drop those of the frames that are READY for any stage; return which."""
        wanted = set(seqs)
        return self._shed(lambda cells, births: drops.named(cells, births.first, wanted), why)

    def shed_before(self, seq: int, why: Why = Why.SUPERSEDED) -> list[int]:
        """Drop what is READY for this stage and earlier than frame ``seq``; return which."""
        stage = self.stage
        return self._shed(lambda cells, b: drops.earlier(cells, b.first, stage, seq), why)

    def shed_older(self, limit_ns: int, why: Why = Why.STALE) -> list[int]:
        """Drop what is READY for this stage and older than a limit; return which."""
        limits = [0] * self.segment.geometry.stages
        limits[self.stage] = limit_ns
        return self._shed(lambda cells, births: drops.overdue(cells, births, limits), why)

    def shed_oldest(self, why: Why = Why.FULL) -> int | None:
        """Drop the oldest frame that is READY before the sink, which must not wait in vain."""
        sink = self.segment.geometry.sink
        dropped = self._shed(lambda cells, b: drops.oldest(cells, b.first, sink), why)
        return dropped[0] if dropped else None

    def _shed(self, choose: Choose, why: Why) -> list[int]:
        """Look without the lock first: mostly there is nothing to drop."""
        self._hand.check_thread()
        births = births_of(self.segment, time.monotonic_ns())
        if not choose(self.segment.snapshot(), births):
            return []

        def move(cells: list[int]) -> Stores:
            return drops.shed(cells, births, choose(cells, births), why)

        stores = self._hand.transact(move)
        if stores:
            self._hand.wake_all()
        return [dropped.seq for dropped in drops.told(stores)]


def shed_stale(  # noqa: PLR0913 - the supervisor's facts
    segment: Segment,
    bells: Sequence[Bell],
    limits_ns: Sequence[int],
    now_ns: int,
    why: Why = Why.STALE,
    *,
    within: float = 0.1,
) -> list[Dropped]:
    """Drop what waits for a stage and is older than that stage's limit (0: never); return it.

    For the supervisor: raises LockTimeout, with the holder to kill, if the lock is not free
    ``within`` so many seconds. Without anything to drop it does not ask for the lock.
    """
    births = births_of(segment, now_ns)
    if not drops.overdue(segment.snapshot(), births, limits_ns):
        return []
    stores = NOTHING
    with segment.lock.within(within):
        cells: list[int] = segment.cells.tolist()
        stores = drops.shed(cells, births, drops.overdue(cells, births, limits_ns), why)
        for name, cell, value in stores:
            steps.step(name)
            segment.board[cell] = value
    if stores:
        for bell in bells:
            bell.ring()
    return drops.told(stores)


def births_of(segment: Segment, now_ns: int) -> Births:
    """What a move that drops needs of this segment at this moment.

    The births are read through, not copied: a word seen under the lock has its own birth.
    """
    geometry = segment.geometry
    first, records = geometry.first_record, geometry.all_cells - geometry.first_record
    return Births(segment.births, now_ns, geometry.first_word, first, records)
