"""What lies in a parts folder beside the chunks: the plan, and a note that the output was joined.

The note keeps the last step repeatable: it knows the output by size and time, so that one which
was changed since is not taken for ours.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mpflow.errors import MpflowError, OutputError, Refused, ResourceError
from mpflow.farm.keep import ANALYSED
from mpflow.farm.numbers import Range
from mpflow.farm.plan import PLAN_NAME, Plan, PlanFile
from mpflow.farm.sink import sink_of
from mpflow.media.chunks import found, remove_parts
from mpflow.spec import Job, JobSpec, MediaInfo, Value, settings_of

CHECKPOINT_NAME = "checkpoint.json"
_JOINED_NAME = "joined.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Found:
    """What is in a parts folder: frames of chunks that are ``made`` and the ``pictures`` in them,
    names of ``foreign`` ones."""

    made: frozenset[Range]
    pictures: int
    foreign: tuple[str, ...] = ()


class _Joined(Value, frozen=True):
    size: int
    time_ns: int


def set_up(plan: Plan, media: MediaInfo, file: PlanFile, warn: Callable[[str], None]) -> None:
    """Make the parts folder, its checkpoint, and the plan's file.

    Raises Refused where the folder is for another input or other settings, and OutputError or
    ResourceError where it cannot be written.
    """
    parts = Path(plan.parts)
    try:
        with suppress(FileExistsError):  # a file is named by what comes next
            parts.mkdir()
        claim(plan, media, warn)
        file.save(plan)
    except OSError as error:
        raise _unwritable(error) from error
    finally:
        with suppress(OSError):
            parts.rmdir()  # nothing came of it


def claim(plan: Plan, media: MediaInfo, warn: Callable[[str], None]) -> None:
    """Note in the parts folder what it is for, or compare; raises Refused for each difference."""
    spec = JobSpec(
        "plan",
        plan.input,
        plan.output,
        parts=plan.parts,
        chunk=True,
        settings=settings_of(plan.pipeline),
    )
    sink_of(plan, warn).claim(Job(spec, media))


def require_claimed(plan: Plan) -> None:
    """Raise Refused where the parts folder is not the one that was planned."""
    parts = Path(plan.parts)
    if not (parts / CHECKPOINT_NAME).is_file():
        raise Refused(
            f"{str(parts)!r} has no checkpoint: it was never planned on this machine's storage,"
            " or was removed",
            cure="is the share mounted where it was? else make the plan again with -y",
        )


def chunks_in(plan: Plan) -> Found:
    """The plan's chunks that are whole, and those of other settings than the checkpoint's."""
    from mpflow.media.checkpoint import digest, load

    parts = Path(plan.parts)
    key = load(parts)
    ours = "" if key is None else digest(key)
    wanted = set(plan.chunks)
    whole = [chunk for chunk in found(parts) if (chunk.start, chunk.stop) in wanted]
    return Found(
        frozenset((chunk.start, chunk.stop) for chunk in whole if chunk.key == ours),
        sum(chunk.pictures for chunk in whole if chunk.key == ours),
        tuple(chunk.name for chunk in whole if chunk.key != ours),
    )


def tear_down(plan: Plan) -> None:
    """Remove the chunks and what lies beside them; what is not ours stays.

    Raises OutputError where that cannot be, or where a run is writing the output: then the parts
    may be its own.
    """
    from mpflow.media.output import OutputFile, parts_error

    parts = Path(plan.parts)
    output = OutputFile(JobSpec("", "", plan.output, overwrite=True))
    output.prepare()
    try:
        for name in (_JOINED_NAME, ANALYSED, PLAN_NAME):
            (parts / name).unlink(missing_ok=True)
        remove_parts(parts)
    except OSError as error:
        raise parts_error(parts, error) from error
    finally:
        output.abandon()


def note_joined(plan: Plan) -> None:
    """Note that the output is whole."""
    with suppress(OSError):  # the output is there; only repeating the step would not be free
        status = Path(plan.output).stat()
        note = _Joined(status.st_size, status.st_mtime_ns)
        (Path(plan.parts) / _JOINED_NAME).write_bytes(msgspec.json.encode(note))


def is_joined(plan: Plan) -> bool:
    """Whether the output is the one that was joined from these parts."""
    try:
        status = Path(plan.output).stat()
        note = msgspec.json.decode((Path(plan.parts) / _JOINED_NAME).read_bytes(), type=_Joined)
    except (OSError, msgspec.DecodeError):
        return False
    return note == _Joined(status.st_size, status.st_mtime_ns)


def _unwritable(error: OSError) -> MpflowError:
    what = f"{error.filename!r} cannot be written: {error.strerror}"
    if error.errno in _FULL:
        return ResourceError(what, cure="free some disk space")
    return OutputError(what, cure="may this user write there?")
