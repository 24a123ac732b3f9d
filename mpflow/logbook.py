"""The logs of all processes in one place, without credentials, repeats counted, as JSON lines."""

from __future__ import annotations

import json
import logging
import logging.handlers
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from mpflow.errors import OutputError

ROTATE_BYTES = 10 * 1024 * 1024
ROTATE_FILES = 3
REMEMBERED_TEXTS = 512

_CREDENTIALS = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@]+@")
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


def hide_credentials(text: str) -> str:
    """Take the user's name and password out of every URL in a text (RFC 3986, userinfo)."""
    return _CREDENTIALS.sub(r"\g<scheme>***@", text)


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

    def _emit(self, record: LogRecord) -> None:
        self._show(record)
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
