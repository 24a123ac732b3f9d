"""What a file has to say of itself, whatever else is kept of its input: a comment, tags, XMP.

    Declaration -> declare: comment and tags, before the header is written
                -> seal: the XMP packet, once the file is whole and closed

A packet is a box of its own at the end of mp4 and mov, as the XMP specification has it (part 3): no
offset in the file changes. Whatever cannot be kept by a container is named in a warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from mpflow.media.muxer import FRAGMENTED
from mpflow.media.tags import add_comment

XMP_BOX = UUID("be7acfcb-97a9-42e8-9c71-999491e3afac").bytes
_HEADER = 8
_USER_TYPE = b"uuid"
_MOST_PACKET = 1 << 20
_FIRST_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"styp"})

# Containers that keep a tag under any name. mp4 and mov do so with the muxer's metadata keys.
_FREE = frozenset({"mp4", "mov", "ipod", "matroska", "webm", "flv", "nut", "ogg"})
_COMMENTS = frozenset({"avi", "asf", "3gp", "3g2", "psp"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """A ``comment``, ``tags`` by name, and an XMP ``packet``; empty for nothing to be said."""

    comment: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    packet: bytes = b""


SILENT = Declaration()


def declare(
    tags: MutableMapping[str, str],
    said: Declaration,
    container: str,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Put a comment and tags among those of a file; what its container loses is named.

    ``container`` is FFmpeg's name. A tag that the input brought under the same name is replaced.
    """
    add_comment(tags, said.comment)
    for name, value in said.tags.items():
        for old in [each for each in tags if each.lower() == name.lower()]:
            del tags[old]
        tags[name] = value
    if not said.tags or container in _FREE or (said.packet and container in FRAGMENTED):
        return
    lost = ", ".join(said.tags)
    left = "only its comment says so" if container in _COMMENTS else "it has no comment either"
    say(f"{container} cannot keep the tags {lost} that say that faces were made: {left}")


def keeps_tags(container: str) -> bool:
    """Whether a container, by FFmpeg's name, keeps tags of any name."""
    return container in _FREE


def keeps_packet(container: str) -> bool:
    """Whether a container, by FFmpeg's name, has a place for an XMP packet."""
    return container in FRAGMENTED


def seal(path: Path, packet: bytes) -> None:
    """Add an XMP packet to a whole mp4 or mov file, as its last box. Raises OSError."""
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
