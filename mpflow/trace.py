"""A timeline of all workers, in the Chrome trace event format that Perfetto reads.

One lane for each worker: a slice for each frame it worked on (nested for a batch), ``wait`` where
it had none. Beside the lanes, for each stage, the frames that are in the ring before it and those
it has taken but not begun (a batch that fills, look-ahead). The file is a JSON array with an event
a line; one that was cut off still loads.

Format: "Trace Event Format", array form; phases X, b/e, i and M.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mpflow.errors import MpflowError
from mpflow.linefile import file_error
from mpflow.tokens import Stamp

_WINDOW = 256
"""Slices of one worker that are sorted before they are written: workers finish frames in another
order than the last stage sees them, but never further apart than the ring is long."""

_SHORT_NS = 20_000
"""A wait that is shorter is no news and would only fill the file."""

_LINES = 2000
_BUFFER = 1 << 18
_END = b"\n]\n"
_BEGUN = re.compile(rb'"begun_ns":(-?\d+)')
_HEAD_BYTES = 512
TRACE_BEGINS = re.compile(rb'\[\s*(\Z|\{"name":"process_name".*"begun_ns":)')
"""How a trace begins."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one moment (monotonic nanoseconds), to a worker perhaps."""

    at: int
    name: str
    worker: str = ""


@dataclass(slots=True)
class _Lane:
    """One worker's slices: those not written yet as a heap of (start, -end, name, frame)."""

    tid: int
    name: str
    waiting: list[tuple[int, int, str, int]] = field(default_factory=list)
    written_to: int | None = None


