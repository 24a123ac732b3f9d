"""Saved pixels: whoever changes a frame in place first saves what it is about to change.

    journal of one worker:  | span | its rows | span | its rows | ...
    key on the board:       spans << 48 | slot << 32 | seq, or 0

The key is one store and says how many spans count, so a span that was half saved counts not at
all. Later spans may hold pixels that an earlier edit changed; restoring runs backwards, and the
oldest pixels win.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mpflow.shm import board, steps
from mpflow.shm.errors import JournalBusy, JournalTooSmall, ViewOutside
from mpflow.shm.layout import FIRST_KEY
from mpflow.shm.lease import Lease
from mpflow.shm.segment import Segment

if TYPE_CHECKING:
    import numpy.typing as npt

_HEAD = struct.Struct("<4Q")
_MOST_SPANS = 0xFFFF


class Span(NamedTuple):
    """A rectangle of bytes in a slot: ``rows`` runs of ``row_bytes``, ``stride`` bytes apart."""

    offset: int
    row_bytes: int
    rows: int
    stride: int

    @property
    def size(self) -> int:
        """How many bytes the span saves."""
        return self.row_bytes * self.rows

    @property
    def journal_bytes(self) -> int:
        """How much of a journal the saved span takes."""
        return _HEAD.size + self.size


class Journal:
    """The journal of one living worker."""

    def __init__(self, segment: Segment, worker: int) -> None:
        self._segment = segment
        self._worker = worker
        self._key = FIRST_KEY + worker
        self._spans = 0
        self._used = 0
        self._lease: Lease | None = None

    def save(self, lease: Lease, spans: Sequence[Span]) -> None:
        """J1, J2: save the pixels under ``spans``, then let the key say so.

        May be called again for the same frame. Raises JournalBusy while another frame is
        journalled, JournalTooSmall if the pixels do not fit, ViewOutside for a foreign span.
        """
        if self._lease is not None and self._lease is not lease:
            raise JournalBusy(
                f"frame {lease.seq} is edited before frame {self._lease.seq} was given on",
                stage=lease.stage,
                seq=lease.seq,
            )
        todo = self._checked(lease, spans)
        if not todo:
            return
        steps.step("J1")
        at = self._used
        for span in todo:
            at = self._save_one(lease.slot, span, at)
        key = board.make_key(lease.slot, lease.seq, self._spans + len(todo))
        for name, cell, value in board.set_key(self._worker, key):
            steps.step(name)
            self._segment.cells[cell] = value
        self._lease, self._used, self._spans = lease, at, self._spans + len(todo)

    def clear(self, lease: Lease) -> None:
        """J4: the frame was given on; its saved pixels count no more."""
        if self._lease is not lease:
            return
        for name, cell, value in board.clear_key(self._worker):
            steps.step(name)
            self._segment.cells[cell] = value
        self._lease, self._used, self._spans = None, 0, 0

    def undo(self, lease: Lease) -> None:
        """UP, UK, U1: put a frame's saved pixels back; its word is HELD again."""
        segment = self._segment
        first = segment.geometry.first_word
        for name, cell, value in board.undo(segment.cells, first, lease.cell, self._worker):
            steps.step(name)
            if name == "UP":
                restore(segment, self._worker, lease.slot, value)
            else:
                segment.cells[cell] = value
        lease.word = segment.cells[lease.cell]
        if self._lease is lease:
            self._lease, self._used, self._spans = None, 0, 0

    def _checked(self, lease: Lease, spans: Sequence[Span]) -> list[Span]:
        """Drop empty spans; save the whole slot once where that takes less than its parts."""
        geometry = self._segment.geometry
        size = geometry.slot_bytes + geometry.side_bytes
        todo = [span for span in spans if span.size]
        for span in todo:
            last = span.offset + (span.rows - 1) * span.stride + span.row_bytes
            if span.offset < 0 or span.stride < span.row_bytes or last > size:
                raise ViewOutside(f"{span} is not a rectangle of slot {lease.slot}", size=size)
        if _room(todo) > _room([whole := Span(0, size, 1, size)]):
            todo = [whole]
        needed = self._used + _room(todo)
        room = geometry.journal_room(self._worker)
        if needed > room or self._spans + len(todo) > _MOST_SPANS:
            raise JournalTooSmall(
                f"stage {lease.stage} needs a journal of {needed} bytes for frame {lease.seq},"
                f" it has {room}",
                stage=lease.stage,
                needed=needed,
                available=room,
            )
        return todo

    def _save_one(self, slot: int, span: Span, at: int) -> int:
        base = self._segment.geometry.journal_at(self._worker)
        _HEAD.pack_into(self._segment.memory, base + at, *span)
        saved, pixels = _rows(self._segment, self._worker, slot, span, at)
        saved[:] = pixels
        return at + _room([span])


def restore(segment: Segment, worker: int, slot: int, spans: int) -> None:
    """Copy the first ``spans`` saved rectangles of a worker back into a slot."""
    found: list[tuple[Span, int]] = []
    at = 0
    base = segment.geometry.journal_at(worker)
    for _ in range(spans):
        span = Span(*_HEAD.unpack_from(segment.memory, base + at))
        found.append((span, at))
        at += _room([span])
    for span, at in reversed(found):
        saved, pixels = _rows(segment, worker, slot, span, at)
        pixels[:] = saved


def _room(spans: Sequence[Span]) -> int:
    """How many journal bytes spans take, each padded to 8."""
    return sum(_HEAD.size + (span.size + 7 & ~7) for span in spans)


def _rows(
    segment: Segment, worker: int, slot: int, span: Span, at: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Views of a span's rows: where they are saved, and where they live."""
    import numpy as np  # here: see Lease.view

    shape = (span.rows, span.row_bytes)
    saved_at = segment.geometry.journal_at(worker) + at + _HEAD.size
    pixels_at = segment.geometry.slot_at(slot) + span.offset
    memory = segment.memory
    saved = np.ndarray(shape, np.uint8, memory, saved_at)
    return saved, np.ndarray(shape, np.uint8, memory, pixels_at, (span.stride, 1))
