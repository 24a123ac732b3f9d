"""What the supervisor does about a dead worker, before it starts another in its place.

    kill through the pidfd, wait for it -> recover -> all bells -> start the replacement

The worker must be dead for certain: a sentinel is only a hint. Everything happens under the lock
and may be run again if it was cut short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mpflow.shm import board, journal, steps
from mpflow.shm.bell import Bell
from mpflow.shm.errors import DurableUnknown, EpochsExhausted, UnknownWorker
from mpflow.shm.layout import EPOCH
from mpflow.shm.segment import Segment
from mpflow.shm.word import ALONE, MAX_EPOCH, SEQ_SHIFT, STATE_MASK, WORK


@dataclass(frozen=True)
class Recovery:
    """What became of the frames a dead worker held; all are sequence numbers.

    ``requeued`` wait for the worker's stage again (for a dead source: they were published),
    ``suspects`` are those among them that it was working on, ``quarantined`` those it died on
    alone. ``freed`` are made again. ``rewound_to`` is the next frame to decode, if the sink died.
    """

    requeued: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    quarantined: tuple[int, ...] = ()
    freed: tuple[int, ...] = ()
    rewound_to: int | None = None


def recover(  # noqa: PLR0913 - the facts of one death
    segment: Segment,
    bells: Sequence[Bell],
    worker: int,
    stage: int,
    durable: int | None = None,
    *,
    within: float = 1.0,
) -> Recovery:
    """Account for every slot a dead worker of ``stage`` held (R0 to R3), then ring all bells.

    ``durable`` is the first frame that no durable chunk holds; a dead sink needs it. Raises
    LockTimeout, with the holder to kill, if the lock is not free ``within`` so many seconds.
    """
    geometry = segment.geometry
    if not 0 <= stage < geometry.stages or not 0 <= worker < geometry.workers:
        raise UnknownWorker(f"no worker {worker} of stage {stage} in {geometry}", worker=worker)
    if stage == geometry.sink and durable is None:
        raise DurableUnknown("a dead sink needs the first frame that is not durable", stage=stage)
    with segment.lock.within(within):
        cells: list[int] = segment.cells.tolist()
        stores = _plan(cells, segment, worker, stage, durable)
        for name, cell, value in stores:
            steps.step(name)
            if name == "RP":
                journal.restore(segment, worker, cell - geometry.first_word, value)
            else:
                segment.cells[cell] = value
    for bell in bells:
        bell.ring()
    return _report(cells, stores, durable if stage == geometry.sink else None)


def _plan(
    cells: list[int], segment: Segment, worker: int, stage: int, durable: int | None
) -> board.Stores:
    first = segment.geometry.first_word
    if stage == 0:
        return board.recover_source(cells, first, worker)
    if stage < segment.geometry.sink or durable is None:
        return board.recover_stage(cells, first, stage, worker)
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


def _seqs(words: list[int]) -> tuple[int, ...]:
    return tuple(sorted(word >> SEQ_SHIFT for word in words))
