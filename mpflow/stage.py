"""The contract between a stage and the pipeline. A new stage is one file that follows it.

    source:  probe -> begin -> pictures ... (pictures ...) -> end          (decode)
    stage:   open -> begin -> (recall) -> process ... flush -> end -> close
    sink:    open -> begin -> write ... -> finish -> close   (encode)

``open`` and ``close`` run once per worker, ``begin`` and ``end`` once per job, so models stay
loaded from file to file. One thread calls a stage; it never sees the ring. A frame it is given
is valid until the stage gives that frame's token back; a plane kept longer is an error.

A worker may die at any moment and be replaced: the new one runs ``open`` and ``begin`` and gets
the dead one's frames as they were. When the sink is replaced, everything after its last durable
frame is made again: the source's ``pictures`` is called again from there, and a stage that holds
frames back gets a new ``begin``.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from mpflow.spec import BEGINNING, Job, JobSpec, MediaInfo, Place, SinkSummary, SourceSummary
from mpflow.tokens import Token

if TYPE_CHECKING:  # reading a stage's options must not load what works with pixels
    from mpflow.frame import Frame

__all__ = [
    "ANYTHING",
    "Job",
    "Options",
    "Picture",
    "Place",
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

MAX_WAIT_MS = 15.0
"""How long a batch waits for more frames unless its stage says otherwise."""


@dataclass(frozen=True, slots=True)
class StageContext:
    """What a worker tells its stage: who it is, how many threads it may use, where to report.

    ``report`` keeps a fact for the run's report (the provider that ran, say); ``warn`` shows a
    sentence to the user, once for each text; ``offline`` forbids the network. Work inside
    ``building()`` (an engine that is built, a model that is fetched) is never taken for a hang,
    and neither is a wait for the world outside inside ``waiting()`` (a network input that is
    silent, an output that does not take more), which counts as time waited. ``count`` adds to a
    counter of the worker's (one of mpflow.metrics.COUNTERS, ``reconnects`` say). ``alert`` tells
    of something that a person should know: its kind, and a sentence. ``leaving`` says that the
    job is to end: a stage that waits for the world outside asks it between short waits.
    """

    name: str
    worker: int = 0
    workers: int = 1
    threads: int = 1
    offline: bool = False
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("mpflow"))
    report: Callable[[str, Any], None] = lambda key, value: None
    warn: Callable[[str], None] = lambda text: None
    building: Callable[[], AbstractContextManager[None]] = nullcontext
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    count: Callable[[str, int], None] = lambda counter, more: None
    alert: Callable[[str, str], None] = lambda kind, text: None
    leaving: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Work:
    """One frame in a batch: its token and its pixels. ``alone`` marks a suspect's retry."""

    token: Token
    frame: Frame
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture the source still holds privately; ``fill`` copies it into a slot.

    ``arrived`` is when a live input had it, in nanoseconds of the monotonic clock: its age counts
    from there. None is the moment the source began to look for it.
    """

    pts: int | None
    time_base: tuple[int, int]
    duration: int
    key: bool
    fill: Callable[[Frame], None]
    arrived: int | None = None


class _Base(ABC, Generic[O_co]):
    """What every kind of stage shares."""

    Options: ClassVar[type[Options]] = Options

    needs: ClassVar[tuple[str, ...]] = ()
    """What earlier stages must have put on the token, such as ``faces``."""

    gives: ClassVar[tuple[str, ...]] = ()
    """What this stage puts on the token; ``ANYTHING`` stands for all there is."""

    advice: ClassVar[str] = "more workers, or a faster machine, would help"
    """What a user can do when this stage is the limit, as the end of a sentence."""

    made_option: ClassVar[str] = ""
    """Its option that has the output say how faces in it were made (``mpflow.spec.Making``); set
    where stages make faces, and by nobody else."""

    live: ClassVar[bool] = False
    """Whether it is an end of a live run: a stream that cannot be asked for again."""

    @classmethod
    def needs_with(cls, options: Any) -> tuple[str, ...]:
        """What it needs with these ``Options``; ``needs``, unless some of them ask for more."""
        return cls.needs

    @classmethod
    def check_input(cls, options: Any, job: JobSpec, media: MediaInfo) -> None:
        """Raise ConfigError where these ``Options`` ask for what an input does not have.

        Asked once the input is known and before a frame of it is decoded, in the supervisor's
        process: no file is to be opened here.
        """

    def __init__(self, options: O_co, context: StageContext) -> None:
        self.options = options
        self.context = context

    def open(self) -> None:
        """Load models and libraries. Runs once per worker; may take long."""

    def close(self) -> None:
        """Let go of everything ``open`` took. Runs also after an error."""


class Source(_Base[O_co]):
    """The first stage: reads an input and gives pictures.

    A ``live`` one may keep its connection open from ``probe`` to ``begin``. It leaves the iterator
    of ``pictures`` at once when ``Job``'s end is ordered: whatever it waits for, it waits in short
    steps, inside ``context.waiting()``, and asks ``context.leaving`` between them.
    """

    @abstractmethod
    def probe(self, job: JobSpec) -> MediaInfo:
        """Look at the input without decoding it all; raises InputError that names the cure."""

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Open the input."""

    @abstractmethod
    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        """Every picture of the job from ``place`` on, in presentation order.

        May be called again, for any place, when what was given after it has to be made again. The
        same frame always has the same number, pixels and time stamp.
        """

    @property
    def damaged(self) -> int:
        """Packets and pictures that were lost to damage so far."""
        return 0

    @abstractmethod
    def end(self) -> SourceSummary:
        """Close the input and say what was read. Called also when the run is stopped early.

        ``begin`` may come again for the same job, when its last frames have to be made again.
        """


