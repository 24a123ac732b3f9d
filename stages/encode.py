"""The sink: encodes every frame and writes the output file, everything else copied beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from mpflow.errors import InternalError
from mpflow.spec import BEGINNING, REDACTED, JobSpec, Making, Place, SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.media.encoder import Settings
    from mpflow.media.onechunk import ChunkWriter
    from mpflow.media.request import Request
    from mpflow.media.writer import MediaWriter


class EncodeOptions(Options, frozen=True):
    """How the picture is coded, and what else of the input is kept.

    ``crf`` and ``encoder_preset`` are the encoder's own scales; None takes a default fit for the
    codec (18 and veryfast for libx264). ``encoder_options`` go to the encoder as they are.
    ``keep_streams`` keeps pictures that were not worked on (cover art, further video tracks);
    ``keep_metadata`` keeps tags (titles are some), data tracks and attachments, which may tell of
    people and places; without it chapters are numbered. ``note`` goes into the file's comment,
    whatever else is kept. ``made`` is set where stages make faces, and by them alone: the file says
    so in its comment and tags, and ``producer`` is whom it names as its maker: a name or code of
    whoever offers the service. Pictures are coded in chunks of about ``chunk_seconds``, each begun
    with a key frame: what is lost at most when a run is killed.
    """

    codec: str = "libx264"
    crf: float | None = None
    encoder_preset: str | None = None
    encoder_options: dict[str, str] = msgspec.field(default_factory=dict)
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0
    keep_streams: bool = True
    keep_metadata: bool = True
    note: str = ""
    made: Making = ""
    producer: str = "mpflow"
    chunk_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=60)] = 2.0


class Encode(Sink[EncodeOptions]):
    """Encodes from the ring without a copy; the file has its final name only when it is whole."""

    Options: ClassVar[type[Options]] = EncodeOptions
    private_options: ClassVar[Mapping[str, Any]] = {"keep_streams": False, "keep_metadata": False}
    redacted_options: ClassVar[Mapping[str, Any]] = {"note": REDACTED}
    made_option: ClassVar[str] = "made"
    advice = "a faster preset or a hardware encoder would help"
    restartable = True
    _writer: MediaWriter | ChunkWriter | None = None

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
        from mpflow.media.onechunk import ChunkWriter
        from mpflow.media.writer import MediaWriter

        self.close()
        context = self.context
        request = self._request(job.spec, go_on=job.spec.resume or job.spec.chunk)
        writer: MediaWriter | ChunkWriter
        if job.spec.chunk:
            writer = ChunkWriter(job, request, context.warn, self._before_keeping)
        else:
            writer = MediaWriter(job, request, context.warn, context.building, self._before_keeping)
        writer.open()
        self._writer = writer
        context.report("encoder", self.options.codec)

    def write(self, token: Token, frame: Frame) -> None:
        """Encode the next frame."""
        self._opened().write(token, frame)

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the output; ``complete`` gives it its final name."""
        return self._opened().finish(complete=complete)

    def claim(self, job: Job) -> None:
        """Note in the parts of a job what its chunks are made of, or compare.

        For chunks made one by one; raises Refused that names what differs.
        """
        from mpflow.media.onechunk import claim_chunks

        claim_chunks(job, self._request(job.spec, go_on=True), self.context.warn)

    def join(self, job: Job, ranges: Sequence[tuple[int, int]] | None = None) -> SinkSummary:
        """Make a job's output of chunks made one by one: those of ``ranges``, or all there are.

        Raises Refused that names what is missing or was made of something else.
        """
        from mpflow.media.joining import join_chunks

        request = self._request(job.spec, go_on=True)
        return join_chunks(job, request, ranges, self.context.warn)

    def close(self) -> None:
        """Close whatever is still open, keeping what can be played."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _before_keeping(self, stop: int) -> None:
        """The pipeline may say only after ``begin`` who wants to know."""
        if self.before_keeping is not None:
            self.before_keeping(stop)

    def _request(self, job: JobSpec, *, go_on: bool) -> Request:
        """How the job is written; to go on, with the threads that its parts were made with."""
        from mpflow.media.checkpoint import kept_threads
        from mpflow.media.parts import parts_folder
        from mpflow.media.request import Keep, Request
        from mpflow.provenance.tags import declaration_of

        options, settings = self.options, self._settings
        if go_on and not options.threads and not self.holds:
            settings = replace(
                settings, threads=kept_threads(parts_folder(job)) or settings.threads
            )
        said = declaration_of(options.made, options.producer)
        keep = Keep(options.keep_streams, options.keep_metadata, options.note, said)
        return Request(settings, keep, options.chunk_seconds)

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

    def _opened(self) -> MediaWriter | ChunkWriter:
        if self._writer is None:
            raise InternalError("encode was used before begin")
        return self._writer
