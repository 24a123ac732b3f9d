"""Stages from outside mpflow: a synthetic source and sink, and middle stages with set habits.

They are named ``foreign_stages:Class`` in presets, as a user's own would be.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from mpflow.errors import ConfigError, InputError
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


class NumbersOptions(Options, frozen=True):
    """How many frames, and how large."""

    frames: int = 20
    width: int = 64
    height: int = 48
    fail_at: int = -1
    delay_ms: float = 0


class Numbers(Source[NumbersOptions]):
    """Frame n is filled with the value n. Reads nothing; refuses an input called ``bad``, and
    never answers about one called ``silent``."""

    Options = NumbersOptions
    options: NumbersOptions

    def probe(self, job: JobSpec) -> MediaInfo:
        if Path(job.input).name.startswith("bad"):
            raise InputError(f"{job.input!r} is bad", cure="name it otherwise")
        if Path(job.input).name.startswith("silent"):
            signal.pause()
        o = self.options
        video = VideoInfo(
            0, "numbers", o.width, o.height, "yuv420p", "yuv420p", (1, 25), frames=o.frames
        )
        return MediaInfo(job.input, "numbers", video)

    def begin(self, job: Job) -> None:
        self._given = 0

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number in range(place.frame, self.options.frames):
            if number == self.options.fail_at:
                raise ValueError(f"cannot give frame {number}")
            self._given = number + 1
            time.sleep(self.options.delay_ms / 1000)  # a source that gives so many frames a second
            yield Picture(number, (1, 25), 1, number == 0, lambda frame, n=number: fill(frame, n))

    def end(self) -> SourceSummary:
        return SourceSummary(self._given, expected=self.options.frames)


def fill(frame: Frame, number: int) -> None:
    for plane in frame.fill_planes():
        plane[...] = number % 256


class Huge(Numbers):
    """Says that its pictures are larger than any ring can hold."""

    def probe(self, job: JobSpec) -> MediaInfo:
        media = super().probe(job)
        video = msgspec.structs.replace(media.video, width=1 << 24, height=1 << 24)
        return msgspec.structs.replace(media, video=video)


class Broken(Numbers):
    """Answers a probe with what no supervisor expects: a fault of the supervisor's own follows."""

    def probe(self, job: JobSpec) -> MediaInfo:
        media = super().probe(job)
        return msgspec.structs.replace(
            media, video=msgspec.structs.replace(media.video, width="wide")
        )


class TintOptions(Options, frozen=True):
    """What is added to the picture, and a trap: at frame ``at`` do what ``habit`` says."""

    add: int = 100
    habit: str = ""
    at: int = -1
    delay_ms: float = 0
    pid_file: str = ""


class Tint(Stage[TintOptions]):
    """Adds a constant to a corner of the luma plane and notes it in a token field of its own."""

    Options = TintOptions
    options: TintOptions
    changes_pixels = True

    def open(self) -> None:
        if self.options.habit == "no-start":
            raise RuntimeError("cannot start")
        if self.options.pid_file:
            Path(self.options.pid_file).write_text(str(os.getpid()))

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            time.sleep(self.options.delay_ms / 1000)  # a stage that takes so long a frame
            if work.token.seq == self.options.at:
                self._misbehave()
            self._tint(work.frame)
            yield work.token.with_field("foreign.tint", self.options.add)

    def end(self) -> None:
        if self.options.habit == "no-end":
            raise RuntimeError("cannot end")

    def _tint(self, frame: Frame) -> None:
        (region,) = frame.edit([(0, 0, 16, 16)])
        region.planes[0][...] += self.options.add

    def _misbehave(self) -> None:
        match self.options.habit:
            case "raise":
                raise ValueError("a habit")
            case "exit":
                os._exit(7)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                signal.pause()


class HoardOptions(Options, frozen=True):
    """How many frames are held back, and how many are declared; ``heeds``: as there is room."""

    keep: int = 3
    declare: int = 3
    least: int | None = None
    heeds: bool = False
    flushes: bool = True


