"""One job as the supervisor leads it: its course, its clock, its progress, and its end."""

from __future__ import annotations

import time

from mpflow import errors
from mpflow.channel import Message
from mpflow.coverage import cover_warning
from mpflow.crew import Crew
from mpflow.jobrun import JobRun
from mpflow.jobwatch import (
    watch_clock,
    watch_hangs,
    watch_leaving,
    watch_stall,
    watch_starts,
)
from mpflow.launch import Handle
from mpflow.lifecycle import JobState
from mpflow.metrics import Progress
from mpflow.notices import Notices
from mpflow.policies.hang import HangWatch
from mpflow.policies.limits import FLOOR_S, LIVE_FLOOR_S, Pace
from mpflow.pool import Pool
from mpflow.report import Report
from mpflow.rescue import Rescue
from mpflow.summary import report_of
from mpflow.trouble import Trouble
from mpflow.windows import Windows


class JobLead:
    """Leads one job from the look at its input to its report."""

    def __init__(
        self,
        run: JobRun,
        pool: Pool,
        notices: Notices,
        trouble: Trouble,
        windows: Windows,
    ) -> None:
        self.run = run
        self._notices = notices
        self._trouble = trouble
        self._progress = Progress(run.spec.stall)
        self._hangs = HangWatch(pace=Pace(LIVE_FLOOR_S if run.job.live else FLOOR_S))
        run.rescue = Rescue(run, pool.restart, trouble)
        self._windows = windows
        trouble.begin(run.job)
        windows.steering.begin(run, Crew(run, pool, notices, trouble), time.monotonic())
        run.probe()

    @property
    def done(self) -> bool:
        """Whether the outcome is known."""
        return self.run.machine.is_in(JobState.DONE)

    def hear(self, handle: Handle, message: Message) -> None:
        """Take in what a worker says of the job, or of trouble with it."""
        match message["kind"]:
            case "stumbled" | "alert":
                self._trouble.hear(handle, message)
            case "quarantined":
                self._trouble.hear(handle, message)
                self.run.rescue.quarantined(handle)
            case "previewed":
                self._windows.helmsman.previewed(message)
            case "begun" if handle is self.run.sink:
                self.run.hear(handle, message)
                self._windows.helmsman.sink_begun(self.run)
            case _:
                self.run.hear(handle, message)

    def tick(self, now: float, overslept: float) -> None:
        """Look at the clock; ``overslept`` seconds are nobody's fault."""
        run = self.run
        run.forgive(overslept)
        self._progress.forgive(overslept)
        self._hangs.forgive(overslept)
        run.rescue.tick(now)
        run.try_begin()
        if run.segment is not None:
            self._watch_progress(now)
        watch_clock(run, now)
        self._windows.tick(now)

    def report(self) -> tuple[Report, Message | None]:
        """The outcome, as the caller is told it; the ring is let go of."""
        run = self.run
        if text := _cover_warning(run):
            self._notices.note("warning", text)
            run.note_warnings([text])
        report = report_of(run, self._progress, self._trouble.conclude(run.started_ns))
        error = None if run.error is None else errors.to_wire(run.error)
        self._windows.job_over()
        run.release()
        return report, error

    def _watch_progress(self, now: float) -> None:
        run, progress = self.run, self._progress
        assert run.segment is not None
        progress.ahead = run.ahead
        news = progress.look(run.segment, run.workers, run.total, now)
        if news is not None and run.machine.is_in(JobState.RUNNING, JobState.CONCLUDING):
            self._notices.progress(run.job.id, {**news, **self._windows.steering.news()})
        if run.finished:
            watch_leaving(run, now)
            return
        if run.rescue.busy and not run.clock.passed(now):
            progress.moved(now)
        watch_starts(run, progress.counts, now)
        watch_hangs(run, self._hangs, progress.counts, now)
        watch_stall(run, progress, now)


def _cover_warning(run: JobRun) -> str:
    """What is odd about the faces that were covered; a chunk is judged with all the others."""
    if run.error is not None or run.wrote is None or run.job.chunk or not run.wrote.frames:
        return ""
    return "" if run.wrote.ledger is None else cover_warning(run.spec, run.wrote.ledger)
