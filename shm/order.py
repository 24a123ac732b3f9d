"""Which READY frames a worker may take next: one policy for each kind of stage.

    LOWEST      the earliest frame first (file runs, any number of workers)
    NEWEST      the latest frame first (live runs that catch up)
    WATERMARK   in order: only while no earlier frame stands at an earlier stage
    LATEST      in order too, but of those only the latest, one at a time: an ordered stage that
                catches up, and keeps its order if the earlier ones are then shed

The low watermark restores order behind parallel workers without a reorder buffer. Frames not
published yet are all later than any published one, so they need no look. A suspect is taken
alone: as a batch of one, and no batch reaches past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from mpflow.shm.layout import EPOCH
from mpflow.shm.word import (
    ALONE,
    EPOCH_SHIFT,
    MAX_EPOCH,
    READY,
    STAGE_MASK,
    STAGE_SHIFT,
    STATE_STAGE_MASK,
)


class Order(Enum):
    """In what order a stage takes its frames."""

    LOWEST = "lowest"
    NEWEST = "newest"
    WATERMARK = "watermark"
    LATEST = "latest"


_NEWEST, _WATERMARK, _LATEST = Order.NEWEST, Order.WATERMARK, Order.LATEST


class Seat(NamedTuple):
    """Who takes: the cell of the first word, a worker of a stage, and the stage's order."""

    first: int
    stage: int
    worker: int
    order: Order


def waiting(cells: Sequence[int], first: int, stage: int) -> list[int]:
    """List the READY words of a stage."""
    mask, want = STATE_STAGE_MASK, READY | stage << STAGE_SHIFT
    return [word for word in cells[first:] if word & mask == want]


def choose(cells: Sequence[int], seat: Seat, ready: list[int], limit: int) -> list[int]:
    """Choose at most ``limit`` of the READY words of a stage, best first."""
    order = seat.order
    if ready and (order is _WATERMARK or order is _LATEST):
        mark = _watermark(cells, seat, max(ready))
        ready = [word for word in ready if word < mark]
    if not ready:
        return ready
    if order is _LATEST:
        return [max(ready)]
    if limit == 1 or len(ready) == 1:
        return [max(ready) if order is _NEWEST else min(ready)]
    return _up_to_a_suspect(sorted(ready, reverse=order is _NEWEST)[:limit])


def _watermark(cells: Sequence[int], seat: Seat, latest: int) -> int:
    """Find the earliest word of this epoch that stands at an earlier stage, before ``latest``.

    The sequence is the top of a word and no two words of an epoch share one, so comparing whole
    words compares sequences.
    """
    mask, below = STAGE_MASK, seat.stage << STAGE_SHIFT
    earlier = [word for word in cells[seat.first :] if 0 < word < latest and word & mask < below]
    if not earlier:
        return latest + 1
    epoch = cells[EPOCH]
    living = [word for word in earlier if word >> EPOCH_SHIFT & MAX_EPOCH == epoch]
    return min(living, default=latest + 1)


def _up_to_a_suspect(words: list[int]) -> list[int]:
    for place, word in enumerate(words):
        if word & ALONE:
            return words[: max(place, 1)]
    return words
