"""Files of an export: written whole or not at all; what shows a face is for its owner alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mpflow.linefile import file_error

PRIVATE = 0o600
PUBLIC = 0o666


def write_whole(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file under its final name only when it is whole and on the disk.

    Raises OutputError or ResourceError.
    """
    making = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(making, data, mode)
        sync([making])
        making.replace(path)
    except OSError as error:
        raise file_error(path, error) from error
    finally:
        with suppress(OSError):
            making.unlink()


def write(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file that nobody but its owner can have opened before its mode was set."""
    with suppress(FileNotFoundError):
        path.unlink()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def sync(paths: Sequence[Path]) -> None:
    """Bring files to the disk."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can look into, unless it is there."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise file_error(path, error) from error
    return path
