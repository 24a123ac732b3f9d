"""A file that is there whole or not at all, also when the machine dies.

bytes -> .NAME.HOST-PID, on the disk -> NAME
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o666
"""Modes: for the owner alone; for whoever the umask leaves."""


def making(path: Path) -> Path:
    """The name that a file has while this process makes it, on whatever machine."""
    return path.with_name(f".{path.name}.{os.uname().nodename}-{os.getpid()}")


def write_whole(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file under its final name only when it is whole and on the disk; raises OSError.

    Nobody but who may can have opened it before.
    """
    half = making(path)
    try:
        write_new(half, data, mode)
        sync(half)
        half.replace(path)
    finally:
        with suppress(OSError):
            half.unlink()


def write_new(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file anew, in place of one of this name; raises OSError."""
    with suppress(FileNotFoundError):
        path.unlink()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk; raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
