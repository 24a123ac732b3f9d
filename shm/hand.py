"""One worker's moves, made a store at a time under the lock, and the checks before them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from mpflow.shm import board, steps
from mpflow.shm.board import SOURCE, Store, Stores
from mpflow.shm.errors import (
    DoubleRelease,
    ForeignLease,
    LeaseEnded,
    NotHolder,
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


class Hand:
    """What all operations of a ring share. ``read`` and ``make`` belong inside the lock."""

    def __init__(self, segment: Segment, stage: int, worker: int, waking: Waking) -> None:
        self.segment = segment
        self.stage = stage
        self.worker = worker
        self.journal = Journal(segment, worker)
        self.retired = Retired(waking.wake_self)
        self._waking = waking
        self._first = segment.geometry.first_word
        self._thread = threading.get_ident()

    def read(self) -> list[int]:
        """Read the whole board; under the lock, so all that was stored before is seen."""
        cells: list[int] = self.segment.cells.tolist()
        self._waking.ended = cells[END] != UNKNOWN
        return cells

    def make(self, stores: Stores) -> None:
        """Make the stores in their order, each after its step."""
        cells = self.segment.cells
        for name, cell, value in stores:
            steps.step(name)
            cells[cell] = value

    def lease(self, store: Store) -> Lease:
        """Turn the A1 or T1 that was made into a lease."""
        _, cell, word = store
        return Lease(self.segment, self.stage, cell - self._first, cell, word)

    def hand_over(
        self, lease: Lease, token: bytes, move: Callable[[list[int], int], Stores]
    ) -> Stores:
        """G1, then one move under the lock: the token first, the word that points at it last."""
        if len(token) > self.segment.geometry.token_bytes:
            raise TokenTooLarge(
                f"the token of frame {lease.seq} has {len(token)} bytes,"
                f" {self.segment.geometry.token_bytes} fit",
                stage=self.stage,
                seq=lease.seq,
                size=len(token),
            )
        self.end(lease)
        self._write_token(lease, token)
        with self.segment.lock:
            cells = self.read()
            self._check_word(lease, cells)
            stores = move(cells, lease.cell)
            self.make(stores)
        return stores

    def end(self, lease: Lease) -> None:
        """End a lease; with a view alive its slot stays held, and that is an error."""
        watch = lease.end()
        if watch is None:
            return
        self.retired.add(lease, watch)
        raise ViewSurvives(
            f"stage {self.stage} keeps an array of frame {lease.seq} after the frame was given on",
            stage=self.stage,
            seq=lease.seq,
        )

    def free(self, leases: Sequence[Lease]) -> None:
        """F1 for leases that have ended."""
        with self.segment.lock:
            cells = self.read()
            for lease in leases:
                self._check_word(lease, cells)
                self.make(board.free(lease.cell))
        for lease in leases:
            self.journal.clear(lease)
        if self.stage == self.segment.geometry.sink:
            self._waking.moved(SOURCE)
        else:
            # a later stage may wait for this very frame, or for the last one
            self._waking.all()

    def check(self, *, stage: bool = True) -> None:
        """Raise unless this is the ring's thread, and the operation is one of its stage."""
        if threading.get_ident() != self._thread:
            raise WrongThread(f"the ring of stage {self.stage} belongs to another thread")
        if not stage:
            raise WrongStage(f"not an operation of stage {self.stage}", stage=self.stage)

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

    def _write_token(self, lease: Lease, token: bytes) -> None:
        spare = lease.word >> BANK_SHIFT & 1 ^ 1
        at = self.segment.geometry.token_at(lease.slot, spare)
        steps.step("G1")
        # seen by the next holder once it has the lock: SYNC with Lease.token
        self.segment.bytes[at : at + len(token)] = token
        self.segment.lengths[2 * lease.slot + spare] = len(token)

    def _check_word(self, lease: Lease, cells: list[int]) -> None:
        if cells[lease.cell] != lease.word:
            raise NotHolder(
                f"frame {lease.seq} was taken away from worker {self.worker}"
                f" of stage {self.stage}: {Word.unpack(cells[lease.cell])}",
                stage=self.stage,
                seq=lease.seq,
            )
