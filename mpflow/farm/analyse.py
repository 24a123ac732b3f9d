"""An input analysed once, for all chunks: what stages with a memory find, as one run would find it.

    plan --analyse   source, stages up to the last one with a memory -> analysis.log
                     -> cut into one log for each chunk, its frames counted from the chunk's first
    render           every frame takes its faces from there, as one that is made again does

Stages before the first one with a memory have nothing to do in render then, unless they leave more
on a frame than faces and fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mpflow.analysis import AnalysisLog, Remembered
from mpflow.errors import ConfigError, Refused
from mpflow.farm.keep import ANALYSED, TARGET, Written, read_analysed
from mpflow.farm.numbers import Range
from mpflow.farm.plan import Plan
from mpflow.importer import build
from mpflow.ledger import LEDGER
from mpflow.recall import ANALYSIS
from mpflow.spec import JobSpec, PipelineSpec, StageSpec, name_in_parts
from mpflow.stage import Stage, StageContext
from mpflow.tokens import FrameState

_AGAIN = "`mpflow plan --analyse` with the same words makes what is missing"
_GIVEN_UP = "it was given up when the input was analysed"
_STATES = {"pass": FrameState.PASSED, "skip": FrameState.DROPPED}


def require_memory(spec: PipelineSpec) -> None:
    """Raise ConfigError for a pipeline in which there is nothing to analyse."""
    if not has_memory(spec):
        raise ConfigError(
            f"preset {spec.preset!r} has no stage that goes by what came before, such as track",
            cure="plan without --analyse: its chunks come out as one run makes them",
        )


def has_memory(spec: PipelineSpec) -> bool:
    """Whether what a stage finds on a frame depends on those before it."""
    return bool(_remembering(spec))


def is_analysed(plan: Plan) -> bool:
    """Whether the analysis of a plan is whole, and each chunk has its log."""
    done = read_analysed(_mark(plan))
    return done.whole and tuple((one.start, one.stop) for one in done.chunks) == plan.chunks


def analysing_pipeline(plan: Plan) -> PipelineSpec:
    """The pipeline that analyses: up to the last stage with a memory, and no output."""
    spec = plan.pipeline
    last = max(_remembering(spec))
    keep = StageSpec("keep", TARGET)
    return msgspec.structs.replace(spec, stages=(*spec.stages[: last + 1], keep), strict=False)


def analysing_job(plan: Plan) -> JobSpec:
    """The run that analyses; it goes on where an earlier one was stopped."""
    return JobSpec(
        "analysis",
        plan.input,
        str(_mark(plan)),
        overwrite=True,
        start=plan.start,
        stop=plan.stop,
        resume=frames_analysed(plan) > 0,
        parts=plan.parts,
    )


def frames_analysed(plan: Plan) -> int:
    """How many frames an analysis has come to."""
    return read_analysed(_mark(plan)).frames


def hand_out(plan: Plan) -> None:
    """Cut the log of a whole analysis into one for each chunk; raises OSError."""
    parts = Path(plan.parts)
    names = [plan.pipeline.stages[at].name for at in _remembering(plan.pipeline)]
    log = AnalysisLog.create(parts / ANALYSIS)
    try:
        written = tuple(_hand_out(plan, log, names, chunk) for chunk in plan.chunks)
    finally:
        log.close()
    done = read_analysed(_mark(plan))
    msgspec.structs.replace(done, chunks=written).save(_mark(plan))
    for name in (ANALYSIS, LEDGER):
        (parts / name).unlink(missing_ok=True)


def require_logs(plan: Plan, numbers: Sequence[int]) -> None:
    """Raise Refused unless these chunks have the logs that the analysis left for them."""
    if not plan.analysed:
        return
    if not is_analysed(plan):
        raise Refused(f"the analysis of {plan.input!r} is not whole", cure=_AGAIN)
    done = read_analysed(_mark(plan))
    for number in numbers:
        if _written(plan, plan.chunks[number]) != done.chunks[number]:
            raise Refused(
                f"what the analysis found for chunk {number} is not what was written",
                cure=f"remove {str(_mark(plan))!r}; {_AGAIN}",
                facts={"chunk": number},
            )


def without_found(plan: Plan, spec: PipelineSpec) -> PipelineSpec:
    """The pipeline that renders an analysed plan: who would only find again is left out."""
    if not plan.analysed:
        return spec
    first = min(_remembering(spec))
    before = [_built(stage) for stage in spec.stages[1:first]]
    if any(stage.changes_pixels or stage.side_bytes or stage.protects for stage in before):
        return spec
    return msgspec.structs.replace(spec, stages=(spec.stages[0], *spec.stages[first:]))


def _hand_out(plan: Plan, log: AnalysisLog, names: Sequence[str], chunk: Range) -> Written:
    """Write the log of one chunk, under another name until it is whole."""
    path = _log_of(plan, chunk)
    half = path.with_name(f"{path.name}.handing-out.tmp")
    half.unlink(missing_ok=True)
    own = AnalysisLog.create(half)
    try:
        for name in names:
            for found in _of_chunk(plan, log, name, chunk):
                own.append(name, found.token(), found.given_up, found.reason)
        own.sync()
    finally:
        own.close()
    half.chmod(_mark(plan).stat().st_mode & 0o777)  # for whoever may read the plan
    half.replace(path)
    return _written(plan, chunk)


def _of_chunk(plan: Plan, log: AnalysisLog, name: str, chunk: Range) -> Iterator[Remembered]:
    """What a stage left on the frames of a chunk, counted from its first; the others were given
    up before they came to it, and are again."""
    state = _STATES.get(plan.pipeline.on_failure, FrameState.MASKED)
    start, stop = (frame - plan.start for frame in chunk)
    for seq in range(start, stop):
        found = log.find(name, seq) or Remembered(seq, given_up=state, reason=_GIVEN_UP)
        yield replace(found, seq=seq - start)


def _written(plan: Plan, chunk: Range) -> Written:
    try:
        data = _log_of(plan, chunk).read_bytes()
    except OSError:
        data = b""
    return Written(*chunk, len(data), hashlib.sha256(data).hexdigest())


def _log_of(plan: Plan, chunk: Range) -> Path:
    """Where a chunk's run looks for what was found before."""
    start, stop = chunk
    job = JobSpec("", "", start=start, stop=stop, chunk=True)
    return Path(plan.parts) / name_in_parts(job, ANALYSIS)


def _remembering(spec: PipelineSpec) -> list[int]:
    """The places of the stages that have a memory."""
    middle = enumerate(spec.stages[1:-1], 1)
    return [at for at, stage in middle if _built(stage).remembers]


def _built(spec: StageSpec) -> Stage[Any]:
    stage = build(spec, StageContext(spec.name))
    assert isinstance(stage, Stage)
    return stage


def _mark(plan: Plan) -> Path:
    return Path(plan.parts) / ANALYSED