class Hoard(Stage[HoardOptions]):
    """Holds frames back and gives the oldest on, as a stage that looks ahead does."""

    Options = HoardOptions
    options: HoardOptions
    ordered = True

    @property
    def holds(self) -> int:
        return self.options.declare

    @property
    def least_holds(self) -> int:
        return self.options.declare if self.options.least is None else self.options.least

    def begin(self, job: Job) -> None:
        self._kept: list[Token] = []

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        self._kept.extend(work.token for work in batch)
        while len(self._kept) > (self.may_hold if self.options.heeds else self.options.keep):
            yield self._kept.pop(0)

    def flush(self) -> Iterable[Token]:
        while self._kept and self.options.flushes:
            yield self._kept.pop(0)


class ClingOptions(Options, frozen=True):
    """Nothing to set."""


class Cling(Stage[ClingOptions]):
    """Keeps a plane of every frame beyond its lease, which the contract forbids."""

    Options = ClingOptions
    options: ClingOptions

    def open(self) -> None:
        self._planes: list[np.ndarray] = []

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            self._planes.append(work.frame.planes[0][:2])
            yield work.token


class TallyOptions(Options, frozen=True):
    """A trap: at frame ``fail_at`` raise. ``begin_ms``: how long opening the output takes."""

    fail_at: int = -1
    begin_ms: float = 0


class Tally(Sink[TallyOptions]):
    """Writes one JSON line a frame: its number, pts, fields, corner pixel and the rest's mean."""

    Options = TallyOptions
    options: TallyOptions

    def begin(self, job: Job) -> None:
        time.sleep(self.options.begin_ms / 1000)
        self._job = job.spec
        self._frames = 0
        self._lines: list[str] = []

    def write(self, token: Token, frame: Frame) -> None:
        if token.seq == self.options.fail_at:
            raise OSError("cannot write this one")
        luma = frame.planes[0]
        line = {
            "seq": token.seq,
            "pts": token.pts,
            "fields": dict(token.fields),
            "corner": int(luma[0, 0]),
            "body": int(luma[-1, -1]),
            "stages": [stamp.stage for stamp in token.stamps],
        }
        self._lines.append(json.dumps(line) + "\n")
        self._frames += 1

    def finish(self, *, complete: bool) -> SinkSummary:
        path = Path(self._job.output if complete else self._job.partial)
        path.write_text("".join(self._lines), encoding="utf-8")
        return SinkSummary(self._frames, str(path), path.stat().st_size, complete)


class Twice(Cling):
    """Gives every token twice."""

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            yield work.token
            yield work.token


class Swallow(Cling):
    """Never gives a token."""

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        return ()


class Crowd(Stage[ClingOptions]):
    """Edits a hundred boxes of every frame that overlap, as faces in a crowd do."""

    Options = ClingOptions
    options: ClingOptions
    changes_pixels = True

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            self._brighten(work.frame)
            yield work.token

    def _brighten(self, frame: Frame) -> None:
        boxes = [(x, y, x + 30, y + 30) for x in range(0, 40, 4) for y in range(0, 40, 4)]
        for region in frame.edit(boxes):
            region.planes[0][:1, :1] += 1


class Meddle(Crowd):
    """Edits frames without having declared it."""

    changes_pixels = False


class PickyOptions(Options, frozen=True):
    """How many frames an input has to have."""

    least: int = 1


class Picky(Stage[PickyOptions]):
    """Passes frames on, and takes no input of too few."""

    Options = PickyOptions
    options: PickyOptions

    @classmethod
    def check_input(cls, options: PickyOptions, job: JobSpec, media: MediaInfo) -> None:
        if (media.video.frames or 0) < options.least:
            raise ConfigError(f"{media.video.frames} frames are too few", cure="give more")

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        return [work.token for work in batch]
