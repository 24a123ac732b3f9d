"""JSON lines on standard output, one event a line, for programs.

    start     job, input, output
    progress  job, frame, total, fps, eta_s, backlog, age_p99, mode, level, dropped, missed,
              degraded, reconnects, stages {name: {frames, busy_ratio}}
    warning   job, stage, frame, text
    done      job, status, exit_status, output, partial, note, error {type, what, cure}, report
    end       exit_status, jobs {status: count}
    error     exit_status, what, cure

``total`` and ``eta_s`` are null while they are not known; ``frame`` of a warning is null when it
is about no frame. ``busy_ratio`` is the share of its time that a stage has worked so far, 0..1.
``backlog`` frames wait for a stage, ``age_p99`` is seconds, and null while nothing is measured.
``report`` is that of ``--report`` (docs/reports.md). ``done`` comes once for each job of the plan,
whatever became of it; ``error`` (console/door.py) comes alone, when nothing could be started.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from mpflow.channel import Message
from mpflow.console.output import mute
from mpflow.errors import EXIT_OK
from mpflow.jobs.batch import Outcome
from mpflow.spec import JobSpec
from mpflow.urls import shown

_WARNINGS = ("warning", "error", "critical")
_PROGRESS = (
    *("job", "frame", "total", "fps", "eta_s", "backlog", "age_p99", "mode", "level"),
    *("dropped", "missed", "degraded", "reconnects", "stages"),
)


class Lines:
    """Writes events; a reader that has gone away is no reason to stop the run."""

    def __init__(self) -> None:
        self._job = ""
        self._open = True

    def started(self, job: JobSpec) -> None:
        """A job is given to the session."""
        self._job = job.id
        ends = {"input": shown(job.input), "output": shown(job.output)}
        self._write("start", job=job.id, **ends)

    def hear(self, message: Message) -> None:
        """News of the run."""
        if message["kind"] == "progress":
            self._write("progress", **{key: message.get(key) for key in _PROGRESS})
        elif message["kind"] == "log" and message["record"]["level"] in _WARNINGS:
            record = message["record"]
            frame = record["frame"] if record["frame"] >= 0 else None
            self._write(
                "warning", job=self._job, stage=record["stage"], frame=frame, text=record["text"]
            )

    def idle(self) -> None:
        """Nothing happens; nothing is written."""

    def ended(self, outcome: Outcome) -> None:
        """A job is over."""
        from mpflow.jobs.runreport import report_values

        report, error = outcome.report, outcome.error
        self._write(
            "done",
            job=outcome.job.id,
            status=str(outcome.status),
            exit_status=EXIT_OK if error is None else error.exit_status,
            output=shown(outcome.job.output),
            partial="" if report is None else report.partial,
            note=outcome.note,
            error=None
            if error is None
            else {"type": type(error).__name__, "what": error.what, "cure": error.cure},
            report=None if report is None else report_values(report),
        )

    def finished(self, outcomes: Sequence[Outcome], status: int) -> None:
        """The whole run is over."""
        counts = Counter(str(outcome.status) for outcome in outcomes)
        self._write("end", exit_status=status, jobs=dict(counts))

    def _write(self, event: str, **values: Any) -> None:
        if not self._open:
            return
        try:
            click.echo(json.dumps({"event": event, **values}, ensure_ascii=False))
        except BrokenPipeError:
            self._open = False
            mute()
