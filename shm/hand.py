"""One worker's hand on the board: each move is read, planned and made in one go under the lock."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from fcntl import LOCK_EX, LOCK_UN, flock
from typing import Any, NoReturn

from mpflow.shm import board, steps
from mpflow.shm.board import SOURCE, Store, Stores
from mpflow.shm.errors import (
    DoubleRelease,
    ForeignLease,
    LeaseEnded,
    NotHolder,
    SegmentClosed,
    TokenTooLarge,
    ViewSurvives,
    WrongStage,
    WrongThread,
)
from mpflow.shm.journal import Journal
from mpflow.shm.layout import END, UNKNOWN
from mpflow.shm.lease import Lease
from mpflow.shm.retired import Retired
from mpflow.shm.segment import Segment
from mpflow.shm.waking import Waking
from mpflow.shm.word import BANK_SHIFT, Word


def _free(_cells: list[int], cell: int) -> Stores:
    return board.free(cell)


class Hand:
    """What all operations of a ring share."""

    def __init__(self, segment: Segment, stage: int, worker: int, waking: Waking) -> None:
        self.segment = segment
        self.stage = stage
        self.worker = worker
        self.thread = threading.get_ident()
        self.journal = Journal(segment, worker)
        self.retired = Retired(waking.wake_self)
        self._waking = waking
        self._first = segment.geometry.first_word

    def transact(
        self, move: Callable[..., Stores], *arguments: object, lease: Lease | None = None
    ) -> Stores:
        """Under the lock: read the board, ask ``move`` for its stores, make them in order.

        With a ``lease``, raises NotHolder if its word is not what the holder left there. It does
        by itself what Lock.acquire and release do: every call on the way of a frame is felt.
        """
        lock = self.segment.lock
        if lock.fd < 0:
            raise SegmentClosed("the segment was closed, or belongs to the parent")
        flock(lock.fd, LOCK_EX)
        try:
            if steps.hook is not None:
                steps.hook("L1")
            lock.cell[0] = lock.pid
            cells = self.segment.board
            seen = self.segment.cells.tolist()
            self._waking.ended = seen[END] != UNKNOWN
            if lease is not None and seen[lease.cell] != lease.word:
                self._refuse_word(lease, seen)
            stores = move(seen, *arguments)
            for name, cell, value in stores:
                if steps.hook is not None:
                    steps.hook(name)
                cells[cell] = value
            if steps.hook is not None:
                steps.hook("L2")
            lock.cell[0] = 0
        finally:
            flock(lock.fd, LOCK_UN)
        return stores

    def hand_over(self, lease: Lease, token: bytes, move: Callable[..., Stores]) -> Stores:
        """G1, then one move: the token first, the word that points at it last."""
        segment = self.segment
        geometry = segment.geometry
        size = len(token)
        if size > geometry.token_bytes:
            self._refuse_token(lease, size)
        if lease.exporter is not None:
            self.end(lease)
        lease.closed = True
        place = 2 * lease.slot + (lease.word >> BANK_SHIFT & 1 ^ 1)
        at = geometry.tokens_at + place * geometry.token_bytes
        if steps.hook is not None:
            steps.hook("G1")
        # seen by the next holder once it has the lock: SYNC with Lease.token
        segment.bytes[at : at + size] = token
        segment.lengths[place] = size
        return self.transact(move, lease.cell, lease=lease)

    def end(self, lease: Lease) -> None:
        """End a lease that is given back; raises ViewSurvives if an array of it is alive."""
        watch = lease.end()
        if watch is not None:
            self._keep(lease, watch)

    def undo(self, lease: Lease) -> None:
        """Make a held frame as it was when taken; raises ViewSurvives and changes nothing."""
        if not lease.let_go():
            raise self._survivor(lease, "while its work is undone")
        self.journal.undo(lease)

    def free(self, leases: Sequence[Lease], move: Callable[..., Stores] = _free) -> None:
        """F1 for leases that have ended; another ``move`` leaves a record before."""
        for lease in leases:
            # a dropped frame may come back yet, if its holder dies before F1
            if steps.fill_released and move is _free:
                self._fill(lease)
            self.transact(move, lease.cell, lease=lease)
            self.journal.clear(lease)
        if self.stage == self.segment.geometry.sink:
            self._waking.moved(SOURCE)
        else:
            # a later stage may wait for this very frame, or for the last one
            self._waking.all()

    def wake_all(self) -> None:
        """Ring all bells: frames vanished that anybody may be waiting for."""
        self._waking.all()

    def lease(self, store: Store) -> Lease:
        """Turn the A1 or T1 that was made into a lease."""
        _, cell, word = store
        return Lease(self.segment, self.stage, cell - self._first, cell, word)

    def refuse(self) -> NoReturn:
        """Say why an operation is not this caller's: another thread, or another stage."""
        if threading.get_ident() != self.thread:
            raise WrongThread(f"the ring of stage {self.stage} belongs to another thread")
        raise WrongStage(f"not an operation of stage {self.stage}", stage=self.stage)

    def check_thread(self) -> None:
        """Raise WrongThread in any thread but the ring's."""
        if threading.get_ident() != self.thread:
            self.refuse()

    def check_lease(self, lease: Lease, ended: type[LeaseEnded] = DoubleRelease) -> None:
        """Raise ``ended`` if the lease has ended, ForeignLease if another ring made it."""
        if lease.closed:
            raise ended(
                f"the lease on frame {lease.seq} of stage {lease.stage} has ended already",
                stage=lease.stage,
                seq=lease.seq,
            )
        if lease.segment is not self.segment or lease.stage != self.stage:
            raise ForeignLease(f"frame {lease.seq} was leased elsewhere", seq=lease.seq)

    def _fill(self, lease: Lease) -> None:
        """Overwrite the pixels of a slot that nobody may use any more."""
        geometry = self.segment.geometry
        at = geometry.slot_at(lease.slot)
        self.segment.bytes[at : at + geometry.slot_bytes] = steps.FILL * geometry.slot_bytes

    def _keep(self, lease: Lease, watch: weakref.ref[Any]) -> NoReturn:
        """The slot stays held until its last view dies, and that is an error."""
        self.retired.add(lease, watch)
        raise self._survivor(lease, "after the frame was given on")

    def _survivor(self, lease: Lease, when: str) -> ViewSurvives:
        return ViewSurvives(
            f"stage {self.stage} keeps an array of frame {lease.seq} {when}",
            stage=self.stage,
            seq=lease.seq,
        )

    def _refuse_token(self, lease: Lease, size: int) -> NoReturn:
        fits = self.segment.geometry.token_bytes
        raise TokenTooLarge(
            f"the token of frame {lease.seq} has {size} bytes, {fits} fit",
            stage=self.stage,
            seq=lease.seq,
            size=size,
        )

    def _refuse_word(self, lease: Lease, cells: list[int]) -> NoReturn:
        raise NotHolder(
            f"frame {lease.seq} was taken away from worker {self.worker}"
            f" of stage {self.stage}: {Word.unpack(cells[lease.cell])}",
            stage=self.stage,
            seq=lease.seq,
        )
