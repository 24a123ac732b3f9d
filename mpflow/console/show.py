"""Which display a run gets: JSON lines when asked for, a bar on a terminal, else only sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol

from mpflow.channel import Message
from mpflow.console import text
from mpflow.console.lines import Lines
from mpflow.jobs.batch import Outcome
from mpflow.logbook import LEVELS
from mpflow.spec import JobSpec

_DUMB = ("dumb", "unknown")
"""Terminals that cannot move their cursor, so that a bar could not be drawn over itself."""


class Display(Protocol):
    """Shows a run: its starts, news and ends."""

    def started(self, job: JobSpec) -> None:
        """A job is given to the session."""

    def hear(self, message: Message) -> None:
        """News of the run, as the supervisor tells it."""

    def idle(self) -> None:
        """Nothing has happened for a moment."""

    def ended(self, outcome: Outcome) -> None:
        """A job is over."""

    def finished(self, outcomes: Sequence[Outcome], status: int) -> None:
        """The whole run is over."""


class Plain:
    """For logs and pipes: warnings, then a summary."""

    def __init__(self, jobs: int, level: int, units: str = "inputs") -> None:
        self._jobs = jobs
        self._units = units
        self._debug = level <= LEVELS["debug"]
        self._log = text.Log(level)

    def started(self, job: JobSpec) -> None:
        """A job is given to the session; nothing is said."""

    def hear(self, message: Message) -> None:
        """News of the run; only its log is shown."""
        if message["kind"] == "log" and (line := self._log.line(message["record"])) is not None:
            text.say(line)

    def idle(self) -> None:
        """Nothing happens; nothing is said."""

    def ended(self, outcome: Outcome) -> None:
        """A job is over."""
        for line in self._log.held(outcome.error):
            text.say(line)
        text.show_outcome(outcome, self._log, alone=self._jobs == 1, debug=self._debug)

    def finished(self, outcomes: Sequence[Outcome], status: int) -> None:
        """The whole run is over."""
        text.show_batch(outcomes, self._units)


class Programs:
    """JSON lines on standard output, and the log on standard error as ever."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        self._lines = Lines()
        self.started = self._lines.started
        self.idle = self._lines.idle
        self.finished = self._lines.finished

    def hear(self, message: Message) -> None:
        """News of the run."""
        self._lines.hear(message)
        self._plain.hear(message)

    def ended(self, outcome: Outcome) -> None:
        """A job is over; an error is told in words too."""
        self._lines.ended(outcome)
        if outcome.error is not None:
            self._plain.ended(outcome)


def display_for(jobs: int, *, as_json: bool, level: int, units: str = "inputs") -> Display:
    """The display for a run of so many jobs, which are ``units`` such as inputs; ``level`` is the
    least log level shown."""
    if as_json:
        return Programs(Plain(jobs, level))
    if sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in _DUMB:
        from mpflow.console.bar import Bar

        return Bar(jobs, level, units)
    return Plain(jobs, level, units)
