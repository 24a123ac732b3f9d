"""One job after another over a session; a failed one does not stop the others.

Workers and models stay up from job to job. Requests to stop (``Stops``) come from whoever has
the signals, the command line for example: the first ends the job at hand in order and the jobs
behind it do not start, the second ends everything at once.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mpflow.errors import (
    EXIT_INTERNAL,
    EXIT_OK,
    Interrupted,
    MpflowError,
    PeerLost,
    interruption,
)
from mpflow.jobs.conflicts import EXISTS, Planned
from mpflow.jobs.ending import complete_skipped, conclude
from mpflow.jobs.folders import folders_for
from mpflow.report import Report
from mpflow.session import JobResult, Session
from mpflow.spec import JobSpec, PipelineSpec
from mpflow.urls import shown

BREATH_MS = 250
"""How often ``idle`` is called while nothing happens."""


class Status(StrEnum):
    """How a job ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One job's end: ``note`` says why it was skipped or not run."""

    job: JobSpec
    status: Status
    report: Report | None = None
    error: MpflowError | None = None
    note: str = ""


class Stops(Protocol):
    """Requests to stop: a descriptor that wakes the wait, and the signals that came since."""

    def fileno(self) -> int:
        """Readable when there is a new request."""

    def take(self) -> Sequence[int]:
        """The signal numbers since the last call."""


class Watcher(Protocol):
    """Who watches a batch: told of each start, and called now and then while nothing happens."""

    def started(self, job: JobSpec) -> None:
        """A job is given to the session."""

    def idle(self) -> None:
        """Nothing has happened for a moment."""


class Batch:
    """Runs the jobs of a plan.

    ``open_session`` is asked for a session before the first job, and again after a supervisor was
    lost; whoever made them closes them.
    """

    def __init__(self, open_session: Callable[[], Session], stops: Stops, watcher: Watcher) -> None:
        self._open_session = open_session
        self._stops = stops
        self._watcher = watcher
        self._session: Session | None = None
        self._stopped = False

    def run(self, plan: Sequence[Planned], spec: PipelineSpec) -> Iterator[Outcome]:
        """Run every job, giving each outcome as soon as it is known.

        A ``strict`` pipeline makes frames that were damaged or not delivered as asked an error
        (Degraded) of a job that is done.
        """
        for planned in plan:
            outcome = self._without_running(planned, spec) or self._run(planned.job, spec)
            self._stopped = self._stopped or isinstance(outcome.error, Interrupted)
            yield outcome

    def _without_running(self, planned: Planned, spec: PipelineSpec) -> Outcome | None:
        """The outcome of a job that does not come to its turn."""
        job = planned.job
        if self._stopped:
            return Outcome(job, Status.NOT_RUN, note="the run was stopped before it")
        if asked := self._stops.take():
            return Outcome(job, Status.STOPPED, error=interruption(asked[0]))
        if planned.error is not None:
            return Outcome(job, Status.FAILED, error=planned.error)
        if planned.skipped:
            return self._skip(planned, spec)
        return None

    def _skip(self, planned: Planned, spec: PipelineSpec) -> Outcome:
        try:
            if planned.skipped != EXISTS:  # then it is meant to be the same
                complete_skipped(spec, planned.job, self._breathe)
        except Interrupted as error:
            return Outcome(planned.job, Status.STOPPED, error=error)
        except MpflowError as error:
            return Outcome(planned.job, Status.FAILED, error=error)
        return Outcome(planned.job, Status.SKIPPED, note=planned.skipped)

    def _run(self, job: JobSpec, spec: PipelineSpec) -> Outcome:
        self._watcher.started(job)
        try:
            if self._session is None or not self._session.alive:
                self._session = self._open_session()
            with folders_for(job):
                result = self._converse(self._session, job)
                result = conclude(spec, job, result, self._breathe)
        except MpflowError as error:
            ends = shown(job.input), shown(job.output)
            result = JobResult(Report(job.id, *ends), error)
        return _judge(job, result)

    def _breathe(self) -> None:
        """In the middle of what takes long after a job: show life, and heed who asks for an end."""
        self._watcher.idle()
        if asked := self._stops.take():
            raise interruption(asked[0], "the output is whole, but its sidecar was not written")

    def _converse(self, session: Session, job: JobSpec) -> JobResult:
        """Hear the supervisor and the signals until the job is over."""
        poll = select.poll()
        poll.register(session.channel.fileno(), select.POLLIN)
        poll.register(self._stops.fileno(), select.POLLIN)
        asked: list[int] = []
        try:
            session.start(job)
            while True:
                poll.poll(BREATH_MS)
                for number in self._stops.take():
                    asked.append(number)
                    session.stop(number)
                while (received := session.channel.receive(wait=False)) is not None:
                    if (result := session.hear(received[0])) is not None:
                        return result
                self._watcher.idle()
        except PeerLost:
            result = session.lost(job)
            # A signal to the whole group, before the supervisor was ready for any, ends it too.
            return JobResult(result.report, interruption(asked[0])) if asked else result


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """The status of a whole batch.

    An interruption's own; else, when something failed, that of the failures where they agree and
    1 where they do not; else 0. A job that was skipped as asked for is no failure.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in errors:
        if isinstance(error, Interrupted):
            return error.exit_status
    statuses = {error.exit_status for error in errors}
    if not statuses:
        return EXIT_OK
    return statuses.pop() if len(statuses) == 1 else EXIT_INTERNAL


def _judge(job: JobSpec, result: JobResult) -> Outcome:
    if result.error is None:
        return Outcome(job, Status.DONE, result.report)
    stopped = isinstance(result.error, Interrupted)
    status = Status.STOPPED if stopped else Status.FAILED
    return Outcome(job, status, result.report, result.error)
