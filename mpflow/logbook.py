"""The logs of all processes in one place, without credentials, repeats counted, as JSON lines."""

from __future__ import annotations

import json
import logging
import logging.handlers
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpflow.errors import OutputError
from mpflow.report import Report
from mpflow.urls import hide_credentials

ROTATE_BYTES = 10 * 1024 * 1024
ROTATE_FILES = 3
REMEMBERED_TEXTS = 512

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One line of a log: who said what, about which frame (-1: none), how often again since."""

    time: float
    run: str
    level: str
    stage: str
    worker: int
    frame: int
    text: str
    repeats: int = 0


class Logbook:
    """Takes every process's lines; keeps each text once and counts the rest."""

    def __init__(
        self, run: str, *, path: Path | None, level: str, show: Callable[[LogRecord], None]
    ) -> None:
        self._run = run
        self._level = LEVELS[level]
        self._show = show
        self._seen: dict[tuple[str, str], int] = {}
        self._handler = None if path is None else _open_rotating(path)

    def note(
        self, level: str, text: str, *, stage: str = "supervisor", worker: int = 0, frame: int = -1
    ) -> None:
        """Record one line; a text already seen from that stage is counted instead."""
        if LEVELS.get(level, 20) < self._level:
            return
        clean = hide_credentials(text.rstrip())
        key = (stage, clean)
        if key in self._seen:
            self._seen[key] += 1
            return
        if len(self._seen) >= REMEMBERED_TEXTS:
            self.flush()
        self._seen[key] = 0
        self._emit(LogRecord(time.time(), self._run, level, stage, worker, frame, clean))

    def keep_outcome(self, report: Report, error: Mapping[str, Any] | None) -> None:
        """Write how a job ended to the file; the caller hears it in its own way."""
        if error is None:
            text = f"job {report.job}: {report.frames_written} frames in {report.seconds:.2f} s"
            self._keep("info", text)
        else:
            what = f"job {report.job} failed: {error['what']}"
            # a traceback is of use where the fault is ours or a stage's, not for a missing file
            own = error["type"] in ("InternalError", "ContractError", "StageDied")
            self._keep("error", f"{what}\n{error['traceback']}" if own else what)

    def flush(self) -> None:
        """Write how often each text came again, and forget the texts."""
        for (stage, text), repeats in self._seen.items():
            if repeats:
                self._emit(LogRecord(time.time(), self._run, "info", stage, 0, -1, text, repeats))
        self._seen.clear()

    def close(self) -> None:
        """Write what was counted and close the file."""
        self.flush()
        if self._handler is not None:
            self._handler.close()

    def _keep(self, level: str, text: str) -> None:
        if LEVELS[level] >= self._level:
            clean = hide_credentials(text)
            self._write(LogRecord(time.time(), self._run, level, "supervisor", 0, -1, clean))

    def _emit(self, record: LogRecord) -> None:
        self._show(record)
        self._write(record)

    def _write(self, record: LogRecord) -> None:
        if self._handler is not None:
            line = json.dumps(asdict(record), ensure_ascii=False)
            self._handler.emit(logging.makeLogRecord({"msg": line, "levelno": 20}))


def _open_rotating(path: Path) -> logging.handlers.RotatingFileHandler:
    try:
        return logging.handlers.RotatingFileHandler(
            path, maxBytes=ROTATE_BYTES, backupCount=ROTATE_FILES, encoding="utf-8"
        )
    except OSError as error:
        raise OutputError(
            f"log file {str(path)!r} cannot be written: {error.strerror}",
            cure="choose another path for --log-file",
        ) from error
