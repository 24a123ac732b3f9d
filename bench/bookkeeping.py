"""What a frame costs in the books that every run keeps: ledger, latencies, counters.

No flag turns them off, so they are measured by themselves: tokens with six faces and the stamps of
four stages go through the ledger, which is brought to the disk for every chunk, and the counters
are moved as the four workers do. CPU time, in microseconds a frame.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from mpflow.ledger import Book
from mpflow.metrics import Meter
from mpflow.shm import Geometry, Segment
from mpflow.tokens import Face, Stamp, Token

STAGES = ("decode", "detect", "redact", "encode")
FRAMES = 6000
CHUNK = 60  # frames that become durable together
FACES = 6


def bookkeeping() -> dict[str, float]:
    """Microseconds of CPU time a frame: in the ledger, and for all counters."""
    ledger, counters = _ledger(), _counters()
    return {
        "ledger_us": round(ledger * 1e6, 1),
        "counters_us": round(counters * 1e6, 1),
        "all_us": round((ledger + counters) * 1e6, 1),
    }


def _ledger() -> float:
    stamp = Stamp("encode", 0, 10, 11, 12)
    with tempfile.TemporaryDirectory() as folder:
        book = Book(Path(folder), begun=0)
        tokens = list(_tokens())
        started = time.process_time()
        for token in tokens:
            book.note(token, stamp)
            if (token.seq + 1) % CHUNK == 0:
                book.keep(token.seq + 1)
        used = time.process_time() - started
        book.abandon()
    return used / FRAMES


def _tokens() -> Iterator[Token]:
    points = tuple((float(n), float(n)) for n in range(5))
    faces = tuple(Face((0.0, 0.0, 90.0, 90.0), 0.9, points) for _ in range(FACES))
    for frame in range(FRAMES):
        begun = frame * 20_000_000
        stamps = tuple(
            Stamp(stage, 0, begun + 3_000_000 * place, begun + 3_000_000 * place + 1, begun + 9)
            for place, stage in enumerate(STAGES[:-1])
        )
        yield Token("1", frame, pts=frame, born=begun, faces=faces, stamps=stamps)


def _counters() -> float:
    segment = Segment.create(
        Geometry(2, 4096, stages=len(STAGES), workers=len(STAGES), journal_bytes=0)
    )
    meters = [Meter(segment, worker) for worker in range(len(STAGES))]
    started = time.process_time()
    for _ in range(FRAMES):
        for meter in meters:
            meter.worked(1, frames=1, batches=1)
            meter.waited_for_input(1)
    used = time.process_time() - started
    del meters, meter
    segment.close()
    return used / FRAMES
