"""The output file's names: made under its partial name, given its final name when whole.

prepare: check -> create NAME.partial.EXT -> lock it     commit: fsync -> rename -> fsync folder
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

import av

from mpflow.errors import ConfigError, InternalError, MpflowError, OutputError, ResourceError
from mpflow.spec import JobSpec, partial_name
from mpflow.wholefile import sync

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class OutputFile:
    """One output: ``final`` is its name, ``partial`` the name it has until it is whole."""

    def __init__(self, job: JobSpec) -> None:
        self.final = Path(job.output)
        self.partial = Path(job.partial) if job.partial else partial_name(self.final)
        self._input = job.input
        self._overwrite = job.overwrite
        self._lock: int | None = None
        self._is_ours = False

    def prepare(self) -> None:
        """Check that the output can be written, then create and lock the partial file.

        Raises OutputError or ResourceError; after an error nothing was made.
        """
        self._check()
        self._is_ours = not self.partial.exists()
        try:
            while not self._lock_partial():
                self.release()
        except BlockingIOError as error:
            self.release()
            raise OutputError(
                f"another run is writing {str(self.partial)!r}", cure="give another output name"
            ) from error
        except OSError as error:
            self.release()
            raise output_error(self.partial, error) from error

    def commit(self) -> int:
        """Give the whole file its final name for good; returns its size in bytes."""
        try:
            sync(self.partial)
            size = self.partial.stat().st_size
            if self._overwrite:
                self.partial.replace(self.final)
            else:
                rename_new(self.partial, self.final)
            with suppress(OSError):  # the file has its name; some folders cannot be synced
                sync(self.final.parent)
        except FileExistsError as error:
            raise self._exists() from error
        except OSError as error:
            raise output_error(self.final, error) from error
        finally:
            self.release()
        return size

    def discard(self) -> None:
        """Remove the partial file."""
        self.partial.unlink(missing_ok=True)
        self.release()

    def abandon(self) -> None:
        """Give up before anything was written; a partial file of an earlier run stays."""
        if self._is_ours:
            self.partial.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _lock_partial(self) -> bool:
        """Open and lock the partial file; False if its name went meanwhile, with another run.

        Where the file system has no locks (some network disks), the run goes on without one.
        """
        self._lock = os.open(self.partial, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        try:
            return self.partial.samefile(f"/proc/self/fd/{self._lock}")
        except FileNotFoundError:
            return False

    def _check(self) -> None:
        name = str(self.final)
        if not self.final.name:
            raise OutputError("there is no output name", cure="give one with -o")
        if self.final.is_dir():
            raise OutputError(f"the output {name!r} is a directory", cure="give a file name in it")
        if not self.final.parent.is_dir():
            folder = str(self.final.parent)
            raise OutputError(f"there is no directory {folder!r}", cure=f"mkdir -p {folder!r}")
        for ours in (self.final, self.partial):
            if _same_file(ours, self._input):
                raise OutputError(
                    f"the output {str(ours)!r} is the input itself", cure="give another output"
                )
        if self.final.exists() and not self._overwrite:
            raise self._exists()

    def _exists(self) -> OutputError:
        return OutputError(
            f"the output {str(self.final)!r} exists already", cure="-y overwrites it"
        )


def output_error(path: Path, error: OSError) -> MpflowError:
    """What an error of the system means for an output, with its cure."""
    name, number = str(path), error.errno
    if number in _NO_ROOM:
        return ResourceError(
            f"the disk is full: {name!r} could not be written",
            cure=f"free some space in {str(path.parent)!r} or write elsewhere",
        )
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return OutputError(
            f"{str(path.parent)!r} may not be written to", cure="choose a directory of yours"
        )
    if number == errno.ENAMETOOLONG:
        return OutputError(f"the name {name!r} is too long", cure="give a shorter one")
    if number == errno.EINVAL:
        return ConfigError(f"{name!r} could not be written: {error}", cure="try .mkv")
    if number == errno.ENOENT and path.parent.is_dir():
        folder = str(path.parent)
        return OutputError(f"the folder {folder!r} takes no files", cure="choose one on a disk")
    return OutputError(
        f"{name!r} could not be written: {error.strerror or error}", cure="write elsewhere"
    )


def parts_error(folder: Path, error: OSError) -> MpflowError:
    """What an error of the system means for a folder of parts, with its cure."""
    if folder.exists() and not folder.is_dir():
        return OutputError(
            f"{str(folder)!r} is a file, not a folder",
            cure="move it away, or give another output name: the parts of the output go there",
        )
    if isinstance(error, FileNotFoundError) and not folder.exists():
        return OutputError(
            f"the folder {str(folder)!r} is gone: somebody removed it during the run",
            cure="run again, and leave it alone meanwhile",
        )
    return output_error(folder / Path(error.filename).name if error.filename else folder, error)


def explain_write(file: OutputFile, error: Exception) -> MpflowError:
    """What a failed write means; a full disk is told apart from everything else."""
    if isinstance(error, OSError):
        return output_error(file.partial, error)
    if isinstance(error, av.ArgumentError):
        return ConfigError(
            f"the output {str(file.final)!r} cannot be written like this: {error}", cure="try .mkv"
        )
    return InternalError(f"{str(file.final)!r} could not be written: {error}")


def rename_new(partial: Path, final: Path) -> None:
    """Rename without ever replacing a file; raises FileExistsError.

    A hard link is made and the old name dropped; where the file system has no links, the check
    and the rename are two steps.
    """
    try:
        os.link(partial, final)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if final.exists():
            raise FileExistsError(errno.EEXIST, "exists", str(final)) from error
        partial.rename(final)
    else:
        partial.unlink(missing_ok=True)  # whoever goes on with a finished output drops it too


def _same_file(ours: Path, theirs: str) -> bool:
    try:
        return ours.samefile(theirs)
    except OSError:
        return False
