"""Writing the output: pictures coded in chunks, each kept for good, everything else copied beside.

    frame -> chunking -> parts (it counts now) -> assembly -> NAME.partial.EXT -> NAME.EXT
                                                  copy ---^

Whatever ends a run, what is in the parts can be gone on with, and NAME.partial.EXT plays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import av

from mpflow.errors import InternalError, MpflowError
from mpflow.frame import Frame
from mpflow.media.assembly import Assembly, TooDeep
from mpflow.media.checkpoint import make_key
from mpflow.media.chunkfile import Damaged, chunk_kind
from mpflow.media.chunking import Chunking, Grid
from mpflow.media.chunks import Chunk, grid
from mpflow.media.coder import Coder
from mpflow.media.encoder import find_encoder
from mpflow.media.opening import Opening
from mpflow.media.output import OutputFile, explain_write, parts_error
from mpflow.media.parts import Parts, finished, parts_folder
from mpflow.media.recipe import Recipe
from mpflow.media.request import Request, wanted_span
from mpflow.media.salvage import left_over, no_frame_left, require_pictures
from mpflow.spec import Job, Place, SinkSummary
from mpflow.tokens import Token


class MediaWriter:
    """One output file, from its partial name to its final one.

    ``building`` is entered for what may take long; ``before_keeping`` is called before each chunk
    counts.
    """

    def __init__(
        self,
        job: Job,
        request: Request,
        warn: Callable[[str], None] = lambda text: None,
        building: Callable[[], AbstractContextManager[None]] = nullcontext,
        before_keeping: Callable[[int], None] | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._job = job.spec
        self._media = job.media
        self._request = request
        self._warn = warn
        self._building = building
        self._file = OutputFile(job.spec)
        self._parts = Parts(parts_folder(job.spec), before_keeping)
        self._chunking: Chunking | None = None
        self._assembly: Assembly | None = None
        self._failed = False
        self._place: Place | None = None
        self._done: SinkSummary | None = None

    @property
    def kept(self) -> Place:
        """The first frame that is not durable, and the time stamp of the one before it."""
        return self._place or self._parts.kept

    def open(self) -> None:
        """Check everything, go on with what there is, and write the header.

        Raises ConfigError, OutputError, InputError, Refused or ResourceError; nothing is left
        behind then that was not there before.
        """
        if self._is_finished():
            return
        find_encoder(self._request.settings.codec)
        self._file.prepare()  # first, for it tells whether another run is at work on the parts
        try:
            if not (self._job.resume or self._job.overwrite):
                self._parts.refuse_earlier(self._file.final)
            with self._building():
                self._begin()
        except BaseException:
            if self._parts.key and not self._parts.chunks:
                self._parts.remove()
            self._file.abandon()
            raise

    def write(self, token: Token, frame: Frame) -> None:
        """Code one frame. A frame of a chunk that is kept already is passed over."""
        if self._done is not None:
            return
        with self._failing():
            self._append(self._opened().write(token, frame))

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the file properly; a complete one gets its final name. Safe to call again."""
        if self._done is None:
            self._opened()
            try:
                self._done = self._complete() if complete else self._interrupted()
            finally:
                self._leave()
        return self._done

    def close(self) -> None:
        """Let go of everything; of an output that is not whole, what can be played is kept."""
        if self._chunking is not None:
            self.finish(complete=False)
        if self._done is not None and self._done.complete:
            self._parts.leave_finished()

    def _is_finished(self) -> bool:
        """Whether a sink before this one got as far as the final name."""
        mark = finished(self._parts.folder, self._file) if self._job.resume else None
        if mark is None:
            return False
        self._place = Place(mark.stop, mark.last)
        self._done = SinkSummary(mark.pictures, str(self._file.final), mark.size)
        return True

    def _begin(self) -> None:
        """Open the assembly, claim the parts, and take up what is in them."""
        recipe = self._assemble(claim=True)
        size = grid(self._request.chunk_seconds, recipe.rate)
        kind = chunk_kind(recipe, self._file.final.suffix.lstrip("."))
        coder = Coder(recipe, kind, self._parts, self._request.settings)
        self._chunking = Chunking(self._parts, coder, Grid(size))

    def _assemble(self, *, claim: bool = False, depth: int = 0, growing: bool = True) -> Recipe:
        """Begin the partial file with all chunks there are; claims the parts first."""
        opening = Opening(self._media, self._request.settings, self._request.keep, self._say)
        span = wanted_span(self._job, self._media)
        opened = opening.open(self._file, self._job.input, span, growing=growing)
        assembly = Assembly(self._file, opened, self._say, depth=depth)
        try:
            if claim:
                self._claim(opened.recipe)
            assembly.start()
            for chunk in self._parts.chunks:
                assembly.append(self._parts.folder / chunk.name, self._parts.read(chunk))
        except TooDeep as error:
            assembly.abandon()
            return self._assemble(depth=error.depth, growing=growing)
        except Damaged as error:
            assembly.abandon()
            if not claim:
                raise
            self._say(f"{error.what}: it and all after it are made again")
            self._parts.drop(chunk)
            return self._assemble(growing=growing)
        except BaseException:
            assembly.abandon()
            raise
        self._assembly = assembly
        return opened.recipe

    def _claim(self, recipe: Recipe) -> None:
        size = grid(self._request.chunk_seconds, recipe.rate)
        key = make_key(self._job, self._media, {"encoder": recipe.facts()}, size)
        self._parts.claim(key, resume=self._job.resume, overwrite=self._job.overwrite)

    def _append(self, chunks: Sequence[Chunk]) -> None:
        """Add chunks that are kept now; where they do not fit what was begun, begin it again."""
        for chunk in chunks:
            try:
                self._assembled().append(self._parts.folder / chunk.name, chunk)
            except TooDeep as error:
                self._assembled().abandon()
                self._assemble(depth=error.depth)
                return

    def _complete(self) -> SinkSummary:
        """Keep the last chunk, close the file, and give it its final name."""
        with self._failing():
            self._append(self._opened().finish())
        if not self._assembled().pictures:
            self._assembled().abandon()
            self._parts.chunks.clear()
            self._done = self._rest()
            raise no_frame_left(self._file)
        if self._assembled().is_provisional:
            with self._failing(), self._building():
                self._assembled().abandon()
                self._assemble(growing=False)
        assembly = self._assembled()
        try:
            with self._failing():
                assembly.finish(complete=True)
            require_pictures(self._file.partial, assembly.pictures)
        except MpflowError:
            self._done = self._rest()
            raise
        self._parts.done(self._file, assembly.pictures, self._parts.kept)
        size = self._file.commit()
        self._parts.empty()
        return SinkSummary(
            frames=assembly.pictures,
            path=str(self._file.final),
            size=size,
            warnings=tuple(self.warnings),
        )

    def _interrupted(self) -> SinkSummary:
        """Let the partial file play up to the last frame that came."""
        with suppress(MpflowError):  # what is in the parts is safe; this file is an extra
            self._play_to_the_end()
        if self._assembly is not None:
            self._assembly.abandon()
        return self._rest()

    def _play_to_the_end(self) -> None:
        if self._failed:
            return
        with self._failing():
            kept, ended = self._opened().interrupt()
            self._append(kept)
        if ended is None:
            return
        try:
            with self._failing():
                self._assembled().append(ended.path, ended.chunk)
        finally:
            ended.path.unlink(missing_ok=True)

    def _rest(self) -> SinkSummary:
        """What is left of an output that is not whole."""
        if not self._parts.chunks:
            self._parts.remove()
        return left_over(self._file, self.warnings)

    def _leave(self) -> None:
        if self._chunking is not None:
            self._chunking.close()
        self._chunking = self._assembly = None

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Say what a failed write means; after one, nothing more is written."""
        try:
            yield
        except BaseException as error:
            self._failed = True
            if isinstance(error, OSError):  # the assembly explains its own
                raise parts_error(self._parts.folder, error) from error
            if isinstance(error, av.FFmpegError):
                raise explain_write(self._file, error) from error
            raise

    def _opened(self) -> Chunking:
        if self._chunking is None:
            raise InternalError("the output is not open")
        return self._chunking

    def _assembled(self) -> Assembly:
        if self._assembly is None:
            raise InternalError("the output is not open")
        return self._assembly

    def _say(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self._warn(text)
