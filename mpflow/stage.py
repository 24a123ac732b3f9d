"""The contract between a stage and the pipeline. A new stage is one file that follows it.

    source:  probe -> begin -> pictures ... -> end          (decode)
    stage:   open -> begin -> process ... flush -> end -> close
    sink:    open -> begin -> write ... -> finish -> close   (encode)

``open`` and ``close`` run once per worker, ``begin`` and ``end`` once per job, so models stay
loaded from file to file. One thread calls a stage; it never sees the ring. A frame it is given
is valid until the stage gives that frame's token back; a plane kept longer is an error.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from mpflow.spec import Job, JobSpec, MediaInfo, SinkSummary, SourceSummary
from mpflow.tokens import Token

if TYPE_CHECKING:  # reading a stage's options must not load what works with pixels
    from mpflow.frame import Frame

__all__ = [
    "ANYTHING",
    "Job",
    "Options",
    "Picture",
    "Sink",
    "Source",
    "Stage",
    "StageContext",
    "Work",
]


ANYTHING = "*"
"""Given by a stage that stands for all others, as in a test."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every stage's options: frozen, strict, each with a default."""


O_co = TypeVar("O_co", bound=Options, covariant=True)


@dataclass(frozen=True, slots=True)
class StageContext:
    """What a worker tells its stage: who it is, how many threads it may use, where to report.

    ``report`` keeps a fact for the run's report (the provider that ran, say); ``warn`` shows a
    sentence to the user, once for each text; ``offline`` forbids the network.
    """

    name: str
    worker: int = 0
    workers: int = 1
    threads: int = 1
    offline: bool = False
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("mpflow"))
    report: Callable[[str, Any], None] = lambda key, value: None
    warn: Callable[[str], None] = lambda text: None


@dataclass(frozen=True, slots=True)
class Work:
    """One frame in a batch: its token and its pixels. ``alone`` marks a suspect's retry."""

    token: Token
    frame: Frame
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture the source still holds privately; ``fill`` copies it into a slot."""

    pts: int | None
    time_base: tuple[int, int]
    duration: int
    key: bool
    fill: Callable[[Frame], None]


class _Base(ABC, Generic[O_co]):
    """What every kind of stage shares."""

    Options: ClassVar[type[Options]] = Options

    needs: ClassVar[tuple[str, ...]] = ()
    """What earlier stages must have put on the token, such as ``faces``."""

    gives: ClassVar[tuple[str, ...]] = ()
    """What this stage puts on the token; ``ANYTHING`` stands for all there is."""

    def __init__(self, options: O_co, context: StageContext) -> None:
        self.options = options
        self.context = context

    def open(self) -> None:
        """Load models and libraries. Runs once per worker; may take long."""

    def close(self) -> None:
        """Let go of everything ``open`` took. Runs also after an error."""


class Source(_Base[O_co]):
    """The first stage: reads an input and gives pictures."""

    @abstractmethod
    def probe(self, job: JobSpec) -> MediaInfo:
        """Look at the input without decoding it all; raises InputError that names the cure."""

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Open the input."""

    @abstractmethod
    def pictures(self) -> Iterator[Picture]:
        """Every picture, in presentation order."""

    @abstractmethod
    def end(self) -> SourceSummary:
        """Close the input and say what was read. Called also when the run is stopped early."""


class Stage(_Base[O_co]):
    """A stage in the middle: takes frames, gives them on.

    ``ordered`` asks for frames in their order (for stages with memory). ``changes_pixels`` says
    that it edits frames, through ``Frame.edit``; such a stage gives each frame on before it edits
    the next one. ``max_batch`` frames at most come in one call of ``process``; a smaller batch
    waits at most ``max_wait_ms`` for more.
    """

    protects: ClassVar[bool] = False
    """Whether the stage hides people: a preset that has it is private unless it says otherwise."""

    ordered: ClassVar[bool] = False
    changes_pixels: ClassVar[bool] = False

    @property
    def max_batch(self) -> int:
        """The most frames in one call of ``process``."""
        return 1

    @property
    def max_wait_ms(self) -> float:
        """How long a batch that is not full may wait for more frames."""
        return 0.0

    @property
    def holds(self) -> int:
        """The most frames kept between two calls of ``process`` without being given on."""
        return 0

    def begin(self, job: Job) -> None:
        """A new input starts; forget the last one."""

    @abstractmethod
    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        """Work on frames; yield the new token of each that is finished.

        No array made from a frame may be alive when its token is yielded: a local variable of
        the generator counts, so do pixel work in a method of its own.

        A frame may be held back (at most ``holds`` of them) and its token yielded by a later
        call or by ``flush``. Each token is given on as soon as it is yielded.
        """

    def flush(self) -> Iterable[Token]:
        """No more frames will come: yield the token of every frame held back."""
        return ()

    def end(self) -> None:
        """The input is done."""


class Sink(_Base[O_co]):
    """The last stage: takes every frame in order, and keeps what the run is for.

    ``suffix`` is what the output's name ends in; empty for a video, which keeps its input's.
    """

    suffix: ClassVar[str] = ""

    private_options: ClassVar[Mapping[str, Any]] = {}
    """What a private preset sets unless it says otherwise, so that nothing else leaves."""

    @property
    def holds(self) -> int:
        """The most slots whose pixels stay in use after ``write`` returns (encoder threads)."""
        return 0

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Open the output under its partial name."""

    @abstractmethod
    def write(self, token: Token, frame: Frame) -> None:
        """Take the next frame. Pixels exported by ``Frame.export`` may be used until released."""

    @abstractmethod
    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the output properly; ``complete`` gives it its final name."""
