"""A finished job's report, made from what the supervisor saw."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mpflow.advice import Load, bottleneck
from mpflow.jobrun import JobRun
from mpflow.launch import Handle, VacantSeat, WorkerHandle
from mpflow.machine import core_budget
from mpflow.metrics import Progress
from mpflow.report import Report, StageReport, WorkerHistory, history, with_latency
from mpflow.shm import State, WorkerStats
from mpflow.survey import advice_of
from mpflow.urls import hide_credentials, shown


def report_of(run: JobRun, progress: Progress, alerts: dict[str, int]) -> Report:
    """Put together what the source read, the sink wrote, and the workers counted."""
    wrote, read = run.wrote, run.read
    complete = wrote is not None and wrote.complete and run.error is None
    report = Report(
        job=run.job.id,
        input=shown(run.job.input),
        output=shown(run.job.output),
        partial="" if complete else shown(run.job.partial),
        playable=wrote is not None and wrote.playable and wrote.frames > 0,
        complete=complete,
        frames_read=read.frames if read else progress.frames_at(0),
        frames_written=_written(run, progress),
        frames_expected=_expected(run),
        damaged=read.damaged if read else 0,
        size=wrote.size if wrote else 0,
        resumed_at=run.resumed_at,
        seconds=(run.ended or run.started) - run.started,
        first_frame_seconds=_since(run.started, progress.first_frame),
        faces=wrote.faces if wrote else 0,
        frames_with_faces=wrote.frames_with_faces if wrote else 0,
        slots=run.segment.geometry.slots if run.segment else 0,
        leases_left=_leases_left(run),
        stages=with_latency(
            _stages(run.workers, progress.counts), wrote.latency if wrote else None
        ),
        warnings=tuple(hide_credentials(text) for text in run.warnings),
        ledger=wrote.ledger if wrote else None,
        latency=wrote.latency if wrote else None,
        workers=tuple(
            _history(handle, run.started_ns)
            for handle in run.workers
            if isinstance(handle, WorkerHandle | VacantSeat) and handle.pids
        ),
        restarts=run.rescue.count,
        alerts=alerts,
        live=run.job.live,
        missed=sum(count.missed for count in progress.counts),
        reconnects=sum(count.reconnects for count in progress.counts),
    )
    return msgspec.structs.replace(report, advice=_advice(report, run, progress.counts))


def _advice(report: Report, run: JobRun, counts: Sequence[WorkerStats]) -> str:
    """What held the run up: by the time between the workers' first and last look at the ring."""
    at_work = max((_seconds(stage) for stage in report.stages), default=0.0)
    if not at_work:
        return ""
    loads = [
        Load(stage.name, stage.busy / stage.workers / at_work, advice_of(spec))
        for stage, spec in zip(report.stages, run.spec.stages, strict=False)
        if stage.workers
    ]
    used = sum(count.cpu_ns for count in counts) / 1e9
    cpu = used / (at_work * core_budget()) if used else None
    return bottleneck(loads, cpu=cpu, live=report.live)


def _seconds(stage: StageReport) -> float:
    """How long each worker of a stage was there."""
    return (stage.busy + stage.waiting) / stage.workers if stage.workers else 0.0


def _written(run: JobRun, progress: Progress) -> int:
    """Frames in the output; a live run's last stage tells only of those it has written itself."""
    wrote = run.wrote
    if wrote is None:
        return progress.frames_at(-1) + run.ahead
    if run.job.live and wrote.ledger is not None:
        return wrote.ledger.frames - wrote.ledger.dropped
    return wrote.frames


def _history(handle: WorkerHandle | VacantSeat, began_ns: int) -> WorkerHistory:
    """A worker's moves in this job, and the one that led into it."""
    machine = handle.machine
    moves = machine.history
    first = next((at for at, move in enumerate(moves) if move[0] >= began_ns), len(moves))
    more = machine.left_out if first == 0 else 0  # else those were before the job
    told = moves[max(0, first - 1) :]
    return history(handle.label, handle.pids, told, started_ns=began_ns, more=more)


def _since(start: float, moment: float | None) -> float | None:
    return None if moment is None else moment - start


def _leases_left(run: JobRun) -> int:
    if run.segment is None:
        return 0
    return sum(word.state is not State.FREE for word in run.segment.words())


def _expected(run: JobRun) -> int | None:
    if run.read is not None and run.read.expected is not None:
        return run.read.expected
    return run.total


def _stages(workers: Sequence[Handle], counts: Sequence[WorkerStats]) -> tuple[StageReport, ...]:
    """Add up the workers of each stage."""
    stages: dict[str, StageReport] = {}
    for handle, count in zip(workers, counts, strict=False):
        spec = handle.plan.spec
        so_far = stages.get(spec.name, StageReport(spec.name, 0))
        facts = handle.facts if isinstance(handle, WorkerHandle) else {}
        stages[spec.name] = StageReport(
            spec.name,
            so_far.workers + handle.active,
            so_far.frames + count.frames,
            so_far.batches + count.batches,
            so_far.busy + count.busy_ns / 1e9,
            so_far.waiting + (count.wait_input_ns + count.wait_slot_ns) / 1e9,
            {**so_far.facts, **facts},
            seats=spec.workers if spec.auto else 0,
        )
    return tuple(stages.values())