class Trace:
    """Writes what the stamps of each frame tell. Raises OutputError or ResourceError."""

    def __init__(self, path: Path, begun: int) -> None:
        """Begin the file, or go on with it if it tells of this very run: the monotonic clock and
        ``begun`` (in nanoseconds, when the job began) are the same."""
        self._path = path
        self._begun = begun
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._order: dict[str, int] = {}
        self._lines: list[str] = []
        self._file, self._first = _open(path, begun)
        if self._first:
            self._meta("process_name", 0, f'{{"name":"mpflow","begun_ns":{begun}}}')

    def note(self, frame: int, born: int, stamps: Sequence[Stamp]) -> None:
        """Take in one frame's stamps, in the order of the stages."""
        before = born
        for stamp in stamps:
            lane = self._lanes.get((stamp.stage, stamp.worker)) or self._add_lane(stamp)
            self._span(f"before {lane.name}", frame, before, stamp.taken)
            self._span(f"in {lane.name}", frame, stamp.taken, stamp.started)
            entry = (stamp.started, -stamp.ended, lane.name, frame)
            if len(lane.waiting) < _WINDOW:
                heapq.heappush(lane.waiting, entry)
            else:
                self._slice(lane, heapq.heappushpop(lane.waiting, entry))
            before = stamp.ended
        if len(self._lines) > _LINES:
            self._hand_over()

    def mark(self, mark: Mark) -> None:
        """An instant event across all lanes."""
        args = {"worker": mark.worker} if mark.worker else {}
        self._lines.append(
            f'{{"name":{json.dumps(mark.name)},"ph":"i","s":"g","pid":1,"tid":0,'
            f'"ts":{self._us(mark.at)},"args":{json.dumps(args)}}}'
        )

    def flush(self) -> None:
        """Everything so far is in the file, should this process be killed."""
        for lane in self._lanes.values():
            while lane.waiting:
                self._slice(lane, heapq.heappop(lane.waiting))
        self._hand_over()
        try:
            self._file.flush()
        except OSError as error:
            raise file_error(self._path, error) from error

    def close(self) -> None:
        """Write what is left and end the array."""
        self.flush()
        try:
            self._file.write(_END)
            self._file.close()
        except OSError as error:
            raise file_error(self._path, error) from error

    def _hand_over(self) -> None:
        if not self._lines:
            return
        text = ",\n".join(self._lines)
        self._lines.clear()
        try:
            self._file.write(text.encode() if self._first else b",\n" + text.encode())
        except OSError as error:
            raise file_error(self._path, error) from error
        self._first = False

    def _add_lane(self, stamp: Stamp) -> _Lane:
        place = self._order.setdefault(stamp.stage, len(self._order))
        # from the name, so that a restarted writer gives a worker the same lane
        tid = 1 + zlib.crc32(stamp.stage.encode()) % 10_000 * 100 + stamp.worker
        lane = self._lanes[stamp.stage, stamp.worker] = _Lane(tid, json.dumps(stamp.stage)[1:-1])
        self._meta("thread_name", tid, f'{{"name":"{lane.name}/{stamp.worker}"}}')
        self._meta("thread_sort_index", tid, f'{{"sort_index":{100 * place + stamp.worker}}}')
        return lane

    def _slice(self, lane: _Lane, entry: tuple[int, int, str, int]) -> None:
        started, minus_ended, name, frame = entry
        if lane.written_to is not None and started - lane.written_to >= _SHORT_NS:
            self._complete(lane.tid, '"name":"wait","cat":"wait"', lane.written_to, started)
        what = f'"name":"{name} {frame}","cat":"stage","args":{{"frame":{frame}}}'
        self._complete(lane.tid, what, started, -minus_ended)
        lane.written_to = max(lane.written_to or 0, -minus_ended)

    def _complete(self, tid: int, what: str, start: int, end: int) -> None:
        self._lines.append(
            f'{{{what},"ph":"X","pid":1,"tid":{tid},"ts":{self._us(start)},'
            f'"dur":{max(end - start, 0) / 1000:.3f}}}'
        )

    def _span(self, name: str, frame: int, start: int, end: int) -> None:
        if end - start < _SHORT_NS:
            return
        common = f'{{"name":"{name}","cat":"{name}","id":{frame},"pid":1,"tid":0'
        self._lines.append(f'{common},"ph":"b","ts":{self._us(start)},"args":{{"frame":{frame}}}}}')
        self._lines.append(f'{common},"ph":"e","ts":{self._us(end)}}}')

    def _meta(self, name: str, tid: int, args: str) -> None:
        self._lines.append(f'{{"name":"{name}","ph":"M","pid":1,"tid":{tid},"args":{args}}}')

    def _us(self, moment: int) -> str:
        return f"{(moment - self._begun) / 1000:.3f}"


def add_marks(path: Path, begun: int, marks: Iterable[Mark]) -> None:
    """Add instant events to a trace of this run that is closed.

    Where there is none, or it cannot be written, nothing happens: they are not worth an error.
    """
    with suppress(OSError, MpflowError):
        if _begun_of(path) == begun:
            trace = Trace(path, begun)
            for mark in marks:
                trace.mark(mark)
            trace.close()


def _open(path: Path, begun: int) -> tuple[BinaryIO, bool]:
    """The file to write to, and whether the next event is the first after a bracket or comma."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and _begun_of(path) == begun:
            return _reopen(path)
        file = path.open("wb", buffering=_BUFFER)
        file.write(b"[\n")
    except OSError as error:
        raise file_error(path, error) from error
    return file, True


def _reopen(path: Path) -> tuple[BinaryIO, bool]:
    """Go on after the last whole event."""
    file = path.open("r+b", buffering=_BUFFER)
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(size - _HEAD_BYTES * 8, 0))
    tail = file.read().removesuffix(_END)
    lines = tail.rindex(b"\n") + 1
    whole = _is_event(tail[lines:])
    file.seek(start + (len(tail) if whole else lines))
    file.truncate()
    return file, not whole


def _is_event(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _begun_of(path: Path) -> int | None:
    """When the job of a trace began, as its first event says."""
    with path.open("rb") as file:
        found = _BEGUN.search(file.read(_HEAD_BYTES))
    return int(found[1]) if found else None
