"""What is asked of an output: how its pictures are coded, what is kept, how it is cut."""

from __future__ import annotations

from dataclasses import dataclass, field

from mpflow.media.declaration import SILENT, Declaration
from mpflow.media.encoder import Settings
from mpflow.media.ranges import Frames, Span
from mpflow.media.span import span_of
from mpflow.spec import JobSpec, MediaInfo


@dataclass(frozen=True, slots=True)
class Keep:
    """Whether pictures that were not worked on, and tags about people and places, are kept; and
    what the file says in any case: a ``note`` in its comment, and what else is ``said``."""

    streams: bool = True
    metadata: bool = True
    note: str = ""
    said: Declaration = SILENT


@dataclass(frozen=True, slots=True)
class Request:
    """How a job is written: the encoder's settings, what is kept, and seconds in a chunk."""

    settings: Settings
    keep: Keep = field(default_factory=Keep)
    chunk_seconds: float = 2.0


def wanted_span(job: JobSpec, media: MediaInfo) -> Span | None:
    """The time of the frames that are wanted; None where that is all of them.

    Raises ConfigError for frames that the input does not have.
    """
    wanted = Frames(job.start, job.stop)
    return span_of(job.input, media, wanted) if wanted.some else None
