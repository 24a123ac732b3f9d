"""Both ends of a live run, for tests of the command line: they only have options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, Job, JobSpec, MediaInfo, Place, SinkSummary, SourceSummary
from mpflow.stage import Options, Picture, Sink, Source
from mpflow.tokens import Token


class SpringOptions(Options, frozen=True):
    """Options as a live source has them."""

    retry: float = 30.0
    insecure: bool = False
    listen: bool = False


class Spring(Source[SpringOptions]):
    """Gives nothing."""

    Options: ClassVar[type[Options]] = SpringOptions
    live = True

    def probe(self, job: JobSpec) -> MediaInfo:
        raise NotImplementedError

    def begin(self, job: Job) -> None:
        raise NotImplementedError

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        raise NotImplementedError

    def end(self) -> SourceSummary:
        raise NotImplementedError


class DrainOptions(Options, frozen=True):
    """Options as a live sink has them."""

    retry: float = 30.0
    format: str = ""
    listen: bool = False


class Drain(Sink[DrainOptions]):
    """Takes nothing."""

    Options: ClassVar[type[Options]] = DrainOptions
    live = True

    def begin(self, job: Job) -> None:
        raise NotImplementedError

    def write(self, token: Token, frame: Frame) -> None:
        raise NotImplementedError

    def finish(self, *, complete: bool) -> SinkSummary:
        raise NotImplementedError
