"""A file of JSON lines that is cut back to what is durable when somebody goes on with it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from mpflow.errors import MpflowError, OutputError, ResourceError

_FULL = {errno.ENOSPC, errno.EDQUOT}


def file_error(path: Path, error: OSError) -> MpflowError:
    """Why a file cannot be written, with the cure."""
    what = f"{str(path)!r} cannot be written: {error.strerror or error}"
    if error.errno in _FULL:
        return ResourceError(what, cure="free some disk space, or choose another place")
    return OutputError(what, cure="choose another place")


class LineFile:
    """Appends lines; ``keep`` makes them last. Raises OutputError or ResourceError."""

    def __init__(self, path: Path, keeps: Callable[[bytes], bool]) -> None:
        """Open ``path``, made if missing, and cut off its first line that ``keeps`` denies and all
        that comes after."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = os.fdopen(
                os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b"
            )
            self._cut(keeps)
        except OSError as error:
            raise file_error(path, error) from error

    def write(self, lines: Iterable[bytes]) -> None:
        """Append whole lines."""
        try:
            self._file.writelines(lines)
        except OSError as error:
            raise file_error(self._path, error) from error

    def keep(self) -> None:
        """What was written is on the disk when this returns."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise file_error(self._path, error) from error

    def close(self) -> None:
        """Close the file; without ``keep`` the last lines may be lost."""
        try:
            self._file.close()
        except OSError as error:
            raise file_error(self._path, error) from error

    def _cut(self, keeps: Callable[[bytes], bool]) -> None:
        end = 0
        for line in self._file:
            if not (line.endswith(b"\n") and keeps(line)):
                break
            end += len(line)
        self._file.seek(end)
        self._file.truncate()
