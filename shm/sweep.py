"""Remove segments whose maker was killed in the moment between their creation and their unlink.

A maker holds a flock on its segment for that moment. Whether it lives is decided by that lock
alone: process ids mean nothing between containers that share /dev/shm.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mpflow.shm.segment import DIRECTORY, PREFIX


@dataclass(frozen=True)
class Swept:
    """What a sweep found: names removed, and names left because their maker lives."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]


def sweep(directory: Path = DIRECTORY) -> Swept:
    """Remove every segment of ours in ``directory`` that no living maker holds."""
    removed: list[str] = []
    kept: list[str] = []
    for path in _ours(directory):
        (removed if _remove_if_dead(path) else kept).append(path.name)
    return Swept(tuple(removed), tuple(kept))


def _ours(directory: Path) -> Iterator[Path]:
    for entry in sorted(directory.glob(f"{PREFIX}*")):
        if entry.is_file() and not entry.is_symlink():
            yield entry


def _remove_if_dead(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
