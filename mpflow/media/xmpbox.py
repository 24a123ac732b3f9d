"""The XMP packet of an mp4 or mov file: a box of its own at the top level.

    ftyp  free  mdat  moov  uuid BE7ACFCB... <packet>

So the XMP specification has it (part 3). As the last box it moves no offset in the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

XMP_BOX = UUID("be7acfcb-97a9-42e8-9c71-999491e3afac").bytes
_HEADER = 8
_USER_TYPE = b"uuid"
_MOST_PACKET = 1 << 20
_FIRST_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"styp"})


def append_packet(path: Path, packet: bytes) -> None:
    """Add a packet to a file that is whole and closed. Raises OSError."""
    size = _HEADER + len(XMP_BOX) + len(packet)
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(size.to_bytes(4, "big") + _USER_TYPE + XMP_BOX + packet)


def read_packet_of(path: Path) -> bytes:
    """The XMP packet of an mp4 or mov file; empty where there is none. Raises OSError."""
    end = path.stat().st_size
    with path.open("rb") as file:
        place = 0
        while place + _HEADER <= end:
            file.seek(place)
            head = file.read(_HEADER)
            size, kind, start = int.from_bytes(head[:4], "big"), head[4:], _HEADER
            if not place and kind not in _FIRST_BOXES:
                return b""
            if size == 1:
                size, start = int.from_bytes(file.read(8), "big"), 2 * _HEADER
            size = size or end - place  # the last box may say that it goes to the end
            if size < start:
                return b""
            if kind == _USER_TYPE and file.read(16) == XMP_BOX and size <= _MOST_PACKET:
                return file.read(size - start - 16)
            place += size
    return b""