class Stage(_Base[O_co]):
    """A stage in the middle: takes frames, gives them on.

    ``ordered`` asks for frames in their order (for stages with memory). ``changes_pixels`` says
    that it edits frames, through ``Frame.edit``; such a stage gives each frame on before it edits
    the next one. ``max_batch`` frames at most come in one call of ``process``; a smaller batch
    waits at most ``max_wait_ms`` for more, and not at all when nothing is on its way.
    """

    protects: ClassVar[bool] = False
    """Whether the stage hides people: a preset that has it is private unless it says otherwise."""

    protects_all: ClassVar[Mapping[str, Any]] = {}
    """Options of a stage that hides people which have to be so, or some people stay as they are."""

    makes_faces: ClassVar[bool] = False
    """Whether faces come into the picture by it that were made: what is made so says so, always."""

    marks_faces: ClassVar[bool] = False
    """Whether it marks the picture where faces in it were made; nobody leaves it out then."""

    generator: ClassVar[str] = ""
    """Which option of a stage that makes faces names a generative network; its default is none."""

    ordered: bool = False
    changes_pixels: ClassVar[bool] = False

    remembers: bool = False
    """Whether what the stage puts on tokens depends on frames before (a tracker's identities).

    A stage that only some options give a memory sets this, and ``ordered``, in ``__init__``.

    Such a stage is ordered and changes no pixels. Its faces and fields go into the analysis log;
    a frame that is made again takes them from there, and ``recall`` rebuilds the memory of a
    fresh worker.
    """

    less_ahead: ClassVar[str] = ""
    """What it costs when the stage may not keep all of ``holds`` back, as the end of a sentence."""

    room: int | None = None
    """How many frames it may keep back in this job; set before ``begin``, None for all it likes."""

    tunable: ClassVar[tuple[str, ...]] = ()
    """Names of options that may be changed while a job runs; see ``tune``."""

    @property
    def max_batch(self) -> int:
        """The most frames in one call of ``process``."""
        return 1

    @property
    def max_wait_ms(self) -> float:
        """How long a batch that is not full may wait for more frames."""
        return MAX_WAIT_MS

    def tune(self, options: Any) -> None:
        """Go on with other ``Options``, between two batches; only those in ``tunable`` differ."""
        self.options = options

    @property
    def holds(self) -> int:
        """The most frames kept between two calls of ``process`` without being given on."""
        return 0

    @property
    def least_holds(self) -> int:
        """How many of them it can do with, where memory is short; ``holds``, unless it says less.

        A stage that says less heeds ``may_hold``.
        """
        return self.holds

    @property
    def may_hold(self) -> int:
        """The most frames it may keep back in this job: ``holds``, or as many as there is room for.
        It does not change between ``begin`` and ``end``.
        """
        return self.holds if self.room is None else min(self.holds, self.room)

    @property
    def side_bytes(self) -> int:
        """The most bytes of arrays it keeps beside one picture (``Frame.attach``), by the sum of
        ``mpflow.side.bytes_for``."""
        return 0

    def begin(self, job: Job) -> None:
        """A new input starts; forget the last one."""

    def recall(self, tokens: Iterable[Token]) -> None:
        """Take up the memory of a dead worker: its finished tokens, in order, after ``begin``."""

    @abstractmethod
    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        """Work on frames; yield the new token of each that is finished.

        No array made from a frame may be alive when its token is yielded: a local variable of
        the generator counts, so do pixel work in a method of its own.

        A frame may be held back (at most ``may_hold`` of them) and its token yielded by a later
        call or by ``flush``. Each token is given on as soon as it is yielded.
        """

    def flush(self) -> Iterable[Token]:
        """No more frames will come: yield the token of every frame held back."""
        return ()

    def end(self) -> None:
        """The input is done."""


