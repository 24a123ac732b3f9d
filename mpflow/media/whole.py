"""Whether a file is as long as its own structure says: one that was cut off is not.

Only sizes are read, a few bytes each, so that the answer costs nothing and never depends on
durations, which containers round, estimate or leave out.

    Matroska  the segment's size      AVI  the RIFF chunks' sizes      mp4  the boxes' sizes
    MPEG-TS   packets of 188 bytes (192 or 204 with a time or a check sum beside each)
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from mpflow.urls import is_url

_TS_PACKETS = (188, 192, 204)
_EBML_HEADER, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
_FRAGMENT_BOXES = frozenset({b"moov", b"mdat", b"moof", b"ftyp", b"styp"})
# A file of more boxes or chunks than this is not walked to its end.
_MOST_PARTS = 100_000
# A Matroska file ends with an index or tags: so many zeros are a hole that was never filled.
_HOLE = 4096


class Ending(Enum):
    """What a file's structure tells of its end."""

    WHOLE = "as long as it says"
    CUT = "shorter than it says"
    UNKNOWN = "it does not say"


def ending(path: str, container: str) -> Ending:
    """Judge a file by its container's FFmpeg name; a URL is never asked."""
    judge = _JUDGES.get(container)
    if judge is None or is_url(path):
        return Ending.UNKNOWN
    try:
        size = Path(path).stat().st_size
        with Path(path).open("rb") as file:
            return judge(file, size)
    except OSError:
        return Ending.UNKNOWN


def _matroska(file: BinaryIO, size: int) -> Ending:
    """EBML header, then the segment: an element's size is coded as RFC 8794 section 4 has it."""
    if file.read(4) != _EBML_HEADER:
        return Ending.UNKNOWN
    header = _coded_size(file)
    if header is None:
        return Ending.UNKNOWN
    file.seek(header, 1)
    if file.read(4) != _SEGMENT:
        return Ending.UNKNOWN
    segment = _coded_size(file)
    if segment is None:
        return Ending.UNKNOWN
    if file.tell() + segment > size:
        return Ending.CUT
    file.seek(max(0, size - _HOLE))
    return Ending.WHOLE if any(file.read(_HOLE)) else Ending.UNKNOWN


def _coded_size(file: BinaryIO) -> int | None:
    """A size whose first bits tell its length; None where it says that it is not known."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    raw = first + file.read(length - 1)
    bits = 7 * length
    value = int.from_bytes(raw, "big") & ((1 << bits) - 1)
    return None if value == (1 << bits) - 1 else value


def _avi(file: BinaryIO, size: int) -> Ending:
    """One RIFF chunk, or several in files of more than a gigabyte."""
    at = 0
    for _ in range(_MOST_PARTS):
        file.seek(at)
        head = file.read(8)
        if head[:4] != b"RIFF" or len(head) < 8:
            return Ending.WHOLE if at else Ending.UNKNOWN
        length = int.from_bytes(head[4:], "little")
        if not length:
            return Ending.UNKNOWN  # a recording that was never finished
        at += 8 + length + length % 2
        if at - length % 2 > size:
            return Ending.CUT
    return Ending.UNKNOWN


def _mp4(file: BinaryIO, size: int) -> Ending:
    """The boxes at the top, one after the other; what is no box (padding) ends the walk."""
    at = 0
    for _ in range(_MOST_PARTS):
        file.seek(at)
        head = file.read(16)
        if len(head) < 8 or (not at and head[4:8] not in _FRAGMENT_BOXES):
            return Ending.WHOLE if at else Ending.UNKNOWN
        length = int.from_bytes(head[:4], "big")
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if length == 0:
            return Ending.UNKNOWN  # to the end of the file, wherever that is
        if length < 8:
            return Ending.WHOLE
        at += length
        if at > size:
            return Ending.CUT if head[4:8] in _FRAGMENT_BOXES else Ending.WHOLE
    return Ending.UNKNOWN


def _transport_stream(file: BinaryIO, size: int) -> Ending:
    """Only a part of a packet tells: a cut between two packets cannot be seen."""
    return Ending.CUT if all(size % packet for packet in _TS_PACKETS) else Ending.UNKNOWN


_JUDGES: dict[str, Callable[[BinaryIO, int], Ending]] = {
    "matroska,webm": _matroska,
    "avi": _avi,
    "mov,mp4,m4a,3gp,3g2,mj2": _mp4,
    "mpegts": _transport_stream,
}
