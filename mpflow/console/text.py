"""Sentences on standard error: errors with their cure, log lines, summaries and the batch table."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mpflow.errors import MpflowError
from mpflow.jobs.batch import Outcome, Status
from mpflow.logbook import LEVELS
from mpflow.report import Report

_MARKS = {
    Status.DONE: "done",
    Status.FAILED: "FAILED",
    Status.SKIPPED: "skipped",
    Status.STOPPED: "stopped",
    Status.NOT_RUN: "not run",
}
_UNITS = ("B", "kB", "MB", "GB", "TB")


def say(text: str) -> None:
    """One line on standard error."""
    click.echo(text, err=True)


def show_error(error: MpflowError, *, debug: bool = False) -> None:
    """What happened, the cure, and with ``debug`` where."""
    say(f"mpflow: error: {error.what}")
    if error.cure:
        say(f"  cure: {error.cure}")
    if debug:
        say(error.remote_traceback or "".join(traceback.format_exception(error)))


def log_line(record: Mapping[str, Any]) -> str:
    """A log record as one line."""
    where = str(record["stage"])
    if record["frame"] >= 0:
        where += f", frame {record['frame']}"
    again = f" ({record['repeats']} times more)" if record["repeats"] else ""
    return f"mpflow: {record['level']}: [{where}] {record['text']}{again}"


def summary(report: Report) -> str:
    """One job that is done, in one line."""
    parts = [
        f"{report.frames_written} frames in {report.seconds:.1f} s"
        f" ({report.frames_per_second:.1f} frames/s)"
    ]
    if report.size:
        parts.append(size(report.size))
    if (slowest := report.bottleneck) is not None:
        parts.append(f"slowest stage {slowest.name}")
    if report.damaged:
        parts.append(f"{report.damaged} damaged frames or packets skipped")
    return f"{report.output}: {', '.join(parts)}"


def batch_table(outcomes: Sequence[Outcome]) -> list[str]:
    """A batch as lines: status, frames, input, and where the result is or why there is none."""
    rows = [_row(outcome) for outcome in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    return [*lines, _tally(outcomes)]


def size(count: int) -> str:
    """Bytes for people."""
    number, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            break
        number /= 1000
    return f"{number:.1f} {unit}" if unit != "B" else f"{count} B"


def _row(outcome: Outcome) -> tuple[str, str, str, str]:
    report, error = outcome.report, outcome.error
    frames = f"{report.frames_written} frames" if report is not None else "-"
    name = Path(outcome.job.input).name or outcome.job.input
    if error is not None:
        kept = f" -> {report.partial}" if report is not None and report.partial else ""
        return _MARKS[outcome.status], frames, name, error.what + kept
    return _MARKS[outcome.status], frames, name, outcome.note or outcome.job.output


def _tally(outcomes: Sequence[Outcome]) -> str:
    counts = {status: sum(outcome.status is status for outcome in outcomes) for status in Status}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"{len(outcomes)} inputs: {told}"


def show_outcome(outcome: Outcome, *, alone: bool, debug: bool = False) -> None:
    """A job that has ended: an error in full, else one line; a batch's table says the rest."""
    if outcome.error is not None and outcome.status is not Status.NOT_RUN:
        if not alone:
            say(f"mpflow: {outcome.job.input}:")
        show_error(outcome.error, debug=debug)
    elif outcome.status is Status.DONE and outcome.report is not None:
        say(summary(outcome.report))
    elif alone:
        say(f"mpflow: {outcome.job.output}: {outcome.status}, {outcome.note}")


def show_batch(outcomes: Sequence[Outcome]) -> None:
    """The table of a batch; one job alone has said everything."""
    if len(outcomes) > 1:
        for line in batch_table(outcomes):
            say(line)


class Log:
    """The log lines that are shown. Errors wait for the end of their job: the error that ends it
    is most often the same one, and is told with its cure."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._held: list[Mapping[str, Any]] = []

    def line(self, record: Mapping[str, Any]) -> str | None:
        """What to show of a record now, if anything."""
        rank = LEVELS.get(str(record["level"]), LEVELS["info"])
        if rank < self._level:
            return None
        if rank >= LEVELS["error"]:
            self._held.append(record)
            return None
        return log_line(record)

    def held(self, error: MpflowError | None) -> list[str]:
        """The errors of a job that has ended, but for what ``error`` says itself."""
        held, self._held = self._held, []
        told = "" if error is None else error.what
        return [log_line(record) for record in held if not told or told not in record["text"]]
