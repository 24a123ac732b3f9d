"""A slot's word: 64 bits that say where the frame in the slot stands.

    63            32 31    21 20    19     16 15   14      7 6     2 1     0
   +----------------+--------+-----+---------+----+---------+-------+-------+
   |    sequence    | epoch  |alone| retries |bank| worker  | stage | state |
   +----------------+--------+-----+---------+----+---------+-------+-------+

A FREE slot's word is 0. The sequence sits on top, so among words of one epoch the smaller number
is the earlier frame, and a scan needs no unpacking. ``Word`` is for people and tests; the ring
itself works on the packed numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

STAGE_SHIFT, WORKER_SHIFT, BANK_SHIFT = 2, 7, 15
RETRIES_SHIFT, ALONE_SHIFT, EPOCH_SHIFT, SEQ_SHIFT = 16, 20, 21, 32

STATE_MASK = 0x3
STAGE_MASK = 0x1F << STAGE_SHIFT
STATE_STAGE_MASK = STATE_MASK | STAGE_MASK
OWNER_MASK = STAGE_MASK | 0xFF << WORKER_SHIFT
BANK = 1 << BANK_SHIFT
RETRIES_MASK = 0xF << RETRIES_SHIFT
ALONE = 1 << ALONE_SHIFT
EPOCH_MASK = 0x7FF << EPOCH_SHIFT
KEPT_MASK = ~(STATE_MASK | OWNER_MASK)
FRAME_MASK = EPOCH_MASK | 0xFFFFFFFF << SEQ_SHIFT

MAX_STAGES, MAX_WORKERS, MAX_EPOCH, MAX_RETRIES = 32, 256, 0x7FF, 15

FREE, READY, HELD, WORK = 0, 1, 2, 3


class State(IntEnum):
    """Where a slot stands; the numbers are those in the word."""

    FREE = FREE
    READY = READY
    HELD = HELD
    WORK = WORK


class Word(NamedTuple):
    """A word taken apart. READY names the stage that is to take it, HELD and WORK its holder."""

    state: State = State.FREE
    stage: int = 0
    worker: int = 0
    bank: int = 0
    retries: int = 0
    alone: bool = False
    epoch: int = 0
    seq: int = 0

    def pack(self) -> int:
        """Put the fields into their 64 bits."""
        return (
            self.state
            | self.stage << STAGE_SHIFT
            | self.worker << WORKER_SHIFT
            | self.bank << BANK_SHIFT
            | self.retries << RETRIES_SHIFT
            | self.alone << ALONE_SHIFT
            | self.epoch << EPOCH_SHIFT
            | self.seq << SEQ_SHIFT
        )

    @classmethod
    def unpack(cls, word: int) -> Word:
        """Take 64 bits apart."""
        return cls(
            State(word & STATE_MASK),
            word >> STAGE_SHIFT & 0x1F,
            word >> WORKER_SHIFT & 0xFF,
            word >> BANK_SHIFT & 1,
            word >> RETRIES_SHIFT & 0xF,
            bool(word & ALONE),
            word >> EPOCH_SHIFT & 0x7FF,
            word >> SEQ_SHIFT,
        )


def held(state: int, stage: int, worker: int, rest: int) -> int:
    """Build a holder's word, keeping bank, retries, alone, epoch and sequence of ``rest``."""
    return state | stage << STAGE_SHIFT | worker << WORKER_SHIFT | rest & KEPT_MASK


def ready_next(word: int, stage: int) -> int:
    """Build READY for ``stage`` with the token in the spare bank, and a clean record."""
    return READY | stage << STAGE_SHIFT | (word & BANK ^ BANK) | word & FRAME_MASK


def ready_again(word: int) -> int:
    """Build READY for the same stage and bank; a frame that was in WORK is a suspect.

    A suspect counts one more retry and is worked on alone from now on.
    """
    again = READY | word & ~(STATE_MASK | 0xFF << WORKER_SHIFT)
    if word & STATE_MASK != WORK:
        return again
    if word & RETRIES_MASK != RETRIES_MASK:
        again += 1 << RETRIES_SHIFT
    return again | ALONE
