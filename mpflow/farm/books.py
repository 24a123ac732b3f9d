"""The books of a whole farm job: each chunk's ledger, added up over the input's frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mpflow.accounts import LedgerSummary
from mpflow.errors import Degraded
from mpflow.farm.folder import chunks_in
from mpflow.farm.numbers import Range
from mpflow.farm.plan import Plan
from mpflow.ledger import LEDGER
from mpflow.spec import JobSpec, name_in_parts
from mpflow.stretches import Stretch, Totals


def ledger_of(plan: Plan) -> LedgerSummary | None:
    """What became of every frame of the plan; None where a chunk left no ledger.

    Frames are numbered as in the input.
    """
    totals = Totals()
    for chunk in plan.chunks:
        for stretch in _stretches(Path(plan.parts), chunk):
            totals.add(stretch)
        if totals.stop != chunk[1]:
            return None
    return totals.summary()


def require_as_asked(plan: Plan) -> None:
    """Raise Degraded, where the plan is strict, unless every frame is there and as asked."""
    if not plan.pipeline.strict:
        return
    ledger = ledger_of(plan) or LedgerSummary()
    words = ledger.words()
    lost = plan.stop - plan.start - chunks_in(plan).pictures - ledger.dropped
    told = [*([words] if words else []), *([f"{lost} frames lost to damage"] if lost > 0 else [])]
    if told:
        raise Degraded(
            f"{plan.output!r} is whole, but of its frames {' and '.join(told)}",
            cure="plan without --strict to accept that",
        )


def _stretches(parts: Path, chunk: Range) -> Iterator[Stretch]:
    """The lines of one chunk's ledger, which counts from the chunk's first frame."""
    start, stop = chunk
    of_chunk = JobSpec("", "", start=start, stop=stop, chunk=True)
    try:
        lines = (parts / name_in_parts(of_chunk, LEDGER)).read_bytes().splitlines()
        for line in lines:
            stretch = msgspec.json.decode(line, type=Stretch)
            rows = [msgspec.structs.replace(row, frame=row.frame + start) for row in stretch.rows]
            yield msgspec.structs.replace(
                stretch, start=stretch.start + start, stop=stretch.stop + start, rows=rows
            )
    except (OSError, msgspec.DecodeError):
        return
