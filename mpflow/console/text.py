"""Sentences on standard error: errors with their cure, log lines, summaries and the batch table."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mpflow.accounts import counted
from mpflow.console.facewords import face_words, ledger_words
from mpflow.console.livewords import ends, stream_words
from mpflow.console.lost import lost_lines
from mpflow.console.timing import timing_lines
from mpflow.errors import Degraded, InternalError, Interrupted, MpflowError
from mpflow.jobs.batch import Outcome, Status
from mpflow.logbook import LEVELS
from mpflow.report import Report
from mpflow.urls import hide_credentials, is_url, shown

_MARKS = {
    Status.DONE: "done",
    Status.FAILED: "FAILED",
    Status.SKIPPED: "skipped",
    Status.STOPPED: "stopped",
    Status.NOT_RUN: "not run",
}
_TRACE_LINES = 30
_SHOWN_LINES = 1000
_HELD_LINES = 200
_UNITS = ("B", "kB", "MB", "GB", "TB")


def say(text: str) -> None:
    """One line on standard error."""
    click.echo(text, err=True)


def show_error(error: MpflowError, *, debug: bool = False, log: Log | None = None) -> None:
    """What happened, the cure, and where: with ``debug`` always, else when it is nobody's fault
    but ours or a stage's, and shortened. What ``log`` has shown is not shown again."""
    say(f"mpflow: error: {hide_credentials(error.what)}")
    if error.cure:
        say(f"  cure: {hide_credentials(error.cure)}")
    lines = _trace(error, debug=debug)
    if log is None or not log.has_shown(lines):
        for line in lines if debug else lines[-_TRACE_LINES:]:
            say(line)


def _trace(error: MpflowError, *, debug: bool) -> list[str]:
    """The traceback or last words of a failed stage; with ``debug`` else our own traceback."""
    text = error.remote_traceback
    if error.what in text and "Traceback" not in text:
        text = ""  # an error that was never raised has nothing but its own sentence
    if debug:
        text = text or "".join(traceback.format_exception(error))
    elif not isinstance(error, InternalError):
        text = ""
    return hide_credentials(text).rstrip().splitlines()


def log_line(record: Mapping[str, Any]) -> str:
    """A log record as one line."""
    where = str(record["stage"])
    if record["frame"] >= 0:
        where += f", frame {record['frame']}"
    again = f" ({record['repeats']} times more)" if record["repeats"] else ""
    return f"mpflow: {record['level']}: [{where}] {record['text']}{again}"


def summary(report: Report, *, brief: bool = True) -> str:
    """One job that is done, in one line; without ``brief`` there are more to come."""
    earlier = f" ({report.resumed_at} from an earlier run)" if report.resumed_at else ""
    parts = [
        f"{counted(report.frames_written, 'frame')}{earlier} in {report.seconds:.1f} s"
        f" ({report.frames_per_second:.1f} frames/s)"
    ]
    if report.faces:
        parts.append(face_words(report))
    if report.size:
        parts.append(size(report.size))
    if brief and (slowest := report.bottleneck) is not None:
        parts.append(f"slowest stage {slowest.name}")
    if report.damaged:
        frames = "frame or packet" if report.damaged == 1 else "frames or packets"
        parts.append(f"{report.damaged} damaged {frames} skipped")
    parts.extend(_irregular(report))
    return f"{ends(report)}: {', '.join(parts)}"


def _irregular(report: Report) -> Iterator[str]:
    """What did not go as it should have, though the job came to its end."""
    if report.ledger is not None:
        yield from ledger_words(report.ledger)
    if report.restarts:
        yield f"{counted(report.restarts, 'worker')} replaced"
    yield from stream_words(report)


def batch_table(outcomes: Sequence[Outcome], units: str = "inputs") -> list[str]:
    """A batch as lines: status, frames, input, and where the result is or why there is none.

    ``units`` is what the jobs are, in the plural.
    """
    rows = [_row(outcome) for outcome in outcomes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]
    return [*lines, _tally(outcomes, units)]


