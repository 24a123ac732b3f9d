"""The whole run as one JSON file: what was asked for, on what machine, and what came of each job.

docs/reports.md describes it. User names and passwords in URLs are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mpflow._version import __version__
from mpflow.accounts import Spread, StageLatency
from mpflow.config import Resolved
from mpflow.errors import EXIT_OK, MpflowError
from mpflow.hostfacts import host_facts
from mpflow.jobs.batch import Outcome
from mpflow.jobs.sidefiles import check_side_file, require_ours
from mpflow.linefile import file_error
from mpflow.report import Report, StageReport
from mpflow.urls import hide_credentials, shown
from mpflow.wholefile import making, write_whole

VERSION = 1
"""Changes when a reader of the file would have to."""

_BEGIN = re.compile(rb'\{\s*"format":\s*\d+,\s*"mpflow":')


@dataclass(frozen=True, slots=True)
class RunReport:
    """A report to be written to ``path`` when the run is over."""

    path: Path
    command: Sequence[str] = ()
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def check(self) -> None:
        """Raise OutputError or ResourceError if the file could not be written; leaves nothing.

        It replaces a report, but no file of another kind.
        """
        check_side_file("--report", str(self.path))
        cure = "choose another name, or remove it"
        require_ours("--report", str(self.path), _BEGIN, cure)
        try:
            making(self.path).touch()
            making(self.path).unlink()
            if self.path.exists() and not os.access(self.path, os.W_OK):
                raise PermissionError(13, os.strerror(13))
        except OSError as error:
            raise file_error(self.path, error) from error

    def write(self, resolved: Resolved, outcomes: Sequence[Outcome], exit_status: int) -> None:
        """Write the file, whole or not at all; raises OutputError or ResourceError."""
        data = _without_credentials(self._data(resolved, outcomes, exit_status))
        text = msgspec.json.format(msgspec.json.encode(data, enc_hook=str), indent=2)
        try:
            write_whole(self.path, text + b"\n")
        except OSError as error:
            raise file_error(self.path, error) from error

    def _data(
        self, resolved: Resolved, outcomes: Sequence[Outcome], exit_status: int
    ) -> dict[str, Any]:
        ended = datetime.now(UTC)
        return {
            "format": VERSION,
            "mpflow": __version__,
            "command": [shown(word) for word in self.command],
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round((ended - self.started).total_seconds(), 3),
            "exit_status": exit_status,
            "machine": host_facts(),
            "configuration": resolved.as_data(),
            "jobs": [job_values(outcome) for outcome in outcomes],
        }


def job_values(outcome: Outcome) -> dict[str, Any]:
    """One job: what it was, how it ended, and its report."""
    job, error = outcome.job, outcome.error
    return {
        "job": job.id,
        "input": shown(job.input),
        "output": shown(job.output),
        "frames": {"start": job.start, "stop": job.stop},
        "resumed": job.resume,
        "status": str(outcome.status),
        "note": outcome.note,
        "exit_status": EXIT_OK if error is None else error.exit_status,
        "error": None if error is None else _error_values(error),
        "report": None if outcome.report is None else report_values(outcome.report),
    }


def report_values(report: Report) -> dict[str, Any]:
    """A job's report with what is worked out from it."""
    values: dict[str, Any] = msgspec.to_builtins(report)
    latency, slowest = report.latency, report.bottleneck
    values |= {
        "frames_per_second": round(report.frames_per_second, 3),
        "idle_ratio": None if latency is None else latency.idle_ratio,
        "latency": None if latency is None else msgspec.to_builtins(latency.whole),
        "bottleneck": None if slowest is None else slowest.name,
        "advice": report.advice,
        "stages": [_stage_values(stage) for stage in report.stages],
    }
    return values


def _stage_values(stage: StageReport) -> dict[str, Any]:
    latency = stage.latency or StageLatency(stage.name, Spread(), Spread())
    return {
        **msgspec.to_builtins(stage),
        "busy_ratio": round(1 - stage.idle_ratio, 4) if stage.busy else 0.0,
        "idle_ratio": round(latency.idle_ratio, 4),
        "latency": {
            "service": msgspec.to_builtins(latency.service),
            "waiting": msgspec.to_builtins(latency.waiting),
        },
    }


def _error_values(error: MpflowError) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "what": error.what,
        "cure": error.cure,
        "facts": error.facts,
    }


def _without_credentials(value: Any) -> Any:
    """The same, without the user names and passwords of URLs."""
    match value:
        case str():
            return hide_credentials(value)
        case dict():
            return {key: _without_credentials(each) for key, each in value.items()}
        case list() | tuple():
            return [_without_credentials(each) for each in value]
        case _:
            return value