class Sink(_Base[O_co]):
    """The last stage: takes every frame in order, and keeps what the run is for.

    ``suffix`` is what the output's name ends in; empty for a video, which keeps its input's. A sink
    that fills a folder names by ``within`` the file in it that is there when all is done: that is
    its job's output, and a folder is what a user names.
    """

    suffix: ClassVar[str] = ""
    within: ClassVar[str] = ""

    shows_pixels: ClassVar[bool] = True
    """Whether anything of the pictures leaves by it; where faces are made, they have to be marked
    before."""

    private_options: ClassVar[Mapping[str, Any]] = {}
    """What a private preset sets unless it says otherwise, so that nothing else leaves."""

    redacted_options: ClassVar[Mapping[str, Any]] = {}
    """What a preset that hides people sets unless it says otherwise, so that its output says so."""

    restartable: bool = False
    """Whether a fresh worker can go on with what a dead one left: ``begin`` with ``resume`` finds
    what is durable, and ``kept`` says how far that goes. Counts as it is after ``begin``."""

    before_keeping: Callable[[int], None] | None = None
    """Called with a frame's number right before all frames below it become durable, so that what
    is known of them is on the disk first. Set by the pipeline; a restartable sink calls it."""

    recant: Callable[[Token, str], None] | None = None
    """Called with the token of a frame that ``write`` had taken and that was never delivered after
    all, and why: its connection broke. Set by the pipeline; the sink of a live run calls it, in
    ``write`` (for frames before), ``rest`` or ``finish``."""

    @property
    def holds(self) -> int:
        """The most slots whose pixels stay in use after ``write`` returns (encoder threads)."""
        return 0

    def rest(self) -> None:
        """No frame is there to be written just now. Called every quarter of a second at least."""

    @property
    def kept(self) -> Place:
        """The first frame that is not durable yet, and the time stamp of the one before it."""
        return BEGINNING

    @abstractmethod
    def begin(self, job: Job) -> None:
        """Open the output under its partial name.

        With ``job.spec.resume``, go on with what is durable of this very job; raises Refused that
        names the reason where it was made from another input, or with other settings.
        """

    @abstractmethod
    def write(self, token: Token, frame: Frame) -> str | None:
        """Take the next frame. Pixels exported by ``Frame.export`` may be used until released.

        The sink of a live run that cannot deliver it (its receiver is away) says why.
        """

    @abstractmethod
    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the output properly; ``complete`` gives it its final name."""
