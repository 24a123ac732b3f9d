"""Ends of live runs for tests: a camera that never waits, and a screen that notes what it is shown.

The camera's pictures are due by the clock, whether anybody has room for them or not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from foreign_stages import Numbers, NumbersOptions, fill
from trap_stages import Trap, TrapOptions

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, MediaInfo, Place, SinkSummary, SourceSummary
from mpflow.stage import Job, JobSpec, Picture, Sink
from mpflow.tokens import Token

NS = 1_000_000_000


class CameraOptions(NumbersOptions, frozen=True):
    """``fps`` pictures a second; those of ``burst`` (first, last) are due all at once.

    Before picture ``silent_at`` nothing comes until the FIFO gate-silent in ``once`` is opened.
    """

    fps: float = 100.0
    burst: tuple[int, ...] = ()
    silent_at: int = -1
    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""
    step: str = ""
    nth: int = 1


class Camera(Trap, Numbers):
    """Gives numbered pictures by the clock, from wherever its number stands."""

    Options = CameraOptions
    options: CameraOptions
    live = True

    def probe(self, job: JobSpec) -> MediaInfo:
        return super().probe(job)

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.arm(job)

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        began, late = time.monotonic_ns() - self._due(place.frame), 0
        for number in range(place.frame, self.options.frames):
            self.spring(number)
            if number == self.options.silent_at:
                silent = time.monotonic_ns()
                self._wait_for_gate()
                late = time.monotonic_ns() - silent
            due = began + late + self._due(number)
            if not self._wait_until(due):
                return
            yield Picture(number, (1, 1000), 10, True, partial(self._fill, number), arrived=due)
            self._given += 1

    def end(self) -> SourceSummary:
        return SourceSummary(self._given)

    def _due(self, number: int) -> int:
        """When a picture is due, in nanoseconds after the first."""
        if self.options.burst and self.options.burst[0] <= number <= self.options.burst[1]:
            number = self.options.burst[0]
        return int(number / self.options.fps * NS)

    def _wait_until(self, moment: int) -> bool:
        while (left := moment - time.monotonic_ns()) > 0:
            with self.context.waiting():
                time.sleep(min(left / NS, 0.1))  # the camera's clock
            if self.context.leaving():
                return False
        return not self.context.leaving()

    def _wait_for_gate(self) -> None:
        with self.context.waiting():
            (Path(self.options.once) / "gate-silent").open("rb").read()

    @staticmethod
    def _fill(number: int, frame: Frame) -> None:
        fill(frame, number)


class ScreenOptions(TrapOptions, frozen=True):
    """How long each picture takes to be shown; those of ``away`` (first, last) are not."""

    delay_ms: float = 0
    away: tuple[int, ...] = ()


class Screen(Trap, Sink[ScreenOptions]):
    """Writes one JSON line a frame: number, age, mode, degradations. A successor appends."""

    Options = ScreenOptions
    options: ScreenOptions
    live = True
    restartable = True

    def begin(self, job: Job) -> None:
        self.arm(job)
        self._file = Path(job.spec.output).open("a", encoding="utf-8")  # noqa: SIM115
        self._shown = 0
        self.rests = 0

    def write(self, token: Token, frame: Frame) -> str | None:
        away = self.options.away
        if away and away[0] <= token.seq <= away[1]:
            return "nobody is there"
        row: dict[str, Any] = {
            "seq": token.seq,
            "age_ms": (time.monotonic_ns() - token.born) / 1e6,
            "mode": token.mode,
            "degradations": token.degradations,
            "ops": [stamp.stage for stamp in token.stamps],
        }
        self.spring(token.seq)
        time.sleep(self.options.delay_ms / 1000)  # a screen that takes so long a frame
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        self._shown += 1
        return None

    def rest(self) -> None:
        self.rests += 1

    def finish(self, *, complete: bool) -> SinkSummary:
        self._file.close()
        return SinkSummary(self._shown, complete=complete)
