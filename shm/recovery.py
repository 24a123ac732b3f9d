"""What the supervisor does about a dead worker, before it starts another in its place.

    kill through the pidfd, wait for it -> recover -> all bells -> start the replacement

What a dead sink did not make durable is made again; in a live run nothing can be, so there the
frames it held are lost, and all others go on to its successor.

The worker must be dead for certain: a sentinel is only a hint. Everything happens under the lock
and may be run again if it was cut short.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mpflow.shm import board, drops, journal, steps
from mpflow.shm.bell import Bell
from mpflow.shm.dropping import births_of
from mpflow.shm.errors import DurableUnknown, EpochsExhausted, UnknownWorker
from mpflow.shm.layout import EPOCH, PUB
from mpflow.shm.segment import Segment
from mpflow.shm.word import ALONE, MAX_EPOCH, SEQ_SHIFT, STATE_MASK, WORK


@dataclass(frozen=True)
class Recovery:
    """What became of the frames a dead worker held; all are sequence numbers.

    ``requeued`` wait for the worker's stage again (for a dead source: they were published),
    ``suspects`` are those among them that it was working on, ``quarantined`` those it died on
    alone. ``freed`` are made again. ``rewound_to`` is the next frame to decode, if the sink died.

    After the death of a live sink ``lost`` were dropped with it, each with a record, and
    ``goes_on_at`` is the first frame its successor has to account for: to take, or to find dropped.
    """

    requeued: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    quarantined: tuple[int, ...] = ()
    freed: tuple[int, ...] = ()
    rewound_to: int | None = None
    lost: tuple[int, ...] = ()
    goes_on_at: int | None = None


def recover(  # noqa: PLR0913 - the facts of one death
    segment: Segment,
    bells: Sequence[Bell],
    worker: int,
    stage: int,
    durable: int | None = None,
    *,
    live: bool = False,
    within: float = 1.0,
) -> Recovery:
    """Account for every slot a dead worker of ``stage`` held (R0 to R4), then ring all bells.

    ``durable`` is the first frame that no durable chunk holds; a dead sink needs it, unless the
    run is ``live``. Raises LockTimeout, with the holder to kill, if the lock is not free
    ``within`` so many seconds.
    """
    geometry = segment.geometry
    if not 0 <= stage < geometry.stages or not 0 <= worker < geometry.workers:
        raise UnknownWorker(f"no worker {worker} of stage {stage} in {geometry}", worker=worker)
    if stage == geometry.sink and durable is None and not live:
        raise DurableUnknown("a dead sink needs the first frame that is not durable", stage=stage)
    with segment.lock.within(within):
        cells: list[int] = segment.cells.tolist()
        stores = _plan(cells, segment, worker, stage, None if live else durable)
        for name, cell, value in stores:
            steps.step(name)
            if name == "RP":
                journal.restore(segment, worker, cell - geometry.first_word, value)
            else:
                segment.board[cell] = value
    for bell in bells:
        bell.ring()
    if live and stage == geometry.sink:
        return _report_live(cells, stores, geometry.first_word)
    return _report(cells, stores, durable if stage == geometry.sink else None)


def _plan(
    cells: list[int], segment: Segment, worker: int, stage: int, durable: int | None
) -> board.Stores:
    first = segment.geometry.first_word
    if stage == 0:
        return board.recover_source(cells, first, worker)
    if stage < segment.geometry.sink:
        return board.recover_stage(cells, first, stage, worker)
    if durable is None:
        births = births_of(segment, time.monotonic_ns())
        return drops.recover_live_sink(cells, births, stage, worker)
    if cells[EPOCH] >= MAX_EPOCH:
        raise EpochsExhausted(f"the sink was restarted {MAX_EPOCH} times", epoch=cells[EPOCH])
    return board.recover_sink(cells, first, stage, worker, durable)


def _report(cells: list[int], stores: board.Stores, rewound_to: int | None) -> Recovery:
    again: list[int] = []
    freed: list[int] = []
    for name, cell, value in stores:
        if name in ("R0", "R1", "R2", "R3W"):
            (again if value else freed).append(cells[cell])
    suspects = [word for word in again if word & STATE_MASK == WORK]
    return Recovery(
        requeued=_seqs(again),
        suspects=_seqs(suspects),
        quarantined=_seqs([word for word in suspects if word & ALONE]),
        freed=_seqs(freed),
        rewound_to=rewound_to,
    )


def _report_live(cells: list[int], stores: board.Stores, first: int) -> Recovery:
    return Recovery(
        lost=tuple(dropped.seq for dropped in drops.told(stores)),
        goes_on_at=drops.goes_on_at(cells, first, cells[PUB]),
    )


def _seqs(words: list[int]) -> tuple[int, ...]:
    return tuple(sorted(word >> SEQ_SHIFT for word in words))
