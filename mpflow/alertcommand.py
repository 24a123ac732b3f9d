"""The user's command for alerts: started without a shell, JSON on its standard input, never waited
for.

At most one runs for each kind of alert; one that takes too long is killed, with all it started.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mpflow.errors import ConfigError

LIMIT_S = 30.0
"""How long a command may run."""

LEAVE_S = 5.0
"""How long those that still run may take when the run is over."""


def command_words(text: str) -> list[str]:
    """A command as a shell would split it; raises ConfigError for one that cannot be run."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(
            f"on_alert {text!r} cannot be split into words: {error}", cure="check its quotes"
        ) from error
    if words and shutil.which(words[0]) is None:
        raise ConfigError(
            f"on_alert: there is no command {words[0]!r}",
            cure="give its whole path; a shell is asked for by sh -c '...'",
        )
    return words


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    deadline: float


class AlertCommands:
    """Starts the command and sees it off. ``note`` logs a sentence."""

    def __init__(self, words: Sequence[str], note: Callable[[str], None]) -> None:
        self._words = list(words)
        self._note = note
        self._running: dict[str, _Running] = {}

    def runs(self, kind: str) -> bool:
        """Whether the command is busy with an alert of this kind."""
        return kind in self._running

    def start(self, kind: str, alert: Mapping[str, Any], now: float) -> None:
        """Start the command and hand it an alert; what goes wrong is logged."""
        data = json.dumps(alert, ensure_ascii=False, default=str).encode() + b"\n"
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # a Ctrl-C is meant for the run
            )
        except OSError as error:
            self._note(f"the command for alerts cannot be started: {error}")
            return
        assert process.stdin is not None
        # what does not fit into the pipe is lost: nobody waits for a command that does not read
        os.set_blocking(process.stdin.fileno(), False)
        with suppress(OSError):
            process.stdin.write(data)
        process.stdin.close()
        self._running[kind] = _Running(process, now + LIMIT_S)

    def tick(self, now: float) -> None:
        """See off those that have ended, and end those that take too long."""
        for kind, running in list(self._running.items()):
            code = running.process.poll()
            if code is None and now >= running.deadline:
                self._end(running.process)
                self._note(f"the command for alerts was killed: it ran for {LIMIT_S:.0f} s")
            elif code:
                self._note(f"the command for alerts ended with exit code {code}")
            elif code is None:
                continue
            del self._running[kind]

    def close(self) -> None:
        """Give those that run a moment, then end them."""
        deadline = time.monotonic() + LEAVE_S
        for running in self._running.values():
            try:
                running.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                self._end(running.process)
        self._running.clear()

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
