"""Whether an output that is whole was made as it is asked for now, as far as anything tells.

Its sidecar knows the settings that hold no name; the parts of a run that was killed between its
last two steps know all of them. Where neither is there, nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mpflow.errors import Refused
from mpflow.jobs.operations import models_of_stages, operations_of
from mpflow.spec import JobSpec, PipelineSpec, settings_of

_UNTOLD = object()


class _File(msgspec.Struct):
    size: int | None = None


class _Frames(msgspec.Struct):
    start: int = 0
    stop: int | None = None


class _Operation(msgspec.Struct):
    stage: str
    options: dict[str, Any] = {}
    left_out: list[str] = []


class _Told(msgspec.Struct):
    """What of a sidecar is held against what is asked now."""

    operations: list[_Operation]
    models: list[dict[str, Any]]
    input: _File
    output: _File
    frames: _Frames


def require_same(spec: PipelineSpec, job: JobSpec) -> None:
    """Raise Refused that names what differs, where the sidecar of an output tells of other
    settings, other frames, or an input of another size."""
    told = _sidecar_of(job)
    if told is None:
        return
    said = [*_other_work(told, spec), *_other_input(told, job)]
    if said:
        raise Refused(
            f"{job.output!r} is finished, but by its sidecar it was made {'; '.join(said)}",
            cure="ask for the same again to leave it; -y without --resume makes it anew",
        )


def require_same_parts(spec: PipelineSpec, job: JobSpec) -> None:
    """The same by the settings in the parts of an output that has only just got its name."""
    from mpflow.media.checkpoint import compare, flat, load

    folder = Path(job.parts)
    kept = load(folder)
    if kept is None:
        return
    asked = {**dict(flat(settings_of(spec))), "start": job.start, "stop": job.stop}
    now = _plain(asked)
    known = [name for name in now if name in kept and not name.endswith(".threads")]
    compare(folder, {name: kept[name] for name in known}, {name: now[name] for name in known})


def _sidecar_of(job: JobSpec) -> _Told | None:
    """What lies beside an output, if it tells of that very file."""
    try:
        told = msgspec.json.decode(Path(job.sidecar).read_bytes(), type=_Told)
        size = Path(job.output).stat().st_size
    except (OSError, msgspec.DecodeError):
        return None
    return told if told.output.size == size else None


def _other_work(told: _Told, spec: PipelineSpec) -> Iterator[str]:
    now = msgspec.convert(_plain(operations_of(spec)), list[_Operation])
    stages = [", ".join(each.stage for each in work) for work in (told.operations, now)]
    if stages[0] != stages[1]:
        yield f"by the stages {stages[0]}, now {stages[1]}"
        return
    for one, other in zip(told.operations, now, strict=True):
        yield from _other_options(one, other)
    if told.models != _plain(models_of_stages(spec)):
        yield "with other models"


def _other_options(before: _Operation, now: _Operation) -> Iterator[str]:
    """The options of a stage that both sides know and that differ."""
    olds, news = (
        {**dict.fromkeys(each.left_out, _UNTOLD), **each.options} for each in (before, now)
    )
    for name, new in news.items():
        if (old := olds.get(name, new)) != new:
            yield f"with {now.stage}.{name}={_shown(old)}, now {_shown(new)}"


def _other_input(told: _Told, job: JobSpec) -> Iterator[str]:
    """Frames and size only: to hash every input of a folder would take as long as to read it."""
    before, now = (told.frames.start, told.frames.stop), (job.start, job.stop)
    if before != now:
        yield f"of the frames {_range(*before)}, now {_range(*now)}"
    size = told.input.size
    if size is not None and Path(job.input).is_file() and Path(job.input).stat().st_size != size:
        yield "from another input"


def _plain(values: object) -> Any:
    """As a file has them."""
    return msgspec.json.decode(msgspec.json.encode(values))


def _range(start: int, stop: int | None) -> str:
    """As ``--frames`` takes it."""
    return f"{start}-{'' if stop is None else stop - 1}"


def _shown(value: object) -> str:
    if value is _UNTOLD:
        return "something that is not told"
    return "nothing" if value in (None, "") else str(value)
