"""All chunks of a plan, joined by packet copy; sound and everything else comes from the input."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mpflow.coverage import cover_warning
from mpflow.errors import OutputError, Refused
from mpflow.farm.books import ledger_of, require_as_asked
from mpflow.farm.check import damaged_chunks
from mpflow.farm.folder import chunks_in, is_joined, note_joined, tear_down
from mpflow.farm.numbers import list_text
from mpflow.farm.plan import Plan, chunk_words
from mpflow.farm.render import look_at
from mpflow.farm.sink import sink_of
from mpflow.jobs.sidecar import (
    Counted,
    has_sidecar,
    remove_sidecar,
    require_sidecar_ours,
    with_sidecar,
    write_sidecar,
)
from mpflow.spec import Job, JobSpec, SinkSummary, partial_name, settings_of


@dataclass(frozen=True, slots=True)
class Concat:
    """How to join: ``overwrite`` replaces an output that is there, ``remove_parts`` clears up."""

    overwrite: bool = False
    remove_parts: bool = False


def concat(
    plan: Plan, file: Path, asked: Concat, warn: Callable[[str], None]
) -> SinkSummary | None:
    """Join the chunks of the plan in ``file``; None when the output was joined already.

    Raises Refused that names missing or foreign chunks, OutputError for an output that is there,
    and Degraded when a strict plan's output is whole, but not all of its frames are as asked.
    """
    summary = None
    job = _job(plan, asked)
    if asked.overwrite or not is_joined(plan):
        summary = _with_books(plan, _join(plan, file, job, warn))
        if summary.ledger and (text := cover_warning(plan.pipeline, summary.ledger)):
            warn(text)
        note_joined(plan)
    if summary is not None or not Path(job.sidecar).exists():
        _say_what_was_done(plan, job)
    require_as_asked(plan)
    if asked.remove_parts:
        tear_down(plan)
    return summary


def _job(plan: Plan, asked: Concat) -> JobSpec:
    """The whole output, as one run would have made it."""
    job = JobSpec(
        "concat",
        plan.input,
        plan.output,
        str(partial_name(Path(plan.output))),
        overwrite=asked.overwrite,
        start=plan.start,
        stop=plan.stop if plan.stop < plan.frames else None,
        parts=plan.parts,
        settings=settings_of(plan.pipeline),
    )
    return with_sidecar(job) if has_sidecar(plan.pipeline) else job


def _join(plan: Plan, file: Path, job: JobSpec, warn: Callable[[str], None]) -> SinkSummary:
    if Path(plan.output).exists() and not job.overwrite:
        raise OutputError(f"{plan.output!r} exists already", cure="-y overwrites")
    require_sidecar_ours(job)
    from mpflow.media.chunkfile import Damaged

    media = look_at(plan, warn)
    _require_all(plan, file)
    try:
        return sink_of(plan, warn).join(Job(job, media), plan.chunks)
    except Damaged as error:
        raise _damaged(plan, file, error) from error


def _say_what_was_done(plan: Plan, job: JobSpec) -> None:
    """Write the sidecar, the same as if one run had made the output."""
    if not job.sidecar:
        remove_sidecar(job)
        return
    write_sidecar(plan.pipeline, job, Counted(chunks_in(plan).pictures, ledger_of(plan)))


def _with_books(plan: Plan, summary: SinkSummary) -> SinkSummary:
    ledger = ledger_of(plan)
    if ledger is None:
        return summary
    return msgspec.structs.replace(
        summary,
        faces=ledger.faces,
        frames_with_faces=ledger.frames_with_faces,
        ledger=ledger,
    )


def _require_all(plan: Plan, file: Path) -> None:
    chunks = chunks_in(plan)
    missing = plan.missing(chunks.made)
    if chunks.foreign:
        raise Refused(
            f"chunks in {plan.parts!r} were made from another input, or with other settings:"
            f" {', '.join(chunks.foreign)}",
            cure=f"make them again with: {_render(file, missing)}",
            facts={"foreign": list(chunks.foreign), "missing": missing},
        )
    if missing:
        count = f"{len(missing)} of {len(plan.chunks)}"
        raise Refused(
            f"{chunk_words(missing)} of {plan.output!r} {_are(missing)} missing ({count})",
            cure=f"make {'them' if len(missing) > 1 else 'it'} with: {_render(file, missing)}",
            facts={"missing": missing},
        )


def _damaged(plan: Plan, file: Path, error: Refused) -> Refused:
    """The same as ``error``, with all damaged chunks and the command that makes them anew."""
    numbers = damaged_chunks(plan, range(len(plan.chunks)))
    if not numbers:  # it was made again meanwhile
        return Refused(error.what, cure="it was made again meanwhile: repeat this command")
    them = "them" if len(numbers) > 1 else "it"
    return Refused(
        f"{chunk_words(numbers)} of {plan.output!r} {_are(numbers)} damaged",
        cure=f"make {them} again with: {_render(file, numbers)}",
        facts={"damaged": numbers},
    )


def _render(file: Path, numbers: list[int]) -> str:
    return f"mpflow render {shlex.quote(str(file))} --chunks {list_text(numbers)}"


def _are(numbers: list[int]) -> str:
    return "are" if len(numbers) > 1 else "is"
