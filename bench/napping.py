"""Stages that take a set time over each frame and no CPU: what is left is the pipeline's own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from mpflow.frame import Frame
from mpflow.spec import (
    BEGINNING,
    JobSpec,
    MediaInfo,
    Place,
    SinkSummary,
    SourceSummary,
    VideoInfo,
)
from mpflow.stage import Job, Options, Picture, Sink, Source, Stage, Work
from mpflow.tokens import Token


class BlankOptions(Options, frozen=True):
    """How many frames, and how large."""

    frames: int = 100
    width: int = 64
    height: int = 48


class Blank(Source[BlankOptions]):
    """Frames that nobody has filled."""

    Options = BlankOptions
    options: BlankOptions

    def probe(self, job: JobSpec) -> MediaInfo:
        o = self.options
        size = o.width, o.height
        video = VideoInfo(0, "blank", *size, "yuv420p", "yuv420p", (1, 25), frames=o.frames)
        return MediaInfo(job.input, "blank", video)

    def begin(self, job: Job) -> None:
        self._given = 0

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number in range(place.frame, self.options.frames):
            self._given = number + 1
            yield Picture(number, (1, 25), 1, number == 0, lambda frame: None)

    def end(self) -> SourceSummary:
        return SourceSummary(self._given, expected=self.options.frames)


class NapOptions(Options, frozen=True):
    """Milliseconds a frame."""

    ms: float = 1.0


class Nap(Stage[NapOptions]):
    """Sleeps over each frame."""

    Options = NapOptions
    options: NapOptions

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            time.sleep(self.options.ms / 1000)  # the work itself
            yield work.token


class Count(Sink[Options]):
    """Counts frames, and checks their order."""

    def begin(self, job: Job) -> None:
        self._frames = 0

    def write(self, token: Token, frame: Frame) -> None:
        if token.seq != self._frames:
            raise ValueError(f"frame {token.seq} came where {self._frames} was due")
        self._frames += 1

    def finish(self, *, complete: bool) -> SinkSummary:
        return SinkSummary(self._frames, complete=complete)
