"""The analysis log: what stages with a memory put on each frame, kept so that it can be repeated.

    8 bytes | record | record | ...           record:  sync | body bytes | crc32 | msgpack body

A frame that is made again takes its faces and fields from here, and a fresh worker rebuilds its
memory from here. The supervisor makes the file and hands its descriptor to the workers; each
record is one append, so workers of different stages share the file. A writer that dies leaves at
most a torn record behind: it is skipped by its checksum, and the next record found by its sync.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fcntl import F_SETFL, fcntl
from pathlib import Path
from typing import Any

import msgpack

from mpflow import wire
from mpflow.errors import ContractError, InternalError, Refused, ResourceError
from mpflow.tokens import Face, Token

HEADER = b"MPFALOG\x03"
SYNC = b"\xf7mp\xfa"
MAX_BODY = 1 << 16
"""A body holds less than a token, whose limit is below this."""

_HEAD = struct.Struct("<4sII")
_BLOCK = 4 * MAX_BODY
"""Read at once; any record that begins a block lies in it whole."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one stage put on one frame."""

    seq: int
    faces: tuple[Face, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    pts: int | None = None
    time_base: tuple[int, int] = (1, 1)
    duration: int = 0
    given_up: str = ""
    """The state that the frame was given on in without the stage's work, and why."""
    reason: str = ""

    def on(self, token: Token) -> Token:
        """The card of the same frame, made again, with what was on it the first time."""
        if token.seq != self.seq:
            raise InternalError(f"frame {token.seq} cannot take what frame {self.seq} had")
        faces = self.faces
        if len(faces) == len(token.faces):  # arrays are not kept, those of this time are the same
            pairs = zip(faces, token.faces, strict=True)
            faces = tuple(replace(face, refs=here.refs) for face, here in pairs)
        return replace(token, faces=faces, fields={**token.fields, **self.fields})

    def token(self, request: str = "") -> Token:
        """A card that says no more than this, to rebuild a memory from."""
        bare = Token(request, self.seq, 0, self.pts, self.time_base, self.duration)
        return self.on(bare)


class AnalysisLog:
    """The log behind a descriptor that was opened to append; it is closed with the log.

    One process at a time writes for a stage. Raises Refused for a file of another kind.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._index: dict[str, _Index] = {}
        self._end = len(HEADER)
        found = os.pread(fd, len(HEADER), 0)
        if found != HEADER:
            raise Refused(
                f"no analysis log of this mpflow: it begins with {found!r}",
                cure="start anew, without what the earlier run left",
            )

    @classmethod
    def create(cls, path: Path | None = None) -> AnalysisLog:
        """Open the log at ``path``, or make it; without a path it lives in memory only.

        Nobody else may be writing: a torn end is cut off.
        """
        if path is None:
            fd = os.memfd_create("mpflow-analysis", os.MFD_CLOEXEC)
            fcntl(fd, F_SETFL, os.O_APPEND)
        else:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _begin(fd)
            log = cls(fd)
            log.repair()
        except BaseException:
            os.close(fd)
            raise
        return log

    def append(self, stage: str, token: Token, given_up: str = "", reason: str = "") -> None:
        """Keep the faces and fields that ``stage`` leaves on a frame, or how it gave it up."""
        _write(self.fd, _record(stage, token, (given_up, reason)))

    def read(self, stage: str, start: int = 0) -> Iterator[Remembered]:
        """What a stage put on frames, from frame ``start`` on, in order."""
        index = self._indexed(stage)
        for place in range(bisect_left(index.seqs, start), len(index.seqs)):
            yield self._at(index.offsets[place])

    def find(self, stage: str, seq: int) -> Remembered | None:
        """What a stage put on one frame; None if it is not in the log."""
        index = self._indexed(stage)
        place = bisect_left(index.seqs, seq)
        if place == len(index.seqs) or index.seqs[place] != seq:
            return None
        return self._at(index.offsets[place])

    def last(self, stage: str) -> int | None:
        """The latest frame that a stage has put something on."""
        seqs = self._indexed(stage).seqs
        return seqs[-1] if seqs else None

    def sync(self) -> None:
        """Bring everything to the disk: before the frames it belongs to become durable."""
        os.fdatasync(self.fd)

    def repair(self) -> int:
        """Cut a torn end off, while nobody writes; return how many bytes that were."""
        self._look()
        torn = os.fstat(self.fd).st_size - self._end
        if torn > 0:
            os.ftruncate(self.fd, self._end)
        return max(0, torn)

    def close(self) -> None:
        """Close the descriptor."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def _indexed(self, stage: str) -> _Index:
        self._look()
        return self._index.setdefault(stage, _Index())

    def _look(self) -> None:
        """Take in what was written since the last look, by whomever."""
        for at, body in _records(self.fd, self._end):
            stage, seq = msgpack.unpackb(body, use_list=False, strict_map_key=False)[:2]
            self._index.setdefault(stage, _Index()).note(seq, at)
            self._end = at + _HEAD.size + len(body)

    def _at(self, offset: int) -> Remembered:
        body = _whole(os.pread(self.fd, _BLOCK, offset), 0)
        if body is None:
            raise InternalError(f"the analysis log lost its record at byte {offset}")
        _, seq, faces, fields, *rest = msgpack.unpackb(body, use_list=False, strict_map_key=False)
        return Remembered(seq, tuple(map(wire.face_of, faces)), fields, *rest)


class _Index:
    """Where the frames of one stage are: numbers in order, and the offset of each."""

    def __init__(self) -> None:
        self.seqs = array("Q")
        self.offsets = array("Q")

    def note(self, seq: int, offset: int) -> None:
        """Add a record; of two for one frame the first counts, as others have seen it."""
        place = bisect_left(self.seqs, seq)
        if place == len(self.seqs) or self.seqs[place] != seq:
            self.seqs.insert(place, seq)
            self.offsets.insert(place, offset)


def _begin(fd: int) -> None:
    """Write the header of a new file, or of one whose maker died over it."""
    found = os.pread(fd, len(HEADER), 0)
    if len(found) < len(HEADER) and HEADER.startswith(found):
        os.ftruncate(fd, 0)
        _write(fd, HEADER)


def _write(fd: int, data: bytes) -> None:
    """Append in one go, so that records of two writers never mix."""
    try:
        written = os.write(fd, data)
    except OSError as error:
        raise ResourceError(
            f"the analysis log cannot be written: {error.strerror}", cure="make room on the disk"
        ) from error
    if written < len(data):
        raise ResourceError(
            f"the analysis log took {written} of {len(data)} bytes", cure="make room on the disk"
        )


def _record(stage: str, token: Token, outcome: tuple[str, str]) -> bytes:
    faces = [wire.face_row(replace(face, refs={})) for face in token.faces]
    time = (token.pts, token.time_base, token.duration)
    try:
        body: bytes = msgpack.packb((stage, token.seq, faces, token.fields, *time, *outcome))
    except (TypeError, ValueError, OverflowError) as error:
        raise ContractError(
            f"stage {stage} puts a value on frame {token.seq} that cannot be kept: {error}",
            cure="use plain numbers, strings, bytes, lists and dicts",
        ) from error
    if len(body) > MAX_BODY:
        raise ContractError(
            f"stage {stage} puts {len(body)} bytes on frame {token.seq}, {MAX_BODY} can be kept",
            cure="keep large arrays in the slot's side area and name them by reference",
        )
    return _HEAD.pack(SYNC, len(body), zlib.crc32(body)) + body


def _records(fd: int, at: int) -> Iterator[tuple[int, bytes]]:
    """Every whole record from byte ``at`` on, with its offset; torn ones are stepped over."""
    while block := os.pread(fd, _BLOCK, at):
        place = 0
        while (body := _whole(block, place)) is not None:
            yield at + place, body
            place += _HEAD.size + len(body)
        if place == 0:
            place = block.find(SYNC, 1)
        if place < 0:
            if len(block) < _BLOCK:
                return
            place = len(block) - len(SYNC) + 1
        at += place


def _whole(block: bytes, at: int) -> bytes | None:
    """The body of the record at a place in a block; None if it is torn, or none."""
    if len(block) - at < _HEAD.size:
        return None
    sync, size, crc = _HEAD.unpack_from(block, at)
    body = block[at + _HEAD.size : at + _HEAD.size + size]
    if sync != SYNC or size > MAX_BODY or len(body) < size or zlib.crc32(body) != crc:
        return None
    return body
