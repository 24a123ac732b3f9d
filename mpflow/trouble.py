"""What goes wrong in a run without ending it, told to whom it concerns: log, alerts, trace.

a stage stumbled over a frame, a frame was quarantined, a worker was replaced, a storm
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

from mpflow.alerts import Alerts
from mpflow.channel import Message
from mpflow.launch import Handle
from mpflow.notices import Notices
from mpflow.spec import STDOUT, JobSpec, PipelineSpec
from mpflow.trace import Mark, add_marks
from mpflow.urls import hide_credentials, is_url

MOST_MARKS = 10_000
"""A timeline gets so many moments at most, the last ones: a run may go on for weeks."""


class Trouble:
    """Takes in what workers and supervisor say, for one job after another."""

    def __init__(self, notices: Notices, spec: PipelineSpec, run: str) -> None:
        """Raises ConfigError for an alert command that cannot be run."""
        self._notices = notices
        self._low_disk = spec.low_disk
        self._alerts = Alerts(spec.on_alert, run, self._note)
        self._job = JobSpec("", "")
        self._marks: deque[Mark] = deque(maxlen=MOST_MARKS)
        self._left_out = 0

    def begin(self, job: JobSpec) -> None:
        """From here on it is about this job."""
        self._job = job
        self._marks.clear()
        self._left_out = 0
        to_disk = bool(job.output) and job.output != STDOUT and not is_url(job.output)
        self._alerts.watch_disk(Path(job.output).parent if to_disk else None, self._low_disk)

    def hear(self, handle: Handle, message: Message) -> None:
        """A worker tells of a frame it could not work on, or of something it noticed."""
        frame, name = message["frame"], handle.plan.spec.name
        match message["kind"]:
            case "stumbled":
                text = f"failed: {message['what']} ({message['then']})"
                self._notices.note("warning", text, handle, frame)
                self._alerts.failed(
                    name, message["what"], job=self._job.id, frame=frame, now=time.monotonic()
                )
            case "quarantined":
                text = f"frame {frame} is {message['state']}: {message['reason']}"
                self.alert("quarantine", text, stage=name, frame=frame)
            case _:
                self.alert(message["what"], message["text"], stage=name, frame=frame)

    def alert(self, kind: str, text: str, *, stage: str = "", frame: int = -1) -> None:
        """Tell of something that a person should know."""
        self.mark(f"alert: {kind}")
        self._alerts.raise_(kind, text, job=self._job.id, stage=stage, frame=frame)

    def steered(self, text: str) -> None:
        """Tell of a change in how the run bears its load."""
        self.note("info", text)
        self.mark(text)

    def note(self, level: str, text: str, stage: str = "") -> None:
        """Keep a line in the log, about a stage or the whole."""
        self._notices.note(level, f"{stage}: {text}" if stage else text)

    @property
    def counts(self) -> dict[str, int]:
        """The alerts of this job so far, by kind."""
        return self._alerts.counts

    def mark(self, name: str, worker: str = "") -> None:
        """Keep a moment for the timeline, if there will be one."""
        if self._job.trace:
            self._left_out += len(self._marks) == MOST_MARKS
            self._marks.append(Mark(time.monotonic_ns(), hide_credentials(name), worker))

    def tick(self, now: float) -> None:
        """Look at the disk, and after the user's commands."""
        self._alerts.tick(now)

    def conclude(self, began_ns: int) -> dict[str, int]:
        """The job is over: its alerts by kind; what happened is in its timeline."""
        self._alerts.watch_disk(None, 0)
        if self._left_out:  # in place of the oldest that is left
            self._marks[0] = Mark(began_ns, f"{self._left_out + 1} moments are left out")
        if self._marks:
            add_marks(Path(self._job.trace), began_ns, self._marks)
        return self._alerts.take_counts()

    def close(self) -> None:
        """See the user's commands off."""
        self._alerts.close()

    def _note(self, level: str, text: str, frame: int) -> None:
        self._notices.note(level, text, frame=frame)