def name_of(path: str) -> str:
    """What an input is called: a file by its last part, a URL without what lets somebody in."""
    return shown(path) if is_url(path) else Path(path).name or path


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
    frames = counted(report.frames_written, "frame") if report is not None else "-"
    name, output = name_of(outcome.job.input), shown(outcome.job.output)
    if error is not None:
        kept = f" -> {report.partial}" if report is not None and report.partial else ""
        return _MARKS[outcome.status], frames, name, error.what + kept
    return _MARKS[outcome.status], frames, name, outcome.note or output


def _tally(outcomes: Sequence[Outcome], units: str) -> str:
    counts = {status: sum(outcome.status is status for outcome in outcomes) for status in Status}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"{len(outcomes)} {units}: {told}"


def show_outcome(outcome: Outcome, log: Log, *, alone: bool, debug: bool = False) -> None:
    """A job that has ended: an error in full, else one line; a batch's table says the rest."""
    if outcome.job.live and outcome.report is not None and outcome.report.frames_written:
        _show_summary(outcome.report, alone=alone)
        _show_end(outcome.error, debug=debug, log=log)
    elif outcome.error is not None and outcome.status is not Status.NOT_RUN:
        whole = isinstance(outcome.error, Degraded)
        if whole and outcome.report is not None:
            _show_summary(outcome.report, alone=alone)
        if not alone:
            say(f"mpflow: {shown(outcome.job.input)}:")
        show_error(outcome.error, debug=debug, log=log)
        if not whole and outcome.report is not None:
            _show_irregular(outcome.report)
    elif outcome.status is Status.DONE and outcome.report is not None:
        _show_summary(outcome.report, alone=alone)
    elif alone:
        output = shown(outcome.job.output)
        say(f"mpflow: {output}: {outcome.status}, {outcome.note}")


def _show_end(error: MpflowError | None, *, debug: bool, log: Log) -> None:
    """Why a stream ended, where that was before its own end: a signal is the usual way."""
    if isinstance(error, Interrupted):
        say(f"mpflow: {error.what}")
    elif error is not None:
        show_error(error, debug=debug, log=log)


def _show_summary(report: Report, *, alone: bool) -> None:
    say(summary(report, brief=not alone))
    for line in timing_lines(report) if alone else ():
        say(f"  {line}")
    for line in lost_lines(report.ledger):
        say(f"  {line}")


def _show_irregular(report: Report) -> None:
    if told := ", ".join(_irregular(report)):
        say(f"  {told}")
    for line in lost_lines(report.ledger):
        say(f"  {line}")


def show_batch(outcomes: Sequence[Outcome], units: str = "inputs") -> None:
    """The table of a batch; one job alone has said everything."""
    if len(outcomes) > 1:
        for line in batch_table(outcomes, units):
            say(line)


class Log:
    """The log lines that are shown. Errors wait for the end of their job: the error that ends it
    is most often the same one, and is told with its cure."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._held: deque[Mapping[str, Any]] = deque(maxlen=_HELD_LINES)
        self._shown: deque[str] = deque(maxlen=_SHOWN_LINES)

    def line(self, record: Mapping[str, Any]) -> str | None:
        """What to show of a record now, if anything."""
        rank = LEVELS.get(str(record["level"]), LEVELS["info"])
        if rank < self._level:
            return None
        if rank >= LEVELS["error"]:
            self._held.append(record)
            return None
        self._shown.extend(str(record["text"]).splitlines())
        return log_line(record)

    def has_shown(self, lines: Sequence[str]) -> bool:
        """Whether all these lines were among those last shown."""
        return set(lines) <= set(self._shown)

    def held(self, error: MpflowError | None) -> list[str]:
        """The errors of a job that has ended, but for what ``error`` says itself."""
        held = [*self._held]
        self._held.clear()
        told = "" if error is None else error.what
        return [log_line(record) for record in held if not told or told not in record["text"]]
