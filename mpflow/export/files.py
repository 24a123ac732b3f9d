"""Files of an export: written whole or not at all; what shows a face is for its owner alone."""

from __future__ import annotations

from pathlib import Path

from mpflow.linefile import file_error
from mpflow.wholefile import PUBLIC, write_whole


def write_result(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file whole or not at all; raises OutputError or ResourceError."""
    try:
        write_whole(path, data, mode)
    except OSError as error:
        raise file_error(path, error) from error


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner can look into, unless it is there."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise file_error(path, error) from error
    return path
