"""Frames that are dropped in live runs: which, by which stores, and what is left of each.

A dropped frame leaves a record in the cell ``seq % 4096`` behind the board, before its slot
becomes FREE. The sink, which takes its frames in order, finds a gap and reads why:

    63            32 31   27 26 24 23             0
   +----------------+-------+-----+----------------+
   |    sequence    | stage | why | age in ms      |        0: no record
   +----------------+-------+-----+----------------+

A record counts only for a frame that did not come: whoever sheds may die between the record and
the slot, and then the frame is still there, and may be delivered. Like those in board.py, the
functions here read cells and answer with stores; births and times come in as arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from mpflow.shm.board import Cells, Store, Stores, stale
from mpflow.shm.word import (
    FREE,
    HELD,
    OWNER_MASK,
    READY,
    SEQ_SHIFT,
    STAGE_MASK,
    STAGE_SHIFT,
    STATE_MASK,
    WORKER_SHIFT,
)

if TYPE_CHECKING:
    from mpflow.shm.segment import Segment

_STAGE_SHIFT, _WHY_SHIFT, _MOST_MS = 27, 24, 0xFFFFFF


class Why(IntEnum):
    """Why a frame was dropped; the numbers are those in the record."""

    STALE = 1
    """It was too old to be worth the work."""
    SUPERSEDED = 2
    """A newer one was taken instead."""
    FULL = 3
    """There was no free slot for the next one."""
    EXPIRED = 4
    """Its time to live was over."""
    LOST = 5
    """The sink died with it."""


class Dropped(NamedTuple):
    """One dropped frame: the stage that had it or was to take it, and its age."""

    seq: int
    stage: int
    why: Why
    age_ms: int


class Births(NamedTuple):
    """What a move that drops needs beside the board: births, the time, and where cells begin.

    ``born`` is by slot, in nanoseconds like ``now``; ``first`` is the cell of the first word.
    """

    born: Sequence[int]
    now: int
    first: int
    first_record: int
    records: int


def shed(cells: Cells, births: Births, words: Iterable[int], why: Why) -> Stores:
    """S0, S1 for each of these READY words: its record, then its slot is free."""
    stores: list[Store] = []
    for word in words:
        cell = cells.index(word, births.first)
        stores += (("S0", *_record(births, cell, word, why)), ("S1", cell, FREE))
    return tuple(stores)


def drop(cells: Cells, births: Births, cell: int, why: Why) -> Stores:
    """D0, F1: a held frame is dropped; a stale one is only freed, it is made again."""
    word = cells[cell]
    if stale(cells, word):
        return (("F1", cell, FREE),)
    return (("D0", *_record(births, cell, word, why)), ("F1", cell, FREE))


def recover_live_sink(cells: Cells, births: Births, stage: int, worker: int) -> Stores:
    """R4D, R4W: the frames a dead sink of a live run held are lost; all others go on.

    Nothing is rewound, since no live input can be asked again.
    """
    owner = stage << STAGE_SHIFT | worker << WORKER_SHIFT
    stores: list[Store] = []
    for cell, word in enumerate(cells[births.first :], births.first):
        if word & HELD and word & OWNER_MASK == owner:
            stores += (("R4D", *_record(births, cell, word, Why.LOST)), ("R4W", cell, FREE))
    return tuple(stores)


def goes_on_at(cells: Cells, first: int, published: int) -> int:
    """The first frame that the successor of a live sink has to account for."""
    return min((word >> SEQ_SHIFT for word in cells[first:] if word), default=published)


def named(cells: Cells, first: int, seqs: Iterable[int]) -> list[int]:
    """The READY words of these sequences."""
    wanted = set(seqs)
    return [word for word in _ready(cells, first) if word >> SEQ_SHIFT in wanted]


def earlier(cells: Cells, first: int, stage: int, seq: int) -> list[int]:
    """The READY words of a stage with a lower sequence."""
    here = stage << STAGE_SHIFT
    return [w for w in _ready(cells, first) if w & STAGE_MASK == here and w >> SEQ_SHIFT < seq]


def oldest(cells: Cells, first: int, before: int) -> list[int]:
    """The READY word of the lowest sequence among the stages before ``before``; or none."""
    limit = before << STAGE_SHIFT
    words = [word for word in _ready(cells, first) if word & STAGE_MASK < limit]
    return [min(words)] if words else []


def overdue(cells: Cells, births: Births, limits: Sequence[int]) -> list[int]:
    """The READY words that are older than their stage's limit in nanoseconds; 0 is none."""
    found = []
    for slot, word in enumerate(cells[births.first :]):
        if word & STATE_MASK == READY:
            limit = limits[word >> STAGE_SHIFT & 0x1F]
            if limit and births.now - births.born[slot] > limit:
                found.append(word)
    return found


def told(stores: Stores) -> list[Dropped]:
    """What the records among these stores say, by sequence."""
    return sorted(read(value) for name, _, value in stores if name in ("S0", "D0", "R4D"))


def drop_of(segment: Segment, seq: int) -> Dropped | None:
    """What became of a frame that did not come; None where no record of it is (still) kept."""
    geometry = segment.geometry
    records = geometry.all_cells - geometry.first_record
    record = segment.board[geometry.first_record + seq % records]
    return read(record) if record and record >> SEQ_SHIFT == seq else None


def read(record: int) -> Dropped:
    """Take a record apart."""
    stage, why = record >> _STAGE_SHIFT & 0x1F, record >> _WHY_SHIFT & 0x7
    return Dropped(record >> SEQ_SHIFT, stage, Why(why), record & _MOST_MS)


def _record(births: Births, cell: int, word: int, why: Why) -> tuple[int, int]:
    """The cell of a frame's record, and its value."""
    seq, stage = word >> SEQ_SHIFT, word >> STAGE_SHIFT & 0x1F
    age = max(0, births.now - births.born[cell - births.first]) // 1_000_000
    record = seq << SEQ_SHIFT | stage << _STAGE_SHIFT | why << _WHY_SHIFT | min(age, _MOST_MS)
    return births.first_record + seq % births.records, record


def _ready(cells: Cells, first: int) -> list[int]:
    return [word for word in cells[first:] if word & STATE_MASK == READY]
