"""The last stage of an analysis: it keeps no picture, only that the log is on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import msgspec

from mpflow.frame import Frame
from mpflow.spec import Job, Place, SinkSummary, Value
from mpflow.stage import Options, Sink
from mpflow.tokens import Token
from mpflow.wholefile import write_whole

ANALYSED = "analysis.json"
"""The name of its note in a folder of parts."""

EVERY = 256
"""After so many frames the log is brought to the disk."""


class Written(Value, frozen=True):
    """The log of one chunk: its frames, its size in bytes and a digest of its content."""

    start: int
    stop: int
    size: int
    sha256: str


class Analysed(Value, frozen=True):
    """How far an analysis is: so many ``frames`` are in its log, the last one stamped ``after``.

    ``whole`` says that there are no more; then each chunk has a log of its own, see ``chunks``.
    """

    frames: int = 0
    after: int | None = None
    whole: bool = False
    chunks: tuple[Written, ...] = ()

    def save(self, path: Path) -> None:
        """Write it whole or not at all; raises OSError."""
        write_whole(path, msgspec.json.encode(self) + b"\n")


def read_analysed(path: Path) -> Analysed:
    """How far an analysis is; nowhere, where there is none or it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Analysed)
    except (OSError, msgspec.DecodeError):
        return Analysed()


class Keep(Sink[Options]):
    """Notes how far the analysis log goes that is kept beside it."""

    Options: ClassVar[type[Options]] = Options
    shows_pixels = False
    restartable = True
    _done = Analysed()

    @property
    def kept(self) -> Place:
        """The first frame that is not in the log on the disk."""
        return Place(self._kept.frames, self._kept.after)

    def begin(self, job: Job) -> None:
        """Begin, or go on behind what is kept."""
        self._path = Path(job.spec.output)
        self._kept = read_analysed(self._path) if job.spec.resume else Analysed()
        self._done = self._kept

    def write(self, token: Token, frame: Frame) -> None:
        """Note the next frame."""
        self._done = Analysed(token.seq + 1, token.pts)
        if token.seq % EVERY == EVERY - 1:
            self._keep(self._done)

    def finish(self, *, complete: bool) -> SinkSummary:
        """Note that there are no more; one that is stopped may be gone on with."""
        self._keep(msgspec.structs.replace(self._done, whole=complete))
        size = self._path.stat().st_size
        return SinkSummary(self._done.frames, str(self._path), size, complete)

    def _keep(self, done: Analysed) -> None:
        if self.before_keeping is not None:
            self.before_keeping(done.frames)
        done.save(self._path)
        self._kept = done


TARGET = f"{Keep.__module__}:{Keep.__name__}"
