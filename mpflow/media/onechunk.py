"""Writing a single chunk, for a machine that makes only some frames of an output.

    frame -> chunking -> parts/SSSSSSSSS-TTTTTTTTT.nut      numbered and timed as in the input

Several machines share the parts; each chunk is made under a name of its own and then renamed, so
that two which make the same one do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import av

from mpflow.errors import ConfigError, InternalError
from mpflow.frame import Frame
from mpflow.media.checkpoint import Key, claim, make_key
from mpflow.media.chunkfile import chunk_kind
from mpflow.media.chunking import Chunking, Grid
from mpflow.media.chunks import chunk_name
from mpflow.media.coder import Coder
from mpflow.media.opening import Opening
from mpflow.media.output import OutputFile, parts_error
from mpflow.media.parts import Parts, parts_folder
from mpflow.media.recipe import Recipe
from mpflow.media.request import Request
from mpflow.spec import BEGINNING, Job, Place, SinkSummary
from mpflow.tokens import Token


class ChunkWriter:
    """Makes the chunk of frames ``job.spec.start`` up to ``stop``, unless it is there already."""

    def __init__(
        self,
        job: Job,
        request: Request,
        warn: Callable[[str], None] = lambda text: None,
        before_keeping: Callable[[int], None] | None = None,
    ) -> None:
        if job.spec.stop is None:
            raise ConfigError("a chunk needs its last frame", cure="say which frames it is for")
        self._job = job
        self._request = request
        self._warn = warn
        self._start, self._stop = job.spec.start, job.spec.stop
        self._parts = Parts(parts_folder(job.spec), before_keeping)
        self._chunking: Chunking | None = None
        self._done: SinkSummary | None = None

    @property
    def kept(self) -> Place:
        """All frames or none."""
        if not self._parts.chunks:
            return BEGINNING
        return Place(self._stop - self._start, self._parts.kept.after)

    def open(self) -> None:
        """Check everything; raises ConfigError, InputError, Refused, OutputError."""
        recipe, key = recipe_of(self._job, self._request, self._warn)
        self._parts.share(key, self._start, self._stop)
        kind = chunk_kind(recipe, OutputFile(self._job.spec).final.suffix.lstrip("."))
        coder = Coder(recipe, kind, self._parts, self._request.settings)
        self._chunking = Chunking(self._parts, coder, Grid(self._stop - self._start, self._start))

    def write(self, token: Token, frame: Frame) -> None:
        """Code one frame."""
        with self._explained():
            self._opened().write(token, frame)

    def finish(self, *, complete: bool) -> SinkSummary:
        """Keep the chunk, if it is whole. Safe to call again."""
        if self._done is None:
            chunking = self._opened()
            try:
                with self._explained():
                    if complete and not self._parts.chunks:
                        chunking.finish(self._stop - self._start)
            finally:
                self._leave()
            self._done = self._summary()
        return self._done

    def close(self) -> None:
        """Remove what is not whole."""
        self._leave()

    def _summary(self) -> SinkSummary:
        for chunk in self._parts.chunks:
            path = str(self._parts.folder / chunk.name)
            return SinkSummary(chunk.pictures, path, chunk.size)
        return SinkSummary(0, complete=False, playable=False)

    def _leave(self) -> None:
        if self._chunking is not None:
            self._chunking.close()
        self._chunking = None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (av.FFmpegError, OSError) as error:
            if isinstance(error, OSError):
                raise parts_error(self._parts.folder, error) from error
            path = self._parts.folder / chunk_name(self._start, self._stop, "nut")
            raise InternalError(f"{str(path)!r} could not be written: {error}") from error

    def _opened(self) -> Chunking:
        if self._chunking is None:
            raise InternalError("the chunk is not open")
        return self._chunking


def claim_chunks(job: Job, request: Request, warn: Callable[[str], None]) -> None:
    """Note in a job's parts what its chunks are made of, or compare; raises Refused."""
    claim(parts_folder(job.spec), recipe_of(job, request, warn)[1])


def recipe_of(job: Job, request: Request, warn: Callable[[str], None]) -> tuple[Recipe, Key]:
    """How the chunks of a job are coded for a farm, and the key they all have."""
    opening = Opening(job.media, request.settings, request.keep, warn)
    recipe = opening.recipe(OutputFile(job.spec), job.spec.input)
    return recipe, make_key(job.spec, job.media, {"encoder": recipe.facts()})
