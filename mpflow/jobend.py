"""How one job ends: by its last frame, by a stop, by an error, or too late.

leave     everybody leaves, the workers are whole        (done, fail)
stop      the source ends early, the ring is emptied, the file is closed
abort     a worker is lost for good: the others are killed, the sink may close its file
give up   the deadline has passed: everybody is killed
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mpflow.errors import InternalError, MpflowError
from mpflow.launch import CallerHandle
from mpflow.lifecycle import JobState

if TYPE_CHECKING:
    from mpflow.jobrun import JobRun

DRAIN_S = 8.0
"""How long a stopped job may take to write what is in the ring."""

CLOSE_S = 5.0
"""How long the sink of a failed job may take to close its file."""


class JobEnd:
    """The moves that end a job."""

    def __init__(self, run: JobRun) -> None:
        self._run = run

    def leave(self) -> None:
        """Tell every worker that is in the job to leave it."""
        run = self._run
        for handle in run.workers:
            if not handle.idle and handle.alive:
                handle.tell("end")
        self.finish_when_idle()

    def stop(self, error: MpflowError) -> None:
        """End early but in order: what is in the ring is written and the file closed.

        When the source has already read everything, the job may still be finished in that time.
        """
        run = self._run
        if run.error is not None or run.asked is not None or run.machine.is_in(JobState.DONE):
            return
        if run.finished:
            run.clock.allow(DRAIN_S, now=time.monotonic())  # it is whole; they only have to leave
            return
        if run.machine.is_in(JobState.CONCLUDING):
            run.asked = error
            run.clock.allow(DRAIN_S, now=time.monotonic())
            return
        if not run.machine.is_in(JobState.RUNNING):
            self.fail(error)
            return
        run.error = error
        run.go(JobState.STOPPING, error.what)
        run.clock.allow(DRAIN_S, now=time.monotonic())
        run.tell_stop()

    def fail(self, error: MpflowError) -> None:
        """An error that leaves every worker whole: they leave the job, which is over."""
        run = self._run
        if run.machine.is_in(JobState.DONE, JobState.ABORTING):
            return
        run.error = run.error or error
        run.go(JobState.ABORTING, error.what)
        run.clock.allow(CLOSE_S, now=time.monotonic())
        if any(not w.idle and w.begun for w in run.workers) and not run.sink.idle:
            run.sink.tell("close-now")
        self.leave()

    def abort(self, error: MpflowError) -> None:
        """A worker is lost: kill all but the sink, which gets a moment to close its file."""
        run = self._run
        if run.machine.is_in(JobState.DONE):
            return
        if run.finished and run.error is None:
            self.part()
            return
        run.broken = True
        run.error = run.error or error
        if not run.machine.is_in(JobState.ABORTING):
            run.go(JobState.ABORTING, error.what)
        run.clock.allow(CLOSE_S, now=time.monotonic())
        for handle in run.workers[:-1]:
            handle.kill()
        closing = run.sink.alive and run.sink.begun and not run.sink.idle and not run.wrote
        if closing:
            run.sink.tell("close-now")
        if not closing or isinstance(run.sink, CallerHandle):  # a caller has no file to close
            self.finish()

    def too_late(self) -> None:
        """A stop that drains too slowly still lets the sink close its file; then it is over."""
        run = self._run
        if run.finished and run.error is None:
            self.part()
            return
        why = run.error or run.asked
        if why is not None and run.wrote is None and not run.broken:
            self.abort(why)
        else:
            self.give_up()

    def part(self) -> None:
        """The output is finished, and somebody does not leave: that harms only jobs to come."""
        run = self._run
        run.broken = True
        for handle in run.workers:
            if not handle.idle:
                handle.kill()
                run.note_warnings([f"stage {handle.label} did not come to its end and was killed"])
        self.finish()

    def give_up(self) -> None:
        """The deadline has passed: kill everyone."""
        run = self._run
        run.broken = True
        if run.error is None:
            run.error = InternalError(
                "the pipeline did not come to its end in time",
                cure="run again with --log-level debug and report the log",
            )
        for handle in run.workers:
            handle.kill()
        if run.machine.is_in(JobState.STOPPING, JobState.CONCLUDING):
            run.go(JobState.ABORTING, "too late")
        self.finish()

    def finish_when_idle(self) -> None:
        """Finish, if the job is ending and everybody who lives has left it."""
        run = self._run
        leaving = run.machine.is_in(JobState.CONCLUDING, JobState.ABORTING)
        if leaving and all(w.idle or not w.alive for w in run.workers):
            self.finish()

    def finish(self) -> None:
        """The outcome is known."""
        run = self._run
        if not run.machine.is_in(JobState.DONE):
            run.ended = run.ended or time.monotonic()
            run.go(JobState.DONE)
