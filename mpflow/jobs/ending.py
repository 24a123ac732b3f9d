"""The end of a job: its sidecar, what stays of its output, and how that is told.

The sidecar comes before the parts are cleared away, so whoever is killed in between and resumes
finds that the output is whole, and writes what is missing.
"""

from __future__ import annotations

from pathlib import Path

from mpflow.errors import MpflowError
from mpflow.jobs.finished import require_same, require_same_parts
from mpflow.jobs.settle import settle
from mpflow.jobs.sidecar import Breath, Counted, remove_sidecar, write_sidecar
from mpflow.media.mark import mark_of
from mpflow.session import JobResult
from mpflow.spec import JobSpec, PipelineSpec


def conclude(
    spec: PipelineSpec, job: JobSpec, result: JobResult, breathe: Breath = lambda: None
) -> JobResult:
    """The result as the user is told it; a sidecar that cannot be written is its error."""
    late = _say_what_was_done(spec, job, result, breathe) if _is_whole(result) else None
    settled = settle(job, result, strict=spec.strict)
    return JobResult(settled.report, late) if late and settled.error is None else settled


def complete_skipped(spec: PipelineSpec, job: JobSpec, breathe: Breath = lambda: None) -> None:
    """Write the sidecar of an output that an earlier run made whole and left without one.

    Raises Refused where it was made otherwise than is asked now, OutputError, ResourceError, or
    what ``breathe`` raises.
    """
    if not (job.resume and job.sidecar):
        return
    mark = mark_of(Path(job.parts), Path(job.output))
    if Path(job.sidecar).exists():
        require_same(spec, job)
    elif mark is not None:
        require_same_parts(spec, job)
        write_sidecar(spec, job, Counted(mark.pictures), breathe)


def _is_whole(result: JobResult) -> bool:
    return result.error is None and result.report.complete


def _say_what_was_done(
    spec: PipelineSpec, job: JobSpec, result: JobResult, breathe: Breath
) -> MpflowError | None:
    report = result.report
    try:
        if job.sidecar:
            write_sidecar(spec, job, Counted(report.frames_written, report.ledger), breathe)
        else:
            remove_sidecar(job)
    except MpflowError as error:
        return error
    return None
