"""Chunks of a plan as jobs for ordinary supervised runs; what is made already is skipped.

Nothing here locks: a chunk is written under a name of its own and renamed when it is whole, so
that two machines which make the same chunk do no more than that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mpflow.config import Resolved
from mpflow.errors import ConfigError, InputError, Refused
from mpflow.farm.analyse import require_logs
from mpflow.farm.check import remove_damaged
from mpflow.farm.folder import chunks_in, claim, require_claimed
from mpflow.farm.plan import Plan
from mpflow.farm.sink import require_chunks
from mpflow.importer import read_options, stage_class
from mpflow.jobs import Planned
from mpflow.jobs.sidefiles import refuse_foreign, with_side_files
from mpflow.presets import TOP_LEVEL
from mpflow.spec import JobSpec, MediaInfo, PipelineSpec, settings_of

MADE = "it is made already"


def jobs(plan: Plan, numbers: Sequence[int], warn: Callable[[str], None]) -> list[Planned]:
    """A job for each of these chunks, its id the chunk's number; those made already are skipped.

    They are read for that: what was damaged where it lies is removed, and made again.
    Raises Refused, before anything is started, where input, settings or versions are not those
    of the chunks that are there.
    """
    look_at(plan, warn)
    remove_damaged(plan, numbers, warn)
    made = chunks_in(plan).made
    require_logs(plan, [number for number in numbers if plan.chunks[number] not in made])
    return [
        Planned(chunk_job(plan, number), skipped=MADE if plan.chunks[number] in made else "")
        for number in numbers
    ]


def with_files(plan: Plan, planned: Sequence[Planned], kind: str, given: str) -> list[Planned]:
    """Give each chunk its file of a ``kind`` (``tokens``, ``trace``); raises OutputError.

    In a folder they are called ``NAME.EXT.chunk-000003`` and on, as they are made from one output.
    """
    called = [_with(one, output=f"{plan.output}.chunk-{int(one.job.id):06d}") for one in planned]
    named = with_side_files(called, kind, given, "")
    refuse_foreign(named, "choose another name, or remove it")
    return [_with(one, output=plan.output) for one in named]


def chunk_job(plan: Plan, number: int) -> JobSpec:
    """The run that makes one chunk and nothing else.

    It goes on (``resume``) where the chunk is there by the time it begins: another machine may
    have been quicker.
    """
    start, stop = plan.chunks[number]
    return JobSpec(
        str(number),
        plan.input,
        plan.output,
        start=start,
        stop=stop,
        resume=True,
        parts=plan.parts,
        chunk=True,
        settings=settings_of(plan.pipeline),
        analysed=plan.analysed,
    )


def look_at(plan: Plan, warn: Callable[[str], None]) -> MediaInfo:
    """Probe the plan's input and compare it, and all else, with what was planned.

    Raises InputError where it is gone, Refused where it or the software is another.
    """
    from mpflow.media.probe import probe

    bring_in(plan)
    require_claimed(plan)
    try:
        media = probe(plan.input)
    except InputError as error:
        cure = "is the share mounted here as on the machine that planned it?"
        raise InputError(error.what, cure=cure, facts=error.facts) from error
    try:
        claim(plan, media, warn)
    except Refused as error:
        cure = "use the same input and the same software everywhere, or `mpflow plan -y` anew"
        raise Refused(error.what, cure=cure, facts=error.facts) from error
    return media


def bring_in(plan: Plan) -> None:
    """Let the plan's stages be imported, and check their options; raises ConfigError."""
    if plan.imports and plan.imports not in sys.path:
        sys.path.append(plan.imports)
    for stage in plan.pipeline.stages:
        read_options(stage.name, stage_class(stage.target), stage.options)
    require_chunks(plan.pipeline)


def resolved_of(spec: PipelineSpec, origin: str) -> Resolved:
    """A plan's configuration as a report shows it: every value comes from the plan."""
    values = {key: getattr(spec, key) for key in TOP_LEVEL}
    for stage in spec.stages:
        own = {
            "workers": "auto" if stage.auto else stage.workers,
            "limit": stage.limit,
            **stage.options,
        }
        values.update({f"{stage.name}.{key}": value for key, value in own.items()})
    return Resolved(spec, "", values, dict.fromkeys(values, origin))


def _with(planned: Planned, **changes: Any) -> Planned:
    return replace(planned, job=msgspec.structs.replace(planned.job, **changes))


def on_this_machine(
    spec: PipelineSpec,
    *,
    memory: int | None = None,
    workers: int | None = None,
    offline: bool | None = None,
) -> PipelineSpec:
    """The pipeline with what a machine may decide for itself: nothing that changes a pixel."""
    asked = {"memory": memory, "offline": offline}
    spec = msgspec.structs.replace(spec, **{k: v for k, v in asked.items() if v is not None})
    if workers is None:
        return spec
    if all(stage.name != "detect" for stage in spec.stages):
        raise ConfigError("--workers is about detect, which this plan has not", cure="leave it out")
    stages = tuple(
        msgspec.structs.replace(stage, workers=workers) if stage.name == "detect" else stage
        for stage in spec.stages
    )
    return msgspec.structs.replace(spec, stages=stages)
