"""What takes too long: starting, looking at the input, draining, closing, or nothing moving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mpflow.errors import InternalError
from mpflow.jobrun import JobRun
from mpflow.launch import CallerHandle, WorkerHandle
from mpflow.lifecycle import JobState, WorkerState
from mpflow.metrics import Progress, suspect
from mpflow.policies.hang import HangWatch, Sight
from mpflow.shm import Doing, State, WorkerStats

CLOSING_S = 900.0
"""How long the sink may take to close a whole file, once it has every frame."""

START_S = 1800.0
"""How long a worker may take to open its stage: a model may have to be fetched first."""


def watch_starts(run: JobRun, rows: Sequence[WorkerStats], now: float) -> None:
    """Kill a worker that takes another's place, or is added, and does not come to it."""
    for handle in run.workers:
        if not isinstance(handle, WorkerHandle) or not handle.alive or handle.killed:
            continue
        since = now - handle.machine.since / 1e9
        if handle.machine.is_in(WorkerState.STARTING) and since > START_S:
            handle.end(f"stage {handle.label} (pid {handle.pid}) has not started in {since:.0f} s")
        elif handle.machine.is_in(WorkerState.BUSY) and not handle.begun:
            building = bool(rows) and rows[handle.plan.id].state == Doing.BUILDING
            if since > (START_S if building else run.spec.stall):
                what = f"stage {handle.label} (pid {handle.pid}) has not begun in {since:.0f} s"
                handle.end(what)


def watch_leaving(run: JobRun, now: float) -> None:
    """Part from workers that do not leave a job whose output is finished."""
    staying = tuple(handle.label for handle in run.workers if not handle.idle)
    if run.clock.silent(("leaving", staying), run.spec.stall, now=now):
        run.end.part()


def watch_clock(run: JobRun, now: float) -> None:
    """End a job whose deadline has passed, or whose beginning nobody answers."""
    if run.clock.passed(now):
        run.end.too_late()
    elif run.machine.is_in(JobState.PROBING, JobState.BEGINNING):
        waited = _waited_for(run)
        # a live source waits for a sender as long as it says itself
        slow = (
            run.job.resume
            or run.job.live
            or any(w.machine.is_in(WorkerState.STARTING) for w in run.workers)
        )
        if run.clock.silent(waited, START_S if slow else run.spec.stall, now=now):
            run.end.abort(
                InternalError(
                    f"stage {waited[0]} has not answered",
                    cure="run again with --log-level debug; is the input a device or a pipe?",
                )
            )


def watch_stall(run: JobRun, progress: Progress, now: float) -> None:
    """End a job in which no frame has moved for too long, and say who has the oldest one.

    A caller may take its time over a frame (a person at a prompt, say), a sink over closing a
    large file, and the ends of a live run over the world outside; none of that is a stall.
    """
    if run.segment is None or run.clock.deadline is not None or not progress.stalled(now):
        return
    places = [worker.plan for worker in run.workers]
    culprit = run.workers[suspect(run.segment.words(), places)]
    row, source = progress.counts[culprit.plan.id], progress.counts[run.source.plan.id]
    # a stage that keeps a frame until the next one comes waits with a source that is silent
    waits = culprit.demand.holds > 0 and source.state == Doing.WAITING
    outside = row.state == Doing.WAITING or waits
    if isinstance(culprit, CallerHandle) or outside or _is_closing(run, progress, now):
        progress.forgive(progress.patience)
        return
    run.end.abort(
        InternalError(
            f"no frame has moved for {progress.patience:.0f} s: stage {culprit.label}"
            f" (pid {culprit.pid}) holds the pipeline up",
            cure="run again with --log-level debug and report the log;"
            " --set stall=SECONDS allows slower stages",
        )
    )


def watch_hangs(run: JobRun, watch: HangWatch, rows: Sequence[WorkerStats], now: float) -> None:
    """Kill workers that show no life though there is work for them; they are replaced."""
    states = (JobState.RUNNING, JobState.STOPPING, JobState.CONCLUDING)
    if run.segment is None or not rows or not run.machine.is_in(*states):
        return
    words = run.segment.words()
    held = Counter(word.worker for word in words if word.state in (State.HELD, State.WORK))
    ready = Counter(word.stage for word in words if word.state is State.READY)
    free = sum(word.state is State.FREE for word in words)
    ready[0] = 0 if run.read is not None or run.segment.end is not None else free
    handles = [handle for handle in run.workers if isinstance(handle, WorkerHandle)]
    sights = [
        Sight(
            worker=handle.plan.id,
            stage=handle.plan.stage,
            label=handle.label,
            pid=handle.pid or 0,
            row=rows[handle.plan.id],
            held=held[handle.plan.id],
            waiting=ready[handle.plan.stage] if handle.active else 0,
            limit=handle.plan.spec.limit,
            at_an_end=handle in (run.source, run.sink),
            excused=not handle.begun or handle.killed or not handle.alive,
        )
        for handle in handles
    ]
    _note_building(handles, rows)
    for overdue in watch.look(sights, run.segment.lock.probe(), now):
        handle = next(h for h in handles if h.plan.id == overdue.worker)
        run.tell("warning", overdue.reason, handle)
        handle.end(overdue.reason)


def _note_building(handles: Sequence[WorkerHandle], rows: Sequence[WorkerStats]) -> None:
    """Keep in a worker's state what it says it is doing."""
    for handle in handles:
        building = rows[handle.plan.id].state == Doing.BUILDING
        if building and handle.machine.is_in(WorkerState.BUSY):
            handle.move(WorkerState.BUILDING, "as it says")
        elif not building and handle.machine.is_in(WorkerState.BUILDING):
            handle.move(WorkerState.BUSY, "built")


def _is_closing(run: JobRun, progress: Progress, now: float) -> bool:
    """Whether the sink has every frame and may still be closing its file."""
    done = progress.frames_at(-1) + run.ahead  # an earlier run's are not counted, some twice
    has_all = run.read is not None and done >= run.read.frames
    concluding = run.machine.is_in(JobState.CONCLUDING)
    return concluding and has_all and not run.clock.silent("closing", CLOSING_S, now=now)


def _waited_for(run: JobRun) -> tuple[str, ...]:
    """Who has to answer before the job can go on."""
    needed = [w for w in run.workers if w.needed]
    starting = [w for w in needed if w.machine.is_in(WorkerState.STARTING)]
    beginning = [w for w in needed if not w.begun]
    probing = [run.source] if run.media is None else beginning
    return tuple(w.label for w in starting or probing)
