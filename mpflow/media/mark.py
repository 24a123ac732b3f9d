"""The mark in a folder of parts: which file became the output, and what there is to say of it.

It is written right before the rename, so it is believed only where the output is that very file.
Nothing here opens a video: a command line asks it before anything is loaded.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

DONE = "done.json"


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The output's inode and size, its pictures, and the place after its last frame."""

    inode: int
    size: int
    pictures: int
    stop: int
    last: int | None = None


def mark_of(folder: Path, output: Path) -> Mark | None:
    """The mark in the parts of an output that has its final name, None for any other file."""
    try:
        mark = msgspec.json.decode((folder / DONE).read_bytes(), type=Mark)
        status = output.stat()
    except (OSError, msgspec.DecodeError):
        return None
    return mark if (status.st_ino, status.st_size) == (mark.inode, mark.size) else None
