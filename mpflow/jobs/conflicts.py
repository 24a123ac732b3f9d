"""Jobs that would hurt each other or an input, and outputs that exist already."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mpflow.errors import MpflowError, OutputError
from mpflow.media.mark import mark_of
from mpflow.spec import STDOUT, JobSpec, Overwrite
from mpflow.urls import is_url

EXISTS = "its output exists"
"""Why a job is skipped whatever its output is."""

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
    yield from (path for path in (*outputs, job.tokens, job.trace, job.sidecar) if path)


def _same(path: str, job: JobSpec, source: str) -> str:
    if path in (job.output, job.tokens, job.trace, job.sidecar):
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

    ``yes`` is for every job: where there is no output there may be parts, which go then. A job that
    is resumed is skipped where its output exists and nothing is left to go on with.
    """
    if overwrite == "yes":
        return [_overwriting(one) for one in planned]
    planned = [_gone_on_with(one) if overwrite == "ask" else one for one in planned]
    existing = [one for one in planned if not one.skipped and exists(one.job.output)]
    if existing and overwrite == "ask" and confirm is None:
        more = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
        raise OutputError(
            f"{existing[0].job.output!r} exists already{more}", cure=_way_out(existing[0].job)
        )
    ask = confirm if overwrite == "ask" else None
    return [_allow(one, ask) if one in existing else one for one in planned]


def _way_out(job: JobSpec) -> str:
    """What can be done about an output that exists."""
    if job.live:
        return "-y replaces it, or choose another name"
    going_on = "--resume -y goes on with what there is and overwrites it"
    return f"{going_on if job.resume else '-y overwrites'}, -n skips what exists"


def _overwriting(planned: Planned) -> Planned:
    exists(planned.job.output)
    return replace(planned, job=msgspec.structs.replace(planned.job, overwrite=True))


def _gone_on_with(planned: Planned) -> Planned:
    """Skip a job that is resumed and has nothing left to do, as far as that can be known.

    Only the mark tells that the output is this job's. Without parts there is nothing to compare
    the output with: it may have been made of another input.
    """
    job = planned.job
    if not (job.resume and exists(job.output)):
        return planned
    if mark_of(Path(job.parts), Path(job.output)) is not None:
        return replace(planned, skipped="its output is finished")
    if not os.path.lexists(job.parts):
        why = f"{EXISTS}, and there is nothing left to go on with"
        return replace(planned, skipped=why)
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


def _allow(planned: Planned, confirm: Confirm | None) -> Planned:
    """``confirm`` is None where nobody is asked: what exists is skipped."""
    if confirm is not None and confirm(Path(planned.job.output)):
        return _overwriting(planned)
    return replace(planned, skipped=EXISTS)
