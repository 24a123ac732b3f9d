"""A plan's last stage, made in this process: it compares checkpoints and joins chunks, without
workers."""

from __future__ import annotations

from collections.abc import Callable

from mpflow.errors import ConfigError, InternalError
from mpflow.farm.plan import Plan
from mpflow.importer import build, stage_class
from mpflow.spec import PipelineSpec
from mpflow.stage import StageContext
from mpflow.stages.decode import Decode
from mpflow.stages.encode import Encode


def require_chunks(spec: PipelineSpec) -> None:
    """Raise ConfigError for a pipeline whose work cannot be made in chunks."""
    ends = ((spec.stages[0], Decode, "decode"), (spec.stages[-1], Encode, "encode"))
    for stage, kind, name in ends:
        if not issubclass(stage_class(stage.target), kind):
            raise ConfigError(
                f"preset {spec.preset!r} cannot be made in chunks: {stage.name} is not {name}",
                cure="use a preset that makes a video, or `mpflow run`",
            )


def sink_of(plan: Plan, warn: Callable[[str], None]) -> Encode:
    """The encoder of a plan; it encodes nothing here."""
    threads = int(plan.sink.options.get("threads") or 1)
    sink = build(plan.sink, StageContext(plan.sink.name, threads=threads, warn=warn))
    if not isinstance(sink, Encode):
        raise InternalError(f"{plan.sink.target} is not encode")
    return sink
