"""How old the frames in the ring are, read without the lock and without their tokens.

    word -> born -> word again         the same frame both times: the birth is its own

A slot's birth is written by its source before the frame is published and stays until the next
frame in that slot, so two looks at the word with the same frame in it frame the look at the birth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mpflow.shm.segment import Segment
from mpflow.shm.word import FRAME_MASK, STAGE_MASK, State, Word


class StageAges(NamedTuple):
    """What stands at one stage: ``depth`` frames wait for it, ``held`` are with its workers.

    ``oldest_ns`` and ``held_oldest_ns`` are the ages of the oldest of them; 0 without any.
    """

    depth: int = 0
    held: int = 0
    oldest_ns: int = 0
    held_oldest_ns: int = 0


class FrameAge(NamedTuple):
    """A published frame: the slot it is in, where it stands, and its age."""

    slot: int
    word: Word
    age_ns: int


def frame_ages(segment: Segment, now_ns: int) -> list[FrameAge]:
    """Every published frame in the ring, with its age at ``now_ns``."""
    first = segment.geometry.first_word
    before = segment.snapshot()[first:]
    births = segment.births.tolist()
    after = segment.snapshot()[first:]
    return [
        FrameAge(slot, Word.unpack(word), max(0, now_ns - born))
        for slot, word, born in certain(before, births, after)
    ]


def certain(
    before: Sequence[int], births: Sequence[int], after: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """The slots and words of published frames whose births, read in between, are their own."""
    for slot, (word, born, again) in enumerate(zip(before, births, after, strict=True)):
        if word & STAGE_MASK and again and word & FRAME_MASK == again & FRAME_MASK:
            yield slot, word, born


def ready_ages(segment: Segment, now_ns: int) -> tuple[StageAges, ...]:
    """What waits at each stage, and what is with its workers, by stage; the source has nothing."""
    stages = [[0, 0, 0, 0] for _ in range(segment.geometry.stages)]
    for _, word, age in frame_ages(segment, now_ns):
        held = word.state is not State.READY
        row = stages[word.stage]
        row[held] += 1
        row[2 + held] = max(row[2 + held], age)
    return tuple(StageAges(*row) for row in stages)
