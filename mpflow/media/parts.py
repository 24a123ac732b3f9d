"""One job's folder of parts: claimed at the start, added to chunk by chunk, emptied at the end.

claim -> keep, keep, keep ... -> done -> (rename of the output) -> empty -> remove
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from mpflow.errors import OutputError, Refused
from mpflow.media import checkpoint
from mpflow.media.chunkfile import damaged
from mpflow.media.chunks import (
    Chunk,
    Kept,
    chunk_name,
    clear,
    durable,
    found,
    is_done,
    is_shared,
    read_companion,
    remove_parts,
    sweep,
    temporary,
)
from mpflow.media.mark import DONE, Mark, mark_of
from mpflow.media.output import OutputFile, parts_error
from mpflow.spec import BEGINNING, JobSpec, Place, parts_name
from mpflow.wholefile import sync


class Parts:
    """The finished chunks of one job; ``key`` is the digest of what they are made with.

    ``before_keeping`` is told how far the chunks will go, right before one more counts.
    """

    def __init__(self, folder: Path, before_keeping: Callable[[int], None] | None = None) -> None:
        self.folder = folder
        self.chunks: list[Kept] = []
        self.key = ""
        self._before_keeping = before_keeping

    @property
    def kept(self) -> Place:
        """The first frame that is in no chunk, and the time stamp of the one before it."""
        return Place(self.chunks[-1].stop, self.chunks[-1].last) if self.chunks else BEGINNING

    def refuse_earlier(self, output: Path) -> None:
        """Raise OutputError where an earlier run left something to go on with, Refused where the
        folder is a farm's."""
        self._refuse_others()
        with self._explained():
            kept = durable(self.folder)
        if kept:
            raise OutputError(
                f"{str(output)!r} has {kept[-1].stop} frames of an earlier run",
                cure="--resume goes on with them, -y starts anew",
            )

    def claim(self, key: checkpoint.Key, *, resume: bool, overwrite: bool) -> None:
        """Make the folder this job's, and find the chunks there are to go on with.

        Raises Refused where those were made of something else, and leaves all as it was, and
        OutputError where the folder is of no use.
        """
        with self._explained():
            kept = durable(self.folder) if resume else []
        self.take(key, going_on=bool(kept), resume=resume, overwrite=overwrite)
        for chunk in kept:
            self.require_ours(chunk)
        with self._explained():
            sweep(self.folder, kept)
        self.chunks = kept

    def take(self, key: checkpoint.Key, *, going_on: bool, resume: bool, overwrite: bool) -> None:
        """Make the folder this job's: compare it to go on, else empty it first.

        The logs of a run that is resumed stay: what it does again takes its faces from there.
        """
        if going_on or not overwrite:
            self._refuse_others()
        if not going_on:
            with self._explained():
                (clear if resume else remove_parts)(self.folder)
        checkpoint.claim(self.folder, key)
        self.know(key)

    def _refuse_others(self) -> None:
        """Raise Refused for a folder that is a farm's, or whose checkpoint is none of ours."""
        checkpoint.load(self.folder)
        if is_shared(self.folder):
            raise Refused(
                f"{str(self.folder)!r} is planned for a farm",
                cure="make its chunks with `mpflow render` and join them with `mpflow concat`;"
                " -y without --resume removes them and starts anew",
            )

    def know(self, key: checkpoint.Key) -> None:
        """Take what the chunks have to be made with."""
        self.key = checkpoint.digest(key)

    def share(self, key: checkpoint.Key, start: int, stop: int) -> None:
        """Claim the folder together with others that make chunks of their own in it."""
        checkpoint.claim(self.folder, key)
        self.know(key)
        with self._explained():
            there = found(self.folder)
        self.chunks = [
            chunk
            for chunk in there
            if (chunk.start, chunk.stop, chunk.key) == (start, stop, self.key)
        ]

    def require_ours(self, chunk: Kept) -> None:
        """Raise Refused for a chunk that was made with other settings."""
        if chunk.key != self.key:
            raise Refused(
                f"the chunk {str(self.folder / chunk.name)!r} was made with other settings, or"
                " from another input",
                cure="remove it: what is missing is made again",
            )

    def working_name(self, start: int, stop: int, suffix: str) -> Path:
        """The name of a chunk's file while it is made, by this process."""
        return temporary(self.folder / chunk_name(start, stop, suffix), _maker())

    def keep(self, path: Path, chunk: Chunk, upto: int) -> None:
        """Give a finished file its name: from then on it counts. Raises OSError.

        ``upto`` is the frame it goes up to, counted from the job's first.
        """
        if self._before_keeping is not None:
            self._before_keeping(upto)
        companion = self.folder / chunk.companion
        _write(companion, chunk)
        path.replace(self.folder / chunk.name)
        with suppress(OSError):  # some folders cannot be synced
            sync(self.folder)
        self.chunks.append(chunk.kept)

    def read(self, chunk: Kept) -> Chunk:
        """All that is known of a chunk; raises Damaged where its companion is gone or another."""
        whole = read_companion(self.folder, chunk.companion)
        if whole is None or whole.kept != chunk:
            raise damaged(self.folder / chunk.name)
        return whole

    def drop(self, first: Kept) -> None:
        """Remove a chunk and all behind it: they are made again."""
        self.chunks = self.chunks[: self.chunks.index(first)]
        with self._explained():
            sweep(self.folder, self.chunks)

    def done(self, file: OutputFile, pictures: int, place: Place) -> None:
        """Note that the file is whole, up to ``place``, and gets its final name next."""
        with self._explained():
            status = file.partial.stat()
            mark = Mark(status.st_ino, status.st_size, pictures, place.frame, place.after)
            _write(self.folder / DONE, mark)

    def empty(self) -> None:
        """Remove the chunks of an output that has its final name; the mark stays."""
        with suppress(OSError):  # the output is what counts
            clear(self.folder)

    def leave_finished(self) -> None:
        """Remove what is left of an output that has its final name.

        Without the mark the parts are another's by now: the output has been let go of.
        """
        if is_done(self.folder):
            self.remove()

    def remove(self) -> None:
        """Remove all that is left; only for who holds the output's lock."""
        with suppress(OSError):
            remove_parts(self.folder)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what an error of the system means for the folder."""
        try:
            yield
        except OSError as error:
            raise parts_error(self.folder, error) from error


def parts_folder(job: JobSpec) -> Path:
    """Where a job's chunks are."""
    return Path(job.parts) if job.parts else parts_name(Path(job.output))


def finished(folder: Path, file: OutputFile) -> Mark | None:
    """The mark of an output that has its final name already, else None.

    Where the last step was cut between its halves (two names, one file), it is completed.
    """
    mark = mark_of(folder, file.final)
    with suppress(OSError):
        if mark is not None and file.partial.samefile(file.final):
            file.partial.unlink()
    return mark


def _write(path: Path, content: msgspec.Struct) -> None:
    """Write a file whole or not at all, also when the machine dies."""
    new = temporary(path, _maker())
    new.write_bytes(msgspec.json.encode(content))
    sync(new)
    new.replace(path)


def _maker() -> str:
    """Tells this process's unfinished files from those of others that share the folder."""
    return f"{re.sub(r'[^A-Za-z0-9]', '-', os.uname().nodename)}-{os.getpid()}"
