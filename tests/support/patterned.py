"""Frames of which no two, and no two halves, are alike; and a slow sink that checks them twice."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

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
from mpflow.stage import Job, Options, Picture, Sink, Source
from mpflow.tokens import Token

WIDTH, HEIGHT = 640, 480


class PatternsOptions(Options, frozen=True):
    """How many frames."""

    frames: int = 60


class Patterns(Source[PatternsOptions]):
    """Frame n's luma is the pattern of n."""

    Options = PatternsOptions
    options: PatternsOptions

    def probe(self, job: JobSpec) -> MediaInfo:
        frames = self.options.frames
        video = VideoInfo(
            0, "patterns", WIDTH, HEIGHT, "yuv420p", "yuv420p", (1, 25), frames=frames
        )
        return MediaInfo(job.input, "patterns", video)

    def begin(self, job: Job) -> None:
        """Nothing is read."""

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number in range(place.frame, self.options.frames):
            yield Picture(number, (1, 25), 1, number == 0, lambda frame, n=number: paint(frame, n))

    def end(self) -> SourceSummary:
        return SourceSummary(self.options.frames, expected=self.options.frames)


class ChecksOptions(Options, frozen=True):
    """How long each frame is looked at."""

    delay_ms: float = 5.0


class Checks(Sink[ChecksOptions]):
    """Checks each frame's luma against its checksum, takes its time, and checks it again."""

    Options = ChecksOptions
    options: ChecksOptions
    suffix = ".jsonl"

    def begin(self, job: Job) -> None:
        self._path = Path(job.spec.partial or job.spec.output)
        self._final = Path(job.spec.output)
        self._lines: list[str] = []

    def write(self, token: Token, frame: Frame) -> None:
        luma, right = frame.planes[0], zlib.crc32(pattern(token.seq))
        first = zlib.crc32(np.ascontiguousarray(luma)) == right
        time.sleep(self.options.delay_ms / 1000)  # a consumer that is slow
        again = zlib.crc32(np.ascontiguousarray(luma)) == right
        self._lines.append(json.dumps([token.seq, first, again]))

    def finish(self, *, complete: bool) -> SinkSummary:
        self._path.write_text("\n".join(self._lines))
        if complete:
            self._path.rename(self._final)
        path = self._final if complete else self._path
        return SinkSummary(len(self._lines), str(path), path.stat().st_size, complete)


def pattern(number: int) -> npt.NDArray[np.uint8]:
    """Pixels of one frame, [height, width]."""
    steps = np.arange(WIDTH * HEIGHT, dtype=np.uint32)
    return (steps * (2 * number + 1) + number >> 3).astype(np.uint8).reshape(HEIGHT, WIDTH)


def paint(frame: Frame, number: int) -> None:
    luma, *chroma = frame.fill_planes()
    luma[...] = pattern(number)
    for plane in chroma:
        plane[...] = 128
