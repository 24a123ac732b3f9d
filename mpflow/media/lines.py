"""An output of text lines, one a frame, that a run can go on with.

    lines -> gathered -> (told: they will be kept) -> NAME.partial.EXT, synced -> NAME.EXT

A line that a kill has torn is cut off; what the lines were made of stands in the checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, NoReturn

import msgspec

from mpflow.errors import MpflowError, OutputError
from mpflow.media import checkpoint
from mpflow.media.output import OutputFile, output_error
from mpflow.media.parts import Parts, finished, parts_folder
from mpflow.spec import BEGINNING, Job, Place, SinkSummary

_STRETCH = 64
"""Lines that are kept together."""


class _Line(msgspec.Struct):
    """What a line tells of its frame."""

    frame: int
    pts: int | None = None


class FrameLines:
    """One file of JSON lines with ``frame`` and ``pts``; ``facts`` are all they depend on."""

    def __init__(
        self, job: Job, facts: Mapping[str, Any], before_keeping: Callable[[int], None]
    ) -> None:
        self.kept: Place = BEGINNING
        """The first frame that is not durable, and the time stamp of the one before it."""
        self._job = job
        self._facts = facts
        self._before_keeping = before_keeping
        self._file = OutputFile(job.spec)
        self._parts = Parts(parts_folder(job.spec))
        self._stream: BinaryIO | None = None
        self._gathered: list[bytes] = []
        self._next = BEGINNING
        self._lines = 0
        self._done: SinkSummary | None = None

    def open(self) -> None:
        """Open the file, or go on with it; raises OutputError, ResourceError or Refused."""
        spec = self._job.spec
        if spec.resume and (mark := finished(self._parts.folder, self._file)) is not None:
            self.kept = Place(mark.stop, mark.last)
            self._done = SinkSummary(mark.pictures, str(self._file.final), mark.size)
            return
        self._file.prepare()  # first, for it tells whether another run is at work on all of it
        try:
            kept, lines, end = self._look()
            if lines and not (spec.resume or spec.overwrite):
                self._refuse(kept.frame)
            self._go_on(lines, end) if spec.resume else self._go_on(0, 0)
        except BaseException as error:
            if self._parts.key and not self._lines:
                self._parts.remove()
            self._file.abandon()
            if isinstance(error, OSError):
                raise output_error(self._file.partial, error) from error
            raise
        if self._lines:
            self.kept = self._next = kept

    @property
    def is_finished(self) -> bool:
        """Whether a sink before this one got as far as the final name, or this one did."""
        return self._done is not None

    def kept_lines(self) -> Iterator[bytes]:
        """The lines of an earlier run that are gone on with, right after ``open``."""
        if self._lines:
            with self._file.partial.open("rb") as file:
                yield from islice(file, self._lines)

    def keep(self) -> None:
        """Put what was gathered on the disk now; raises what a failed write means."""
        if self._done is None:
            self._keep()

    def add(self, frame: int, pts: int | None, line: bytes) -> None:
        """Take a frame's line; raises what a failed write means."""
        if self._done is not None or frame < self._next.frame:
            return
        self._gathered.append(line)
        self._next = Place(frame + 1, pts)
        if len(self._gathered) >= _STRETCH:
            self._keep()

    def finish(self, *, complete: bool) -> SinkSummary:
        """Keep what was gathered; a complete file gets its final name."""
        if self._done is None:
            self._done = self._finish(complete=complete)
        return self._done

    def close(self) -> None:
        """Close a file that was not finished, and clear up behind one that was."""
        if self._stream is not None:
            self.finish(complete=False)
        if self._done is not None and self._done.complete:
            self._parts.leave_finished()

    def _refuse(self, frames: int) -> NoReturn:
        raise OutputError(
            f"{str(self._file.final)!r} has {frames} frames of an earlier run",
            cure="--resume goes on with them, -y starts anew",
        )

    def _go_on(self, lines: int, end: int) -> None:
        """Claim the parts, and open the file behind its whole lines."""
        spec = self._job.spec
        key = checkpoint.make_key(spec, self._job.media, self._facts, grid=_STRETCH)
        self._parts.take(key, going_on=lines > 0, resume=spec.resume, overwrite=spec.overwrite)
        self._stream = self._file.partial.open("r+b")
        self._stream.truncate(end)
        self._stream.seek(end)
        self._lines = lines

    def _finish(self, *, complete: bool) -> SinkSummary:
        try:
            self._keep()
        except MpflowError:
            if complete:
                self._close()
                self._file.release()
                raise
        self._close()
        if complete:
            self._parts.done(self._file, self._lines, self.kept)
            size = self._file.commit()
            self._parts.empty()
            return SinkSummary(self._lines, str(self._file.final), size)
        size = self._file.partial.stat().st_size
        if not self._lines:
            self._parts.remove()
        self._file.release()
        return SinkSummary(
            self._lines, str(self._file.partial), size, complete=False, playable=size > 0
        )

    def _keep(self) -> None:
        """Put what was gathered on the disk; the frames count from then on."""
        if not self._gathered or self._stream is None:
            return
        self._before_keeping(self._next.frame)
        try:
            self._stream.write(b"".join(self._gathered))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise output_error(self._file.partial, error) from error
        self._lines += len(self._gathered)
        self._gathered.clear()
        self.kept = self._next

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(OSError):  # all that counts was flushed before
                stream.close()

    def _look(self) -> tuple[Place, int, int]:
        """What a partial file holds: how far it goes, how many lines, and where the last ends."""
        place, lines, end = BEGINNING, 0, 0
        with suppress(OSError), self._file.partial.open("rb") as file:
            for line in file:
                try:
                    told = msgspec.json.decode(line, type=_Line)
                except msgspec.DecodeError:
                    break
                if not line.endswith(b"\n"):
                    break
                place, lines, end = Place(told.frame + 1, told.pts), lines + 1, end + len(line)
        return place, lines, end
