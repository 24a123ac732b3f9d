"""A camera by the clock and a screen that takes no time, for what live runs cost and how old frames
grow in them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from napping import Blank, BlankOptions

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, Place, SinkSummary
from mpflow.stage import Job, Options, Picture, Sink
from mpflow.tokens import Token

NS = 1_000_000_000


class TickOptions(BlankOptions, frozen=True):
    """Pictures a second."""

    fps: float = 30.0


class Tick(Blank):
    """Pictures that nobody has filled, each at its time, whether there is room for it or not."""

    Options = TickOptions
    options: TickOptions
    live = True

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        began = time.monotonic_ns() - int(place.frame / self.options.fps * NS)
        for number in range(place.frame, self.options.frames):
            due = began + int(number / self.options.fps * NS)
            while (left := due - time.monotonic_ns()) > 0:
                with self.context.waiting():
                    time.sleep(min(left / NS, 0.1))
                if self.context.leaving():
                    return
            self._given = number + 1
            yield Picture(number, (1, 1000), 1, True, lambda frame: None, arrived=due)


class Look(Sink[Options]):
    """Takes every frame, in whatever gaps they come."""

    live = True
    restartable = True

    def begin(self, job: Job) -> None:
        self._frames = 0

    def write(self, token: Token, frame: Frame) -> None:
        self._frames += 1

    def finish(self, *, complete: bool) -> SinkSummary:
        return SinkSummary(self._frames, complete=complete)
