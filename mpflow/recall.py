"""The memory of a stage that has one, kept in the analysis log so that a fresh worker can go on.

frame known already (made again)  -> its faces and fields from the log, without work
frame finished                    -> into the log, then given on
before frames become durable      -> what the log has of them is brought to the disk (Spill)

Nothing of a live run is ever made again, and it may go on for weeks: there is no log of it. Each
worker keeps what it put on its last frames, for itself (Tail).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from mpflow.analysis import AnalysisLog, Remembered
from mpflow.errors import OutputError, Refused
from mpflow.graph import Demand
from mpflow.linefile import file_error
from mpflow.spec import JobSpec, name_in_parts
from mpflow.stage import Stage
from mpflow.tokens import Token

ANALYSIS = "analysis.log"
"""Name of the log in a job's folder of parts."""

CUT_SHORT = "mpflow.cut_short"
"""On a token whose stage waited in vain for later frames, since the run was stopped: such a frame
is not kept, neither here nor in the output; who goes on makes it as if there had been no stop."""

TAIL = 256
"""A live run's stage recalls at most so many frames, after an exception."""

_PIECE = 1 << 20


class Log(Protocol):
    """Where a stage's memory is kept: AnalysisLog, or a Tail of it."""

    def append(self, stage: str, token: Token, given_up: str = "", reason: str = "") -> None:
        """Keep what a stage leaves on a frame."""

    def read(self, stage: str) -> Iterator[Remembered]:
        """What it left on frames, in order."""

    def find(self, stage: str, seq: int) -> Remembered | None:
        """What it left on one frame, if that is made again."""

    def last(self, stage: str) -> int | None:
        """The latest frame that it has left something on."""


class Tail:
    """What one worker of a live run put on its last frames; it ends with its process."""

    def __init__(self) -> None:
        self._kept: deque[Remembered] = deque(maxlen=TAIL)

    def append(self, stage: str, token: Token, given_up: str = "", reason: str = "") -> None:
        """Keep what the stage leaves on a frame, in place of the oldest."""
        time = (token.pts, token.time_base, token.duration)
        self._kept.append(Remembered(token.seq, token.faces, token.fields, *time, given_up, reason))

    def read(self, stage: str) -> Iterator[Remembered]:
        """What it left on the last frames, in order."""
        return iter(tuple(self._kept))

    def find(self, stage: str, seq: int) -> Remembered | None:
        """Nothing is made again in a live run."""
        return None

    def last(self, stage: str) -> int | None:
        """The latest frame that it has left something on."""
        return self._kept[-1].seq if self._kept else None


class Memory:
    """What one stage has found so far; without a log it knows nothing and keeps nothing."""

    def __init__(self, stage: str = "", log: Log | None = None, *, whole: bool = False) -> None:
        """``whole``: the log has all frames, and who would find anything else is not there."""
        self._stage = stage
        self._log = log
        self._whole = whole
        self._last = -1

    def recall(self, stage: Stage[Any]) -> None:
        """Tell a stage that has just begun what it knew."""
        if self._log is None:
            return
        last = self._log.last(self._stage)
        self._last = -1 if last is None else last
        found = self._log.read(self._stage)
        stage.recall(remembered.token() for remembered in found if not remembered.given_up)

    def known(self, token: Token) -> Remembered | None:
        """What became of a frame the first time, if it is made again.

        Raises Refused for a frame that a whole log does not have: it must not be shown as it is.
        """
        found = None
        if self._log is not None and token.seq <= self._last:
            found = self._log.find(self._stage, token.seq)
        if found is None and self._whole:
            raise Refused(
                f"the analysis has nothing about frame {token.seq}",
                cure="plan anew with -y, the same input and the same software",
                facts={"frame": token.seq},
            )
        return found

    def keep(self, token: Token, given_up: str = "", reason: str = "") -> None:
        """Keep what the stage found on a frame, or how it was given up, before others see it."""
        if self._log is not None and token.seq > self._last:
            self._log.append(self._stage, token, given_up, reason)
            self._last = token.seq


class Spill:
    """The analysis log's copy on the disk, in the folder of parts: it grows before a chunk does."""

    def __init__(self, log: int, path: Path | None) -> None:
        self._log = log
        self._path = path

    def keep(self) -> None:
        """Bring the copy up to date, and to the disk; raises OutputError or ResourceError."""
        if self._path is None:
            return
        try:
            self._copy(self._path)
        except OSError as error:
            raise file_error(self._path, error) from error

    def _copy(self, path: Path) -> None:
        size = os.fstat(self._log).st_size
        with path.open("ab") as copy:
            done = min(copy.tell(), size)
            copy.truncate(done)
            while piece := os.pread(self._log, min(_PIECE, size - done), done):
                copy.write(piece)
                done += len(piece)
            copy.flush()
            os.fdatasync(copy.fileno())


def begin_log(job: JobSpec, demands: Sequence[Demand]) -> int:
    """A descriptor of the run's analysis log; a run that goes on finds what was kept of it.

    It lives in memory: only what belongs to durable frames is needed after a crash. That of a live
    run stays empty. Raises OutputError for a copy that cannot be read, Refused for one that is no
    log.
    """
    kept = _kept_of(job) if any(demand.remembers for demand in demands) else b""
    log = AnalysisLog.create()
    if not kept:
        return log.fd
    try:
        os.ftruncate(log.fd, 0)
        with os.fdopen(log.fd, "ab", closefd=False) as memory:
            memory.write(kept)
        AnalysisLog(log.fd).repair()
    except BaseException:
        log.close()
        raise
    return log.fd


def _kept_of(job: JobSpec) -> bytes:
    """What an earlier run left of the log; nothing for a run that begins."""
    if not (job.resume and job.parts):
        return b""
    path = Path(job.parts) / name_in_parts(job, ANALYSIS)
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise OutputError(
            f"{str(path)!r} cannot be read: {error.strerror}",
            cure="-y without --resume starts anew",
        ) from error
