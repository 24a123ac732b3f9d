"""The folders that a job's output needs: made just before it, gone again if nothing came of it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mpflow.errors import MpflowError, OutputError, ResourceError
from mpflow.spec import JobSpec

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def folders_for(job: JobSpec) -> Iterator[None]:
    """Make what is missing of the output's folder; raises OutputError or ResourceError."""
    if not job.partial or job.output == "-":
        yield
        return
    made = _make(Path(job.partial).parent)
    try:
        yield
    finally:
        for folder in made:
            with suppress(OSError):  # what is in it stays, and so does the folder
                folder.rmdir()


def _make(folder: Path) -> list[Path]:
    """Make what is missing; the deepest first, as they would have to be removed."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return missing


def _unwritable(folder: Path, error: OSError) -> MpflowError:
    what = f"folder {str(folder)!r} cannot be made: {error.strerror}"
    if error.errno in _FULL:
        return ResourceError(what, cure="free some disk space, or choose another output")
    return OutputError(what, cure="choose another output")
