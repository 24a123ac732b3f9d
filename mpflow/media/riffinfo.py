"""One more text among the INFO of an AVI file that is whole and closed.

    RIFF  LIST hdrl  LIST INFO [ICMT ...]  JUNK ......  LIST movi
                     LIST INFO [ICMT ... code text]  JUNK ...

FFmpeg writes only the codes that it knows, and leaves room behind them for editors: the text goes
there, and no offset in the file changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 900
"""Of a text; FFmpeg leaves 1016 bytes."""

_HEADER = 8
_BEGIN = 12  # RIFF, size, AVI


def add_info(path: Path, code: str, text: str) -> bool:
    """Write ``text`` under a code of four letters; False where there is no room. Raises OSError."""
    data = text.encode() + b"\0"
    data += b"\0" * (len(data) % 2)
    needed = _HEADER + len(data)
    with path.open("r+b") as file:
        found = _room(file)
        if found is None or found[2] < needed:
            return False
        info, room, size = found
        file.seek(info + 4)
        inside = int.from_bytes(file.read(4), "little")
        file.seek(info + 4)
        file.write((inside + needed).to_bytes(4, "little"))
        file.seek(room)
        file.write(_header(code.encode(), len(data)) + data + _header(b"JUNK", size - needed))
    return True


def _room(file: BinaryIO) -> tuple[int, int, int] | None:
    """Where the list of INFO and the JUNK right behind it begin, and how much JUNK that is."""
    info = -1
    for place, kind, size in _chunks(file):
        if kind == b"LISTmovi":
            break
        if kind == b"LISTINFO":
            info = place
        elif info >= 0:
            return (info, place, size) if kind.startswith(b"JUNK") else None
    return None


def _chunks(file: BinaryIO) -> Iterator[tuple[int, bytes, int]]:
    """Place, kind (of a list also of what) and size of each chunk at the top level."""
    place = _BEGIN
    while True:
        file.seek(place)
        head = file.read(_HEADER + 4)
        if len(head) < _HEADER + 4:
            return
        size = int.from_bytes(head[4:8], "little")
        yield place, head[:4] + head[8:] if head[:4] == b"LIST" else head[:4], size
        place += _HEADER + size + size % 2


def _header(kind: bytes, size: int) -> bytes:
    return kind + size.to_bytes(4, "little")
