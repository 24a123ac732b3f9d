"""Signals as requests to stop.

Before ``listen`` a signal ends the command at once, as an error with the right exit status;
after it, a signal is only noted and wakes whoever waits on ``fileno``.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from mpflow.errors import interruption

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stops:
    """Notes the signals that ask for an end. For the main thread, as a context manager."""

    def __init__(self) -> None:
        self._noted: deque[int] = deque()
        self._listening = False
        self._old: dict[int, Any] = {}
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Readable when a signal has come."""
        return self._read

    def listen(self) -> None:
        """From now on note signals instead of raising."""
        self._listening = True

    def take(self) -> list[int]:
        """The signals since the last call."""
        with suppress(BlockingIOError):
            os.read(self._read, 4096)
        taken = list(self._noted)
        self._noted.clear()
        return taken

    def __enter__(self) -> Self:
        for number in WATCHED:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP on purpose
                self._old[number] = signal.signal(number, self._note)
        self._old_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self._listening:
            raise interruption(number)
        self._noted.append(number)
