"""Jobs that would hurt each other or an input, and outputs that exist already."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mpflow.errors import MpflowError, OutputError
from mpflow.media.chunks import is_done
from mpflow.spec import JobSpec, Overwrite
from mpflow.urls import is_url

STDOUT = "-"

Confirm = Callable[[Path], bool]
"""Asks a person whether one existing file may be overwritten."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A job, or why it will not run: its input's error, or the reason it is skipped."""

    job: JobSpec
    error: MpflowError | None = None
    skipped: str = ""


def check_apart(planned: Sequence[Planned], written_besides: Sequence[str] = ()) -> None:
    """No path may be written that is read, or written twice; raises OutputError."""
    read = {_identity(one.job.input): one.job.input for one in planned if one.error is None}
    written: dict[object, str] = {}
    for path in written_besides:
        identity = _identity(path)
        if identity in read:
            raise OutputError(
                f"{path!r} is the same file as input {read[identity]!r}", cure="choose another name"
            )
        written[identity] = "the run itself"
    for job in (one.job for one in planned):
        for path in _written_by(job):
            identity = _identity(path)
            if identity in read:
                raise OutputError(_same(path, job, read[identity]), cure="choose another output")
            if identity in written:
                raise OutputError(
                    f"{written[identity]!r} and {job.input!r} would both write {path!r}",
                    cure="give them outputs of different names",
                )
            written[identity] = job.input


def _written_by(job: JobSpec) -> Iterator[str]:
    outputs = () if job.output in ("", STDOUT) else (job.output, job.partial, job.parts)
    yield from (path for path in (*outputs, job.tokens, job.trace) if path)


def _same(path: str, job: JobSpec, source: str) -> str:
    if path in (job.output, job.tokens, job.trace):
        return f"output {path!r} is the same file as input {source!r}"
    return f"output {job.output!r} is made under the name {path!r}, which is the input {source!r}"


def _identity(path: str) -> object:
    """What makes two names one file: device and inode where it exists, else the real path."""
    if not is_url(path):
        try:
            status = Path(path).stat()
        except (OSError, ValueError):
            return os.path.realpath(path)
        return status.st_dev, status.st_ino
    return path


def settle_existing(
    planned: Sequence[Planned], overwrite: Overwrite, confirm: Confirm | None
) -> list[Planned]:
    """What becomes of jobs whose output exists; raises OutputError where nobody can be asked.

    A job that is resumed and has its output, with nothing left of an earlier run, is finished.
    """
    planned = [_finished(one) if overwrite == "ask" else one for one in planned]
    existing = [one for one in planned if not one.skipped and exists(one.job.output)]
    if existing and overwrite == "ask" and confirm is None:
        more = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise OutputError(
            f"{existing[0].job.output!r} exists already{more}",
            cure="-y overwrites, -n skips what exists",
        )
    return [_allow(one, overwrite, confirm) if one in existing else one for one in planned]


def _finished(planned: Planned) -> Planned:
    job = planned.job
    parts = Path(job.parts)
    if job.resume and exists(job.output) and (is_done(parts) or not parts.exists()):
        return replace(planned, skipped="its output is finished")
    return planned


def exists(output: str) -> bool:
    """Whether there is a file to overwrite; raises OutputError where something else is."""
    if output in ("", STDOUT):
        return False
    try:
        mode = os.lstat(output).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(
            f"{output!r} cannot be written: {error.strerror}", cure="choose another output"
        ) from error
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OutputError(f"{output!r} exists and is no file", cure="choose another output")
    return True


def _allow(planned: Planned, overwrite: Overwrite, confirm: Confirm | None) -> Planned:
    path = Path(planned.job.output)
    if overwrite == "yes" or (overwrite == "ask" and confirm is not None and confirm(path)):
        return replace(planned, job=msgspec.structs.replace(planned.job, overwrite=True))
    return replace(planned, skipped="its output exists")
