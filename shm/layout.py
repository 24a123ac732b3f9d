"""Where every byte of the segment lives. No other file knows an offset.

        0 +--------------------------------------------------+
          | magic | version | the nine numbers of Geometry    |  u64 each, written once
      128 +--------------------------------------------------+
          | id of the process that has the lock, or 0         |  a cache line of its own
      192 +--------------------------------------------------+
    board | pub | epoch | end | key[workers] | word[slots]    |  u64 each, read at every move
          | born[slots] | record[4096]                        |  u64 each, read when asked for
          +--------------------------------------------------+
   length | bytes used of token[slots][2]                     |  u64 each
          +--------------------------------------------------+
    stats | one row of 32 u64 for each worker                 |  256 bytes a row
    times | three histograms of 256 u64 for each worker       |  6 KiB each
          +--------------------------------------------------+  next page
    token | bank 0 of slot 0, bank 1 of slot 0, bank 0 of ... |  token_bytes each
          +--------------------------------------------------+  next page
  journal | one for each worker that changes pixels           |  whole pages each
          +--------------------------------------------------+  next page
    slots | picture (slot_bytes), then side area (side_bytes) |  whole pages each
          +--------------------------------------------------+

The board is one run of u64 cells that are numbered through. What every move needs comes first, so
a single ``tolist`` reads it whole. Worker numbers count through the whole pipeline: a worker's
row, key and journal are its own, whatever its stage.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from functools import cached_property

from mpflow.shm.errors import BadGeometry, NotASegment, WrongGeometry, WrongVersion
from mpflow.shm.word import MAX_STAGES, MAX_WORKERS

MAGIC = int.from_bytes(b"mpflow\x00r", "little")
VERSION = 3

PAGE = 4096
HEADER = struct.Struct("<11Q")
LOCK_AT = 128
BOARD_AT = 192
STATS_ROW = 256
MAX_SLOTS = 1 << 16

RECORDS = 4096
"""How many records of dropped frames are kept: two minutes of them, at 30 a second."""

HISTOGRAMS, BUCKETS = 3, 256
"""How many histograms a worker has, and the buckets of each."""

TIMES_ROW = 8 * HISTOGRAMS * BUCKETS

PUB, EPOCH, END, FIRST_KEY = 0, 1, 2, 3
"""Cells of the board, counted in u64 from ``BOARD_AT``; the words follow the keys."""

UNKNOWN = (1 << 64) - 1
"""What the ``end`` cell holds while the source has not seen the end."""


@dataclass(frozen=True)
class Geometry:
    """The numbers a segment is laid out by; sizes in bytes.

    ``stages`` counts the source (stage 0) and the sink, ``workers`` all workers of all stages.
    ``journal_bytes`` is for one worker: a whole picture plus one page lets it change all pixels.
    Workers from ``first_journal`` on have one, up to and without ``journals_end``; others may not
    change any.
    ``side_bytes`` follow the picture in each slot, for arrays too large for a token.
    """

    slots: int
    slot_bytes: int
    token_bytes: int = 49152
    stages: int = 2
    workers: int = 2
    journal_bytes: int = 0
    side_bytes: int = 0
    first_journal: int = 0
    journals_end: int = MAX_WORKERS

    def __post_init__(self) -> None:
        """Check that every number fits its field."""
        self._check()

    @cached_property
    def first_word(self) -> int:
        """Which cell of the board is the word of slot 0."""
        return FIRST_KEY + self.workers

    @cached_property
    def board_cells(self) -> int:
        """How many cells of the board every move reads."""
        return self.first_word + self.slots

    @cached_property
    def first_born(self) -> int:
        """Which cell of the board says when the frame in slot 0 was born."""
        return self.board_cells

    @cached_property
    def first_record(self) -> int:
        """Which cell of the board is the first record of a dropped frame."""
        return self.first_born + self.slots

    @cached_property
    def all_cells(self) -> int:
        """How many cells there are with births and records."""
        return self.first_record + RECORDS

    @cached_property
    def lengths_at(self) -> int:
        """Where the lengths of the tokens begin."""
        return BOARD_AT + 8 * self.all_cells

    @cached_property
    def stats_at(self) -> int:
        """Where the rows of counters begin."""
        return _up(self.lengths_at + 16 * self.slots, STATS_ROW)

    @cached_property
    def times_at(self) -> int:
        """Where the histograms begin."""
        return self.stats_at + STATS_ROW * self.workers

    @cached_property
    def tokens_at(self) -> int:
        """Where the token banks begin."""
        return _up(self.times_at + TIMES_ROW * self.workers, PAGE)

    @cached_property
    def journals_at(self) -> int:
        """Where the journals begin."""
        return _up(self.tokens_at + 2 * self.token_bytes * self.slots, PAGE)

    @cached_property
    def journal_span(self) -> int:
        """How far one journal is from the next."""
        return _up(self.journal_bytes, PAGE)

    @cached_property
    def slots_at(self) -> int:
        """Where the slots begin."""
        journals = min(self.journals_end, self.workers) - self.first_journal
        return self.journals_at + self.journal_span * max(0, journals)

    @cached_property
    def slot_span(self) -> int:
        """How far one slot is from the next."""
        return _up(self.slot_bytes + self.side_bytes, PAGE)

    @cached_property
    def total_bytes(self) -> int:
        """How much shared memory the segment takes."""
        return self.slots_at + self.slot_span * self.slots

    def _check(self) -> None:
        limits = {
            "slots": (1, MAX_SLOTS),
            "slot_bytes": (1, 1 << 40),
            "token_bytes": (8, 1 << 30),
            "stages": (2, MAX_STAGES),
            "workers": (2, MAX_WORKERS),
            "journal_bytes": (0, 1 << 40),
            "side_bytes": (0, 1 << 40),
            "first_journal": (0, MAX_WORKERS),
            "journals_end": (0, MAX_WORKERS),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise BadGeometry(f"{name} is {value}, not within {low} to {high}", value=value)

    @property
    def sink(self) -> int:
        """The number of the last stage."""
        return self.stages - 1

    def slot_at(self, slot: int) -> int:
        """Where a slot's picture begins."""
        return self.slots_at + slot * self.slot_span

    def token_at(self, slot: int, bank: int) -> int:
        """Where one of a slot's two token banks begins."""
        return self.tokens_at + (2 * slot + bank) * self.token_bytes

    def journal_at(self, worker: int) -> int:
        """Where the journal of a worker that has one begins."""
        return self.journals_at + (worker - self.first_journal) * self.journal_span

    def journal_room(self, worker: int) -> int:
        """How many bytes a worker's journal has; 0 for one without."""
        return self.journal_bytes if self.first_journal <= worker < self.journals_end else 0

    def stats_row_at(self, worker: int) -> int:
        """Where a worker's row of counters begins."""
        return self.stats_at + worker * STATS_ROW

    def times_row_at(self, worker: int) -> int:
        """Where a worker's histograms begin."""
        return self.times_at + worker * TIMES_ROW


def header(geometry: Geometry) -> bytes:
    """Pack the header of a segment laid out by ``geometry``."""
    return HEADER.pack(MAGIC, VERSION, *astuple(geometry))


def read_header(data: bytes, size: int) -> Geometry:
    """Read the geometry of a segment of ``size`` bytes from its first bytes.

    Raises NotASegment, WrongVersion or WrongGeometry, which say what was found.
    """
    if len(data) < HEADER.size:
        raise NotASegment(f"{len(data)} bytes are too short for a frame ring", size=len(data))
    magic, version, *numbers = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise NotASegment(f"no frame ring: it begins with {data[:8]!r}", magic=magic)
    if version != VERSION:
        raise WrongVersion(f"the ring has version {version}, this is {VERSION}", version=version)
    try:
        geometry = Geometry(*numbers)
    except BadGeometry as error:
        raise WrongGeometry(f"the ring's header is damaged: {error}", **error.facts) from error
    if geometry.total_bytes != size:
        raise WrongGeometry(
            f"the ring's header asks for {geometry.total_bytes} bytes, the segment has {size}",
            expected=geometry.total_bytes,
            size=size,
        )
    return geometry


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
