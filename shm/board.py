"""The moves of the protocol: plain functions of the board that say which stores to make.

Each takes the cells as they were read (under the lock, where PROTOCOL.md asks for it) and returns
the stores in the order in which they must be made: ``(step name, cell, value)``. An empty answer
means "nothing to do". The ring makes the stores one at a time, each after ``steps.step(name)``;
the exhaustive check in the tests makes them one at a time with a kill before each. Both run these
very functions. The moves that drop frames are in drops.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from mpflow.shm.layout import END, EPOCH, FIRST_KEY, PUB, UNKNOWN
from mpflow.shm.order import Seat, choose
from mpflow.shm.word import (
    EPOCH_SHIFT,
    FREE,
    HELD,
    KEPT_MASK,
    MAX_EPOCH,
    OWNER_MASK,
    READY,
    SEQ_SHIFT,
    STAGE_MASK,
    STAGE_SHIFT,
    STATE_MASK,
    STATE_STAGE_MASK,
    WORK,
    WORKER_SHIFT,
    held,
    ready_again,
    ready_next,
)

Cells = Sequence[int]
Store = tuple[str, int, int]
Stores = Sequence[Store]

NOTHING: Stores = ()
SOURCE = 0


def alloc(cells: Cells, first: int, worker: int) -> Stores:
    """A1: the source takes a FREE slot for the next frame to publish."""
    try:
        cell = cells.index(FREE, first)
    except ValueError:
        return NOTHING
    frame = cells[EPOCH] << EPOCH_SHIFT | cells[PUB] << SEQ_SHIFT
    return (("A1", cell, held(HELD, 0, worker, frame)),)


def birth(first_born: int, slot: int, born: int) -> Stores:
    """G0: the source says when its frame was born; it holds the slot, so without the lock."""
    return (("G0", first_born + slot, born),)


def publish(cells: Cells, cell: int) -> Stores:
    """P1, P2: the source's frame goes to stage 1; P3 if the sink was rewound meanwhile."""
    word = cells[cell]
    if stale(cells, word):
        return (("P3", cell, FREE),)
    return (("P1", PUB, (word >> SEQ_SHIFT) + 1), ("P2", cell, ready_next(word, 1)))


def end_of_stream(cells: Cells, total: int) -> Stores:
    """E1: the source found the end behind ``total`` frames; nothing if it was rewound since."""
    if cells[PUB] != total:
        return NOTHING
    return (("E1", END, total),)


def take(cells: Cells, seat: Seat, ready: list[int], limit: int = 1) -> Stores:
    """T1, at most ``limit`` times: some of the READY frames become HELD by a worker."""
    first, stage, worker, _ = seat
    owner = HELD | stage << STAGE_SHIFT | worker << WORKER_SHIFT
    stores: list[Store] = []
    for word in choose(cells, seat, ready, limit):
        stores.append(("T1", cells.index(word, first), owner | word & KEPT_MASK))
    return stores


def work(word: int, cell: int) -> Stores:
    """K1: the holder's own store, without the lock: from here on the frame may be at fault."""
    return (("K1", cell, word | WORK),)


def give(cells: Cells, cell: int) -> Stores:
    """G2: a held frame goes to the next stage; G3 if the sink was rewound meanwhile."""
    word = cells[cell]
    if stale(cells, word):
        return (("G3", cell, FREE),)
    return (("G2", cell, ready_next(word, (word >> STAGE_SHIFT & 0x1F) + 1)),)


def free(cell: int) -> Stores:
    """F1: the holder is done with the slot."""
    return (("F1", cell, FREE),)


def undo(cells: Cells, first: int, cell: int, worker: int) -> Stores:
    """UP, UK, U1: a frame whose stage failed on it is as it was when it was taken, still HELD.

    UP stands for copying the saved pixels back, as RP does. It comes before the key is cleared,
    so a death in between still finds what to put back. All are the holder's own stores.
    """
    stores: list[Store] = []
    spans = key_spans(cells[FIRST_KEY + worker], cell - first, cells[cell])
    if spans:
        stores += (("UP", cell, spans), ("UK", FIRST_KEY + worker, 0))
    if cells[cell] & STATE_MASK == WORK:
        stores.append(("U1", cell, cells[cell] & ~STATE_MASK | HELD))
    return tuple(stores)


