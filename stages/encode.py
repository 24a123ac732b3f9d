"""The sink: encodes every frame and writes the output file, everything else copied beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from mpflow.errors import InternalError
from mpflow.spec import BEGINNING, JobSpec, Place, SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.media.encoder import Settings
    from mpflow.media.writer import MediaWriter, Plan


class EncodeOptions(Options, frozen=True):
    """How the picture is coded, and what else of the input is kept.

    ``crf`` and ``encoder_preset`` are the encoder's own scales; None takes a default fit for the
    codec (18 and veryfast for libx264). ``encoder_options`` go to the encoder as they are.
    ``keep_streams`` keeps pictures that were not worked on (cover art, further video tracks);
    ``keep_metadata`` keeps tags (titles are some), data tracks and attachments, which may tell of
    people and places; without it chapters are numbered. Pictures are coded in chunks of about
    ``chunk_seconds``, each begun with a key frame: what is lost at most when a run is killed.
    """

    codec: str = "libx264"
    crf: float | None = None
    encoder_preset: str | None = None
    encoder_options: dict[str, str] = msgspec.field(default_factory=dict)
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0
    keep_streams: bool = True
    keep_metadata: bool = True
    chunk_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=60)] = 2.0


class Encode(Sink[EncodeOptions]):
    """Encodes from the ring without a copy; the file has its final name only when it is whole."""

    Options: ClassVar[type[Options]] = EncodeOptions
    private_options: ClassVar[Mapping[str, Any]] = {"keep_streams": False, "keep_metadata": False}
    restartable: ClassVar[bool] = True
    _writer: MediaWriter | None = None

    @property
    def holds(self) -> int:
        """Slots whose pixels the encoder may still use after ``write``: its frame threads'."""
        from mpflow.media.encoder import held_pictures

        return held_pictures(self._settings)

    @property
    def kept(self) -> Place:
        """The first frame that is not durable, and the time stamp of the one before it."""
        return self._writer.kept if self._writer is not None else BEGINNING

    def begin(self, job: Job) -> None:
        """Open the output under its partial name, or go on with what an earlier run left.

        Raises before anything is left behind; Refused where that was made of something else.
        """
        from mpflow.media.writer import MediaWriter

        self.close()
        writer = MediaWriter(
            job,
            self._plan(job.spec),
            self.context.warn,
            self.context.building,
            self.before_keeping,
        )
        writer.open()
        self._writer = writer
        self.context.report("encoder", self.options.codec)

    def write(self, token: Token, frame: Frame) -> None:
        """Encode the next frame."""
        self._opened().write(token, frame)

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the output; ``complete`` gives it its final name."""
        return self._opened().finish(complete=complete)

    def close(self) -> None:
        """Close whatever is still open, keeping what can be played."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _plan(self, job: JobSpec) -> Plan:
        from mpflow.media.opening import Keep
        from mpflow.media.writer import Plan

        options = self.options
        keep = Keep(options.keep_streams, options.keep_metadata)
        return Plan(self._settings, keep, options.chunk_seconds)

    @property
    def _settings(self) -> Settings:
        from mpflow.media.encoder import Settings, threads_for

        options = self.options
        return Settings(
            codec=options.codec,
            crf=options.crf,
            preset=options.encoder_preset,
            options=options.encoder_options,
            threads=options.threads or threads_for(options.codec, self.context.threads),
        )

    def _opened(self) -> MediaWriter:
        if self._writer is None:
            raise InternalError("encode was used before begin")
        return self._writer
