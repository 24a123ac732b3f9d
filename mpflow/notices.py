"""What the supervisor tells: the log of all processes, and each job's outcome to the caller.

News is sent while there is room for it; outcomes wait in a queue until there is.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from mpflow.channel import MAX_MESSAGE, Channel, Message
from mpflow.launch import Handle
from mpflow.logbook import Logbook, LogRecord
from mpflow.report import Report, fitting
from mpflow.urls import hide_credentials

_FRAMING = 64
"""Bytes of a message around the report and the error in it."""

_LONGEST_TEXT = 16_000
"""Characters of a line, and of what an error says, that travel."""


class Notices:
    """Tells one caller, and keeps one log."""

    def __init__(self, caller: Channel) -> None:
        self._caller = caller
        self._outbox: deque[tuple[str, dict[str, Any]]] = deque()
        self._logbook: Logbook | None = None

    def open_log(self, run: str, path: str, level: str) -> None:
        """Begin to keep the log; raises OutputError when its file cannot be written."""
        file = Path(path) if path else None
        self._logbook = Logbook(run, path=file, level=level, show=self._show)

    def close_log(self) -> None:
        """Write what was counted, and close the file."""
        if self._logbook is not None:
            self._logbook.close()

    def note(
        self,
        level: str,
        text: str,
        handle: Handle | None = None,
        frame: int = -1,
    ) -> None:
        """Record a line, of a worker or of the supervisor itself."""
        if self._logbook is not None and text:
            stage = "supervisor" if handle is None else handle.plan.spec.name
            number = 0 if handle is None else handle.plan.number
            self._logbook.note(level, text[:_LONGEST_TEXT], stage=stage, worker=number, frame=frame)

    def progress(self, job: str, news: Message) -> None:
        """Tell how far a job is; it does not matter if that gets lost."""
        self._caller.offer("progress", job=job, **news)

    def say_done(self, report: Report, error: Message | None) -> None:
        """Queue a job's last message, and keep its outcome in the log."""
        if self._logbook is not None:
            self._logbook.keep_outcome(report, error)
            self._logbook.flush()
        told = None if error is None else _told(error)
        room = MAX_MESSAGE - _FRAMING - len(msgspec.msgpack.encode(told))
        fits = fitting(report, room)
        self._outbox.append(("done", {"report": msgspec.to_builtins(fits), "error": told}))

    def post(self) -> None:
        """Send what is queued, as far as there is room for it."""
        while self._outbox and self._caller.offer(self._outbox[0][0], **self._outbox[0][1]):
            self._outbox.popleft()

    def _show(self, record: LogRecord) -> None:
        self._caller.offer("log", record=msgspec.to_builtins(record))


def _told(error: Message) -> Message:
    """An error as the caller gets it: without credentials, and not longer than can be sent."""
    texts = {key: hide_credentials(error[key]) for key in ("what", "cure", "traceback")}
    facts = error["facts"]
    if len(msgspec.msgpack.encode(facts)) > _LONGEST_TEXT:
        facts = {}
    return {**error, "facts": facts, **{key: text[-_LONGEST_TEXT:] for key, text in texts.items()}}
