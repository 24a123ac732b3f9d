"""The supervisor process: it watches and decides, and never touches a pixel.

It starts the workers, leads one job after another through them, gathers their logs, and waits on
pidfds, channels and signals, never on the ring's lock. It serves one caller, over the control
socket it inherits; when that caller is gone it ends the run in order and leaves.

    python -m mpflow.supervisor --channel FD
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import deque
from contextlib import suppress

import msgspec

from mpflow import errors
from mpflow.channel import Channel, Message
from mpflow.coredumps import forbid_core_dumps
from mpflow.errors import (
    EXIT_INTERNAL,
    InternalError,
    Interrupted,
    MpflowError,
    PeerLost,
    Refused,
    Terminated,
)
from mpflow.forking import start_fork_server
from mpflow.graph import Demand
from mpflow.joblead import JobLead
from mpflow.jobrun import JobRun
from mpflow.launch import Handle, Launcher, WorkerHandle
from mpflow.lifecycle import WorkerState
from mpflow.machine import core_budget
from mpflow.notices import Notices
from mpflow.pool import Pool
from mpflow.reactor import STOP_SIGNALS, Reactor
from mpflow.report import Report
from mpflow.spec import JobSpec, PipelineSpec, settings_of
from mpflow.trouble import Trouble
from mpflow.urls import is_url, shown
from mpflow.windows import Windows

TICK_S = 0.1

OVERSLEPT_S = 3.0
"""A longer gap between two ticks means the machine or the whole group was stopped."""


class Supervisor:
    """The loop: wait for something to happen, let it be handled, look at the clock."""

    def __init__(self, caller: Channel) -> None:
        self._caller = caller
        self._notices = Notices(caller)
        self._reactor = Reactor()
        self._queue: deque[JobSpec] = deque()
        self._spec: PipelineSpec | None = None
        self._launcher: Launcher | None = None
        self._pool: Pool | None = None
        self._lead: JobLead | None = None
        self._trouble: Trouble | None = None
        self._windows: Windows | None = None
        self._fatal: MpflowError | None = None
        self._takes_frames = False
        self._leaving = False
        self._last_tick = time.monotonic()

    def serve(self) -> None:
        """Serve the caller until it says goodbye or is gone.

        A fault of the supervisor's own ends every job with an error; whoever waits is told.
        """
        try:
            self._serve()
        except Exception as error:
            self._break_down(error)
            raise

    def _serve(self) -> None:
        self._reactor.watch(self._caller.fileno(), self._hear_caller)
        self._reactor.catch(*STOP_SIGNALS)
        start_fork_server()
        while not (self._leaving and self._run is None):
            self._reactor.wait(TICK_S)
            self._tick(time.monotonic())
        self._dismiss()

    @property
    def _run(self) -> JobRun | None:
        """The job at hand."""
        return None if self._lead is None else self._lead.run

    def hear(self, handle: Handle, message: Message) -> None:
        """Take in what a worker says."""
        match message["kind"]:
            case "ready":
                handle.demand = msgspec.convert(message["demand"], Demand)
                handle.move(WorkerState.READY)
                if self._run is not None:
                    self._run.note_ready(handle)
            case "log":
                self._notices.note(message["level"], message["text"], handle, message["frame"])
            case "warning":
                self._notices.note("warning", message["text"], handle)
                if self._run is not None:
                    self._run.note_warnings([message["text"]])
            case "fact" if isinstance(handle, WorkerHandle):
                handle.facts[message["key"]] = message["value"]
            case "failed":
                self._note_failure(handle, message)
            case _ if self._lead is not None:
                self._lead.hear(handle, message)

    def hear_line(self, handle: Handle, line: str) -> None:
        """Keep a line of a worker's standard error."""
        self._notices.note("info", line, handle)

    def note_death(self, handle: WorkerHandle) -> None:
        """A worker is gone that was not asked to leave."""
        if self._leaving and self._run is None:
            return
        error = handle.death()
        known = (handle.killed and not handle.doom) or handle.reported is not None
        replaced = self._run is not None and self._run.rescue.can_help(handle)
        level = "debug" if known else "warning" if replaced or not handle.needed else "error"
        then = "replaced" if replaced else "" if handle.needed else "the others go on without it"
        self._notices.note(level, f"{error.what}: {then}" if then else str(error), handle)
        if self._run is not None:
            self._run.note_death(handle, error)

    def _hear_caller(self) -> None:
        try:
            while (received := self._caller.receive(wait=False)) is not None:
                self._obey(received[0])
        except PeerLost as lost:
            self._reactor.unwatch(self._caller.fileno())
            self._leave(lost)

    def _obey(self, message: Message) -> None:
        match message["kind"]:
            case "open":
                self._open(message)
            case "job":
                self._queue.append(msgspec.convert(message["job"], JobSpec))
            case "stop":
                self._stop(message["signal"])
            case "abort" if self._run is not None:
                self._run.end.abort(
                    Interrupted("stopped at once", cure="what was under way is not in the output")
                )
            case "close":
                self._leave(PeerLost("the caller has closed the run"))
            case _ if self._takes_frames and self._pool is not None and self._pool.workers:
                self.hear(self._pool.workers[-1], message)

    def _open(self, message: Message) -> None:
        self._spec = msgspec.convert(message["spec"], PipelineSpec)
        self._takes_frames = message["takes_frames"]
        # a preset's own folder may have joined the caller's path since we were started
        sys.path.extend(folder for folder in message["path"] if folder not in sys.path)
        try:
            self._notices.open_log(message["run"], message["log_file"], self._spec.log_level)
            self._trouble = Trouble(self._notices, self._spec, message["run"])
            self._windows = Windows(
                self._spec,
                message["run"],
                core_budget(),
                self._trouble,
                self._reactor,
                lambda: self._run,
            )
        except MpflowError as error:
            self._fatal = error
            return
        if not self._spec.core_dumps:
            forbid_core_dumps()
        self._launcher = Launcher(self._spec, cores=core_budget())
        caller = self._caller if self._takes_frames else None
        self._pool = Pool(self._spec, self._launcher, self._reactor, self, caller)
        try:
            self._pool.start()
        except MpflowError as error:
            self._fatal = error

    def _stop(self, number: int) -> None:
        """End the run in order, as Ctrl-C and SIGTERM ask for; further jobs do not start."""
        name = signal.Signals(number).name
        kind = Interrupted if number == signal.SIGINT else Terminated
        error = kind(f"stopped by {name}", cure="the output so far is under its partial name")
        self._fatal = self._fatal or error
        if self._run is not None:
            self._run.end.stop(error)

    def _leave(self, why: MpflowError) -> None:
        """The caller is gone or has had enough: end the job at hand, then leave."""
        self._leaving = True
        self._fatal = self._fatal or why
        if self._run is None:
            return
        if self._takes_frames:
            self._run.sink.idle = True
            self._run.end.abort(why)
        else:
            self._run.end.stop(why)

    def _note_failure(self, handle: Handle, message: Message) -> None:
        error = errors.from_wire(message["error"])
        if type(error) is InternalError:
            error.what = f"stage {handle.label} failed: {error.what}"
        error.facts.setdefault("stage", handle.label)
        self._notices.note("debug", error.remote_traceback, handle)
        if isinstance(handle, WorkerHandle):
            joins = handle.is_successor and self._run is not None
            if message["phase"] == "start" and (joins or not handle.needed):
                handle.doom = f"stage {handle.label} could not start: {error.what}"
                return  # it leaves now, which is one more death
            handle.reported = message["error"]
        if message["phase"] == "start":
            self._fatal = self._fatal or error
        if self._run is not None:
            self._run.note_failure(handle, error, message["phase"])

    def _tick(self, now: float) -> None:
        gap = now - self._last_tick
        self._last_tick = now
        for number in self._reactor.signals():
            self._stop(signal.SIGTERM if number == signal.SIGHUP else number)
            self._leaving = self._leaving or number != signal.SIGINT
        if self._trouble is not None:
            self._trouble.tick(now)
        if self._pool is not None:
            self._pool.flush()
        if self._lead is None:
            if self._windows is not None:
                self._windows.tick(now)
            self._next_job()
        else:
            self._lead.tick(now, gap if gap > OVERSLEPT_S else 0.0)
            if self._lead.done:
                self._conclude(self._lead)
        self._notices.post()

    def _break_down(self, fault: Exception) -> None:
        """Tell the caller of a fault of our own and end the workers: nobody waits for ever."""
        error = InternalError(
            f"the supervisor failed: {type(fault).__name__}: {fault}",
            cure="run again with --log-level debug and report what it shows",
        )
        error.remote_traceback = "".join(traceback.format_exception(fault))
        if self._pool is not None:
            with suppress(Exception):
                self._pool.kill()
        if self._run is not None:
            self._queue.appendleft(self._run.job)
        for job in self._queue:
            self._refuse(job, error)
        self._notices.post()

    def _next_job(self) -> None:
        if not self._queue:
            return
        if self._fatal is not None:
            self._refuse(self._queue.popleft(), self._fatal)
            return
        if self._pool is None or self._spec is None:
            return
        if self._trouble is None or self._windows is None:
            return
        if self._spec.offline and is_url(self._queue[0].input):
            job = self._queue.popleft()
            cure = "leave out --offline, or download the file first"
            self._refuse(job, Refused(f"{shown(job.input)!r} is on the network", cure=cure))
            return
        try:
            if self._pool.workers:
                self._pool.mend()
            else:
                self._pool.start()
        except MpflowError as error:
            self._fatal = error
            return
        job = self._queue.popleft()
        if not job.settings:
            job = msgspec.structs.replace(job, settings=settings_of(self._spec))
        self._notices.note("info", f"job {job.id}: {shown(job.input)}")
        run = JobRun(self._spec, job, self._pool.workers, self._notices.note)
        self._lead = JobLead(run, self._pool, self._notices, self._trouble, self._windows)

    def _conclude(self, lead: JobLead) -> None:
        """The outcome is known: report it and make room for the next job."""
        report, error = lead.report()
        self._lead = None
        if lead.run.broken and self._pool is not None:
            self._pool.kill()
        self._notices.say_done(report, error)

    def _refuse(self, job: JobSpec, error: MpflowError) -> None:
        report = Report(job.id, shown(job.input), shown(job.output))
        self._notices.say_done(report, errors.to_wire(error))

    def _dismiss(self) -> None:
        """See the workers off, and say what is still to be said."""
        if self._pool is not None:
            self._pool.dismiss()
        if self._launcher is not None:
            self._launcher.close()
        if self._windows is not None:
            self._windows.close()
        if self._trouble is not None:
            self._trouble.close()
        self._notices.close_log()
        for job in self._queue:
            self._refuse(job, self._fatal or PeerLost("the supervisor is leaving"))
        self._notices.post()


def main(arguments: list[str]) -> None:
    """Serve the caller at the other end of the inherited channel."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _forget_main_module()
    channel = Channel.adopt(int(arguments[arguments.index("--channel") + 1]))
    try:
        Supervisor(channel).serve()
    except Exception:  # noqa: BLE001 - the last place; the caller has been told
        traceback.print_exc()
        # not by way of exit handlers: multiprocessing's would wait for workers that wait for us
        os._exit(EXIT_INTERNAL)


def _forget_main_module() -> None:
    """Workers would run this module a second time as their ``__main__``; there is no need."""
    module = sys.modules["__main__"]
    module.__spec__ = None
    if hasattr(module, "__file__"):
        del module.__file__


if __name__ == "__main__":
    main(sys.argv[1:])