def set_key(worker: int, key: int) -> Stores:
    """J2: the saved pixels of this frame count from here on."""
    return (("J2", FIRST_KEY + worker, key),)


def clear_key(worker: int) -> Stores:
    """J4: the frame was given on, its saved pixels count no more."""
    return (("J4", FIRST_KEY + worker, 0),)


def make_key(slot: int, seq: int, spans: int) -> int:
    """Pack a journal's key: whose pixels are saved, and in how many spans (at least one)."""
    return spans << 48 | slot << 32 | seq


def key_spans(key: int, slot: int, word: int) -> int:
    """How many saved spans a key holds for the frame in this slot; 0 if it is not its key."""
    if key & 0xFFFFFFFFFFFF != slot << 32 | word >> SEQ_SHIFT:
        return 0
    return key >> 48


def recover_source(cells: Cells, first: int, worker: int) -> Stores:
    """R0, R1: a published frame goes forward, one that was not is decoded again."""
    stores: list[Store] = []
    for cell, word in _owned(cells, first, SOURCE, worker):
        if stale(cells, word):
            stores.append(("R0", cell, FREE))
        elif word >> SEQ_SHIFT < cells[PUB]:
            stores.append(("R1", cell, ready_next(word, 1)))
        else:
            stores.append(("R1", cell, FREE))
    return tuple(stores)


def recover_stage(cells: Cells, first: int, stage: int, worker: int) -> Stores:
    """R0, RP, R2, RJ: the dead worker's frames wait again for its stage, as they were.

    RP stands for copying the saved pixels back; its cell is the slot's word and its value the
    number of saved spans. It comes before the R2 that lets others see the frame.
    """
    stores: list[Store] = []
    key = cells[FIRST_KEY + worker]
    for cell, word in _owned(cells, first, stage, worker):
        if stale(cells, word):
            stores.append(("R0", cell, FREE))
            continue
        spans = key_spans(key, cell - first, word)
        if spans:
            stores.append(("RP", cell, spans))
        stores.append(("R2", cell, ready_again(word)))
    if key:
        stores.append(("RJ", FIRST_KEY + worker, 0))
    return tuple(stores)


def recover_sink(cells: Cells, first: int, stage: int, worker: int, durable: int) -> Stores:
    """R3: everything from the first frame that is not ``durable`` is made again.

    The epoch moves first, so a holder that gives late finds itself stale. Frames that live
    workers hold are freed by them; all others here.
    """
    stores: list[Store] = [
        ("R3E", EPOCH, cells[EPOCH] + 1),
        ("R3P", PUB, durable),
        ("R3N", END, UNKNOWN),
    ]
    mine = {cell for cell, _ in _owned(cells, first, stage, worker)}
    stores.extend(
        ("R3W", cell, FREE)
        for cell, word in enumerate(cells[first:], first)
        if word & STATE_MASK == READY or cell in mine
    )
    return tuple(stores)


def upstream_empty(cells: Cells, first: int, stage: int) -> bool:
    """Whether no frame can reach this stage any more: all are published, and past it.

    A frame that is READY for the stage counts as upstream, wherever it is looked at from.
    """
    if cells[END] == UNKNOWN or cells[END] != cells[PUB]:
        return False
    here = stage << STAGE_SHIFT
    return not any(
        word
        and (word & STAGE_MASK < here or word & STATE_STAGE_MASK == READY | here)
        and not stale(cells, word)
        for word in cells[first:]
    )


def upstream_idle(cells: Cells, first: int, stage: int) -> bool:
    """Whether no living frame stands at an earlier stage; what waits for this one does not count.

    A picture the source still decodes has no slot, so nobody knows of it.
    """
    here = stage << STAGE_SHIFT
    return not any(
        word and word & STAGE_MASK < here and not stale(cells, word) for word in cells[first:]
    )


def stale(cells: Cells, word: int) -> bool:
    """Whether a word is of an old epoch: its frame is made again."""
    return word >> EPOCH_SHIFT & MAX_EPOCH != cells[EPOCH]


def _owned(cells: Cells, first: int, stage: int, worker: int) -> list[tuple[int, int]]:
    """List the (cell, word) that a worker of a stage holds; HELD and WORK share a bit."""
    owner = stage << STAGE_SHIFT | worker << WORKER_SHIFT
    return [
        (cell, word)
        for cell, word in enumerate(cells[first:], first)
        if word & HELD and word & OWNER_MASK == owner
    ]
