"""Alerts: what somebody should know before the run is over.

    failures    a stage fails on frame after frame        storm     workers die again and again
    quarantine  a frame killed its workers                no_face   nobody seen for long
    low_disk    little room where the output goes
    p99         frames of a live run grow too old         latency   stages need longer than allowed
    reconnect   a stream was lost, or is back

Each is a line in the log that starts with ``alert:``, a count in the report, and, where the user
gave one, a command that gets it as JSON: at once, but at most one of a kind every ten seconds, the
latest, with a count of those in between.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpflow.alertcommand import AlertCommands, command_words
from mpflow.diskwatch import DiskWatch
from mpflow.urls import hide_credentials

EVERY_S = 10.0
"""The command is run for one alert of a kind in this time."""

FAILURES = 3
FAILURES_WITHIN_S = 60.0
"""So many failures of a stage within so many seconds are an alert."""

LONGEST_TEXT = 2000

MOST_KINDS = 64
"""Stages name kinds of their own; what comes after so many is counted as ``other``."""

Note = Callable[[str, str, int], None]
"""Logs a line: level, text, frame (-1: none)."""


@dataclass(slots=True)
class _Kind:
    """One kind of alert: when the command last got one, and what waits since."""

    sent: float | None = None
    held: dict[str, Any] | None = None
    between: int = 0


@dataclass(slots=True)
class _Failures:
    """A stage's last failures, in seconds, and whether that was told."""

    moments: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    total: int = 0
    told: float | None = None


class Alerts:
    """Takes what happens and the clock, both from the supervisor's loop; never waits."""

    def __init__(self, command: str, run: str, note: Note) -> None:
        """``command`` is the user's, empty for none; raises ConfigError when it cannot be run."""
        words = command_words(command)
        self._commands = None
        if words:
            self._commands = AlertCommands(words, lambda text: note("warning", text, -1))
        self._run = run
        self._note = note
        self._kinds: defaultdict[str, _Kind] = defaultdict(_Kind)
        self._failures: defaultdict[str, _Failures] = defaultdict(_Failures)
        self._counts: Counter[str] = Counter()
        self._disk: DiskWatch | None = None

    def raise_(  # noqa: PLR0913 - one name for each fact
        self,
        kind: str,
        text: str,
        *,
        job: str = "",
        stage: str = "",
        frame: int = -1,
        now: float | None = None,
        **facts: Any,
    ) -> None:
        """Log an alert, count it, and give it to the command, now or later."""
        if len(self._counts) >= MOST_KINDS and kind not in self._counts:
            kind = "other"
        self._counts[kind] += 1
        text = hide_credentials(text)
        self._note("warning", f"alert: {text}", frame)
        if self._commands is None:
            return
        state = self._kinds[kind]
        state.between += state.held is not None
        state.held = {
            "kind": kind,
            "text": text[:LONGEST_TEXT],
            "run": self._run,
            "job": job,
            "stage": stage,
            "frame": frame if frame >= 0 else None,
            "time": round(time.time(), 3),
            **facts,
        }
        self._send(kind, state, time.monotonic() if now is None else now)

    def failed(self, stage: str, text: str, *, job: str, frame: int, now: float) -> None:
        """Take in that a stage has failed on a frame; alone that is no alert, again and again is.

        Told once, and again each minute in which it goes on.
        """
        state = self._failures[stage]
        state.moments.append(now)
        state.total += 1
        often = len(state.moments) == FAILURES and now - state.moments[0] <= FAILURES_WITHIN_S
        if often and (state.told is None or now - state.told >= FAILURES_WITHIN_S):
            state.told = now
            what = f"stage {stage} has failed {state.total} times, the last time with: {text}"
            self.raise_(
                "failures", what, job=job, stage=stage, frame=frame, now=now, count=state.total
            )

    def watch_disk(self, folder: Path | None, limit_mib: int) -> None:
        """From now on look at the room in this folder's file system; None looks at nothing."""
        self._disk = None if folder is None or not limit_mib else DiskWatch(folder, limit_mib)

    def tick(self, now: float) -> None:
        """Look at the disk, see commands off, and send what was held back for long enough."""
        if self._disk is not None and (text := self._disk.look(now)) is not None:
            self.raise_("low_disk", text, now=now, free_mib=self._disk.free_mib)
        if self._commands is None:
            return
        self._commands.tick(now)
        for kind, state in self._kinds.items():
            self._send(kind, state, now)

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind was raised so far in this job."""
        return dict(self._counts)

    def take_counts(self) -> dict[str, int]:
        """How often each kind was raised since the last call: one job's worth."""
        counts, self._counts = dict(self._counts), Counter()
        return counts

    def close(self) -> None:
        """Send what is held back, and give the commands a moment to end."""
        if self._commands is not None:
            self._commands.tick(time.monotonic())
            for kind, state in self._kinds.items():
                self._send(kind, state, None)
            self._commands.close()

    def _send(self, kind: str, state: _Kind, now: float | None) -> None:
        """Give the command what is held back, if it is time (None: it is)."""
        if self._commands is None or state.held is None or self._commands.runs(kind):
            return
        if now is not None and state.sent is not None and now - state.sent < EVERY_S:
            return
        alert, between = state.held, state.between
        state.held, state.between, state.sent = None, 0, now
        self._commands.start(
            kind, {**alert, "suppressed": between}, time.monotonic() if now is None else now
        )
