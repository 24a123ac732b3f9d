"""The sidecar of a video that was redacted, or in which faces were made: OUT.mpflow.json.

It says what was done, and to which bytes.

    output has its final name -> input and output hashed -> OUT.mpflow.json

It is written last, so where there is one its output is whole. No path, file name or name of a
person is in it: it may lie beside a video that anybody gets (mpflow.jobs.operations).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from mpflow._version import __version__
from mpflow.accounts import LedgerSummary
from mpflow.errors import OutputError
from mpflow.importer import stage_class
from mpflow.jobs.sidefiles import require_ours
from mpflow.layers import in_part, redacts
from mpflow.linefile import file_error
from mpflow.making import makes_faces
from mpflow.spec import MADE, REDACTED, REDACTED_IN_PART, STDOUT, JobSpec, PipelineSpec
from mpflow.urls import is_url
from mpflow.wholefile import write_whole

FORMAT = 1
"""Changes when a reader of the file would have to."""

ENDING = ".mpflow.json"
SIDECAR_BEGINS = re.compile(rb'\{\s*"mpflow_sidecar":\s*\d+,')

_BLOCK = 1 << 20
_FOUND = ("faces", "frames_with_faces", "covered", "open")

Breath = Callable[[], None]
"""Called between two blocks of a file that is hashed; may raise to stop."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The frames of one output, and what became of each of the input's, where that is known."""

    written: int
    ledger: LedgerSummary | None = None


def sidecar_name(output: Path) -> Path:
    """NAME.EXT.mpflow.json beside NAME.EXT."""
    return output.with_name(f"{output.name}{ENDING}")


def has_sidecar(spec: PipelineSpec) -> bool:
    """Whether what this pipeline makes gets a sidecar: a video, of stages that hide people or make
    faces; where they do, it gets one in any case."""
    *_, sink = spec.stages
    if getattr(stage_class(sink.target), "suffix", ""):
        return False
    hides = redacts(stage.target for stage in spec.stages)
    return bool(makes_faces(spec)) or (spec.sidecar and hides)


def with_sidecar(job: JobSpec) -> JobSpec:
    """The job with the name of its sidecar; one without a file of its own gets none."""
    if job.live or job.chunk or job.output in ("", STDOUT):
        return job
    return msgspec.structs.replace(job, sidecar=str(sidecar_name(Path(job.output))))


def require_sidecar_ours(job: JobSpec) -> None:
    """Raise OutputError where a folder has the sidecar's name, or a file of another kind that is to
    stay."""
    if job.sidecar and Path(job.sidecar).is_dir():
        raise OutputError(
            f"the sidecar {job.sidecar!r} is a folder",
            cure="move it away; --no-sidecar writes none",
        )
    if job.sidecar and not job.overwrite:
        cure = "move it away; -y overwrites it, --no-sidecar writes none"
        require_ours("the sidecar", job.sidecar, SIDECAR_BEGINS, cure)


def write_sidecar(
    spec: PipelineSpec, job: JobSpec, counted: Counted, breathe: Breath = lambda: None
) -> None:
    """Write the sidecar of an output that is whole, or not at all; nothing for a job without.

    Raises OutputError or ResourceError, and what ``breathe`` raises.
    """
    if not job.sidecar:
        return
    path = Path(job.sidecar)
    try:
        data = _content(spec, job, counted, breathe)
        text = msgspec.json.format(msgspec.json.encode(data), indent=2)
        write_whole(path, text + b"\n")
    except OSError as error:
        raise file_error(path, error) from error


def remove_sidecar(job: JobSpec) -> None:
    """Remove a sidecar of ours that tells of an output which this job has replaced."""
    if job.live or job.chunk or not job.overwrite or job.output in ("", STDOUT):
        return
    path = sidecar_name(Path(job.output))
    with suppress(OSError):  # it may stay: its hash tells that it is about another file
        with path.open("rb") as file:
            is_ours = SIDECAR_BEGINS.match(file.read(64)) is not None
        if is_ours:
            path.unlink()


def _content(spec: PipelineSpec, job: JobSpec, counted: Counted, breathe: Breath) -> dict[str, Any]:
    from mpflow.jobs.operations import changes_of, models_of_stages, operations_of, preset_of

    ledger = counted.ledger
    return {
        "mpflow_sidecar": FORMAT,
        "what": _what(spec),
        "made": _made(spec),
        "mpflow": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "preset": preset_of(spec),
        "privacy": spec.privacy,
        "on_failure": spec.on_failure,
        "operations": operations_of(spec),
        "changed": None if ledger is None else changes_of(spec, ledger.changed),
        "models": models_of_stages(spec),
        "input": _file_facts(job.input, breathe),
        "output": _file_facts(job.output, breathe),
        "frames": _frames(job, counted),
    }


def _what(spec: PipelineSpec) -> str:
    """What the comment of the output says too, unless somebody had it say something else."""
    stages = [(stage.target, stage.options) for stage in spec.stages]
    hides = redacts(target for target, _ in stages)
    redacted = (REDACTED_IN_PART if in_part(stages) else REDACTED) if hides else ""
    return "; ".join(filter(None, (redacted, MADE if makes_faces(spec) else "")))


def _made(spec: PipelineSpec) -> dict[str, Any] | None:
    """How faces were made, also in IPTC's terms; None where none was."""
    from mpflow.provenance.tags import source_type_of

    how = makes_faces(spec)
    return {"how": how, "digital_source_type": source_type_of(how)} if how else None


def _file_facts(path: str, breathe: Breath) -> dict[str, Any]:
    """Size and sha256 of a file; of what is none (a URL, a pipe) nothing is known."""
    if is_url(path) or not Path(path).is_file():
        return {"size": None, "sha256": None}
    digest, size = hashlib.sha256(), 0
    with Path(path).open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
            breathe()
    return {"size": size, "sha256": digest.hexdigest()}


def _frames(job: JobSpec, counted: Counted) -> dict[str, Any]:
    """The range that was wanted of the input, and what became of its frames."""
    ledger = counted.ledger
    names = ("delivered", "masked", "passed", "dropped", "degraded", "left", *_FOUND)
    return {
        "start": job.start,
        "stop": job.stop,
        "written": counted.written,
        **{name: None if ledger is None else getattr(ledger, name) for name in names},
    }
