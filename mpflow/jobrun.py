"""One job's course through the pipeline, as the supervisor leads it.

probing     the source looks at the input
beginning   the ring is made; every stage opens its end of the job
running     frames flow; the source says ``ended`` when it has published the last one
stopping    told to stop: the source ends early, what is in the ring is still written
concluding  the sink has been told whether the file is whole; then every stage leaves
aborting    something failed: nothing is waited for but the sink, which closes its file
done        the outcome is known
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from mpflow.accounts import LedgerSummary
from mpflow.channel import Message
from mpflow.errors import MpflowError, StageDied
from mpflow.jobclock import JobClock
from mpflow.jobend import DRAIN_S, JobEnd
from mpflow.jobring import JobRing, demands_of
from mpflow.launch import Duty, Handle, WorkerHandle
from mpflow.lifecycle import JobState, Machine, WorkerState, job_machine
from mpflow.rescue import Rescue
from mpflow.shm import Segment
from mpflow.spec import (
    BEGINNING,
    Helm,
    JobSpec,
    MediaInfo,
    PipelineSpec,
    Place,
    SinkSummary,
    SourceSummary,
)

MOST_WARNINGS = 200
_MORE_WARNINGS = "there were more warnings: the log has them"


@dataclass
class JobRun:
    """The state of the job at hand and the moves it may make."""

    spec: PipelineSpec
    job: JobSpec
    workers: Sequence[Handle]
    tell: Callable[..., None]
    machine: Machine[JobState] = field(default_factory=job_machine)
    media: MediaInfo | None = None
    ring: JobRing | None = None
    read: SourceSummary | None = None
    wrote: SinkSummary | None = None
    error: MpflowError | None = None
    asked: MpflowError | None = None
    started: float = field(default_factory=time.monotonic)
    started_ns: int = field(default_factory=time.monotonic_ns)
    ended: float | None = None
    clock: JobClock = field(default_factory=JobClock)
    warnings: list[str] = field(default_factory=list)
    broken: bool = False
    source_went: bool = False
    sink_begun: bool = False
    finished: bool = False
    resumed_at: int = 0
    """The frame that an earlier run had come to."""
    ahead: int = 0
    """Frames that are done beyond those the sink has counted: an earlier run's, less those that
    had to be made again."""
    helm: Helm = field(default_factory=Helm)
    """How the run is steered at present."""
    books: LedgerSummary | None = None
    """What the sink of a live run has counted so far, for a successor; None in other runs."""
    lost_with_sink: int = 0
    """Frames of a live run that a dead last stage had."""
    winding_up: bool = False
    """Whether a live run's source was asked to end the stream; its successors are, too."""
    stopped: bool = False
    """Whether a file run was asked to end early; who takes a dead worker's place hears it, too."""
    rescue: Rescue = field(init=False)
    end: JobEnd = field(init=False)

    def __post_init__(self) -> None:
        self.books = LedgerSummary() if self.job.live else None
        self.end = JobEnd(self)

    @property
    def segment(self) -> Segment | None:
        """The ring's memory, once it is made."""
        return None if self.ring is None else self.ring.segment

    @property
    def source(self) -> Handle:
        """The worker that reads the input."""
        return self.workers[0]

    @property
    def sink(self) -> Handle:
        """The worker that takes the last step."""
        return self.workers[-1]

    @property
    def total(self) -> int | None:
        """How many frames are wanted, as far as that is known before they are read; None for a
        stream, whose frames may be lost, or come again."""
        if self.job.live:
            return None
        frames = None if self.media is None else self.media.video.frames
        ends = [end for end in (frames, self.job.stop) if end is not None]
        return max(min(ends) - self.job.start, 0) if ends else None

    def go(self, state: JobState, reason: str = "") -> None:
        """Move on, as the table allows."""
        self.machine.move(state, now=time.monotonic_ns(), reason=reason)

    def probe(self) -> None:
        """Ask the source what the input is."""
        self.source.tell("probe", job=msgspec.to_builtins(self.job))

    def try_begin(self) -> None:
        """Once the input is known and every worker is ready: make the ring and begin."""
        ready = all(w.machine.is_in(WorkerState.READY) for w in self.workers if w.needed)
        if self.media is None or not ready or not self.machine.is_in(JobState.PROBING):
            return
        try:
            demands = demands_of(self.workers)
            self.ring = JobRing.make(self.spec, self.job, self.media, demands, self._say)
        except MpflowError as error:
            self.end.fail(error)
            return
        self.go(JobState.BEGINNING)
        # a run that goes on begins where its sink finds the last durable frame
        goes_on = self.job.resume and self.sink.demand.restartable
        self.source_went = not goes_on
        for handle in self.workers:
            if handle.active and handle.machine.is_in(WorkerState.READY):
                waits = goes_on and handle in (self.source, self.sink)
                self._begin(handle, self.job, wait=waits)

    def note_ready(self, handle: Handle) -> None:
        """A worker has opened its stage; one that replaces another, or is added, joins the job."""
        if self.ring is None or handle.begun or not handle.idle or self.finished:
            return
        if not handle.active:
            return
        if self.machine.is_in(JobState.ABORTING, JobState.DONE):
            return
        job, at_an_end = self.job, handle in (self.source, self.sink)
        if handle is self.sink and self.sink_begun:
            job = msgspec.structs.replace(job, resume=True)
        self._begin(handle, job, wait=at_an_end)
        if handle is self.source and self.source_went:
            place = self.ring.source_place(handle.plan.id)
            handle.tell("go", place=msgspec.to_builtins(place))

    def _begin(self, handle: Handle, job: JobSpec, *, wait: bool) -> None:
        """Give a worker its part of the job; one that waits does nothing before it hears ``go``."""
        assert self.ring is not None and self.media is not None
        handle.move(WorkerState.BUSY, self.job.id)
        handle.begun, handle.idle, handle.waits = False, False, wait
        task = self.ring.task(self.spec, job, self.media, handle.plan.id)
        books = self.books if handle is self.sink and self.sink_begun else None
        task = msgspec.structs.replace(
            task, wait=wait, started=self.started_ns, helm=self.helm, books=books
        )
        handle.tell(
            "begin", self.ring.descriptors(handle.plan.stage), task=msgspec.to_builtins(task)
        )
        in_the_middle = handle is not self.source and handle is not self.sink
        if self.stopped if in_the_middle else handle is self.source and self.winding_up:
            handle.tell("stop")

    def tell_stop(self) -> None:
        """Tell who is in the job that its stream ends early; the source last, since the others have
        to know when they have seen its last frame."""
        self.stopped = True
        for handle in self.workers[1:-1]:
            if not handle.idle and handle.alive:
                handle.tell("stop")
        self.source.tell("stop")

    def wind_up(self) -> None:
        """End a live run in order, as its owner asks: the stream ends, and that is no error."""
        self.winding_up = True
        self.source.tell("stop")

    def steer(self, helm: Helm) -> None:
        """From now on the run is steered like this."""
        self.helm = helm
        told = msgspec.to_builtins(helm)
        for handle in self.workers:
            if not handle.idle and handle.alive:
                handle.tell("helm", helm=told)

    def _say(self, level: str, text: str) -> None:
        self.tell(level, text)
        if level == "warning":
            self.note_warnings([text])

    def hear(self, handle: Handle, message: Message) -> None:
        """Take in what a worker says about the job."""
        match message["kind"]:
            case "media":
                self.media = msgspec.convert(message["media"], MediaInfo)
            case "begun":
                restartable = message.get("restartable", False)
                handle.demand = replace(handle.demand, restartable=restartable)
                self.note_begun(handle, msgspec.convert(message.get("place", {}), Place))
            case "kept":
                self.rescue.progress()
                if message.get("books") is not None:
                    self.books = msgspec.convert(message["books"], LedgerSummary)
            case "ended":
                self.note_read(msgspec.convert(message["summary"], SourceSummary))
            case "finished":
                self.note_wrote(msgspec.convert(message["summary"], SinkSummary))
            case "salvaged":
                self.wrote = msgspec.convert(message["summary"], SinkSummary)
            case "parked":
                self.note_parked(handle)
            case "idle":
                self.note_idle(handle)

    def note_warnings(self, texts: Iterable[str]) -> None:
        """Keep warnings for the report, each once; of very many the first, which are the causes."""
        new = [text for text in dict.fromkeys(texts) if text not in self.warnings]
        room = max(MOST_WARNINGS - len(self.warnings), 0)
        self.warnings.extend(new[:room])
        if len(new) > room and self.warnings[-1] != _MORE_WARNINGS:
            self.warnings.append(_MORE_WARNINGS)

    def note_death(self, handle: WorkerHandle, error: StageDied) -> None:
        """A worker is gone; after the file was closed that harms only the jobs to come."""
        if not handle.needed:
            self.rescue.left(handle)
            self.end.finish_when_idle()
        elif handle is self.sink and self.machine.is_in(JobState.ABORTING):
            self.end.give_up()
        elif self.finished and self.error is None:
            self.broken = True
            self.note_idle(handle)
        elif handle is self.source and handle.reported is not None and self.read is not None:
            self.broken = True  # it has failed, and said so: what it gave is still written
            self.note_idle(handle)
        elif self.rescue.can_help(handle):
            self.rescue.lost(handle, error, time.monotonic())
        else:
            self.end.abort(error)

    def note_failure(self, handle: Handle, error: MpflowError, phase: str) -> None:
        """A worker has reported an error; once the file is whole, that only spoils the worker."""
        if phase != "run" and isinstance(handle, WorkerHandle) and not handle.needed:
            self.tell("warning", f"could not join the job: {error.what}", handle)
            handle.end(f"stage {handle.label} could not join the job")
        elif phase != "run":
            self.end.fail(error)
        elif self.finished and self.error is None:
            self.broken = True
            self.note_warnings([f"after the output was whole, {error.what}"])
            self.note_idle(handle)
        elif handle is self.source and self.machine.is_in(JobState.RUNNING):
            assert self.segment is not None
            self.error = error
            self.go(JobState.STOPPING, error.what)
            self.clock.allow(DRAIN_S, now=time.monotonic())
            self.note_read(SourceSummary(self.segment.published, stopped=True))
        else:
            self.end.abort(self.rescue.explain(error))

    def forgive(self, seconds: float) -> None:
        """The supervisor itself was stopped for so long: deadlines move."""
        self.clock.forgive(seconds)

    def note_begun(self, handle: Handle, place: Place = BEGINNING) -> None:
        """One worker has opened its end; a sink that waits says from where on."""
        handle.begun = True
        if handle.duty is Duty.JOINING:
            handle.duty = Duty.ON
        self.sink_begun |= handle is self.sink
        if handle.waits:
            self._note_place(handle, place)
            self.rescue.begun(handle, place)
        if self.machine.is_in(JobState.BEGINNING) and all(
            w.begun for w in self.workers if w.needed
        ):
            self.go(JobState.RUNNING)
            self.conclude_if_read()

    def _note_place(self, handle: Handle, place: Place) -> None:
        """A sink that goes on says where; it counts nothing before it hears ``go``."""
        if handle is self.sink and self.ring is not None and not self.job.live:
            self.ahead = place.frame - self.ring.frames_of(handle.plan.id)
            if self.machine.is_in(JobState.BEGINNING):
                self.resumed_at = place.frame

    def note_read(self, summary: SourceSummary) -> None:
        """The source has published its last frame: the sink may close when it has it."""
        damaged = max(summary.damaged, self.read.damaged if self.read else 0)
        self.read = msgspec.structs.replace(summary, damaged=damaged)
        self.note_warnings(summary.warnings)
        self.conclude_if_read()

    def conclude_if_read(self) -> None:
        """Tell the sink that all frames are on their way, as soon as everyone has begun.

        A short input can be read to its end while the sink still opens its file. One that takes a
        dead one's place hears it when the source has come to its end again.
        """
        if self.read is None or self.rescue.sink_is_missing:
            return
        if self.machine.is_in(JobState.RUNNING, JobState.STOPPING):
            whole = self.job.live or not self.read.stopped  # a stream has no end of its own
            self.sink.tell("conclude", complete=whole and self.error is None)
            self.go(JobState.CONCLUDING)

    def note_wrote(self, summary: SinkSummary) -> None:
        """The sink has closed its file: everyone may leave."""
        self.wrote, self.finished = summary, True
        self.note_warnings(summary.warnings)
        self.ended = time.monotonic()
        if self.broken:
            self.end.finish()
        elif self.machine.is_in(JobState.ABORTING):
            self.end.finish_when_idle()
        else:
            self.end.leave()

    def note_parked(self, handle: Handle) -> None:
        """A worker has given on what it held and takes nothing more."""
        if not handle.active and handle.machine.is_in(WorkerState.BUSY, WorkerState.BUILDING):
            handle.move(WorkerState.PARKED, "gave on what it held")
        if self.ring is not None:
            # it may have heard the bell for a frame that it left to others
            self.ring.bells[handle.plan.stage].ring()

    def note_idle(self, handle: Handle) -> None:
        """One worker has left the job."""
        handle.idle = True
        if handle.machine.is_in(WorkerState.BUSY, WorkerState.BUILDING):
            left = WorkerState.READY if handle.active else WorkerState.PARKED
            handle.move(left, "left the job")
        self.end.finish_when_idle()

    def release(self) -> None:
        """Let go of the ring."""
        if self.ring is not None:
            self.ring.close()
            self.ring = None
