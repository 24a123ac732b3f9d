"""The real redact stage, killed between two rectangles of a frame, or around its journal.

What is to be killed stands beside the output, in NAME.kills: frame to place, where a place is a
name of a shared store, or how many covers of planes were laid before it.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mpflow import cover
from mpflow.shm import steps
from mpflow.stage import Job, Work
from mpflow.stages.redact import Redact
from mpflow.tokens import Token

_BLEND = cover.blend


class KilledRedact(Redact):
    """Dies once at each place of its list."""

    def begin(self, job: Job) -> None:
        super().begin(job)
        self._marks = Path(f"{job.spec.output}.kills")
        kills = json.loads(self._marks.read_text()) if self._marks.exists() else {}
        self._places = {int(frame): place for frame, place in kills.items()}
        self._place: str | int | None = None
        cover.blend, steps.hook = self._blend, self._look

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        for work in batch:
            self._seq, self._planes_covered = work.token.seq, 0
            self._place = self._places.get(self._seq)
            yield from super().process([work])

    def _blend(self, *arguments: Any) -> None:
        self._look(self._planes_covered)
        _BLEND(*arguments)
        self._planes_covered += 1

    def _look(self, place: str | int) -> None:
        if place != self._place:
            return
        mark = self._marks.with_suffix(f".{self._seq}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
