"""Whether a preset's stages make faces, and what then has to be: its output says so, always.

stages that make faces -> ``made`` of the sink and of the mark is set; nobody else sets it
                       -> a sidecar comes with it
                       -> a stage that marks the picture stands behind them
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mpflow.errors import ConfigError
from mpflow.importer import stage_class, target_of
from mpflow.layers import options_of
from mpflow.presets import StageEntry
from mpflow.spec import Making, PipelineSpec, StageSpec
from mpflow.stage import Stage

ORIGIN = "the stages that make faces"
"""Where a value comes from that nobody has asked for, and nobody may change."""


def makes_faces(spec: PipelineSpec) -> Making:
    """How the stages of a pipeline make faces, if they do."""
    return making_of((stage.target, stage.options) for stage in spec.stages)


def making_of(stages: Iterable[tuple[str, Mapping[str, Any]]]) -> Making:
    """How these stages (class and options) make faces; a generative network decides."""
    found = {_making(target, options) for target, options in stages}
    return "generated" if "generated" in found else "composite" if "composite" in found else ""


def say_made(
    entries: Mapping[str, StageEntry], values: dict[str, Any], origins: dict[str, str]
) -> None:
    """Have an output whose stages make faces say so, and whatever else has an option for it.

    Raises ConfigError where somebody else sets what it says, or wants no sidecar.
    """
    targets = {name: target_of(entry.stage) for name, entry in entries.items()}
    making = making_of((target, options_of(name, values)) for name, target in targets.items())
    for name, target in targets.items():
        option = stage_class(target).made_option
        key = f"{name}.{option}"
        if option and key in values:
            cure = f"leave it out: {ORIGIN} set it"
            raise ConfigError(f"{key} is set by {origins[key]}", cure=cure)
        if option and making:
            values[key], origins[key] = making, ORIGIN
    if making and not values.get("sidecar", True):
        raise ConfigError(
            f"sidecar is off ({origins['sidecar']}), and this preset makes faces",
            cure="leave it out: where faces are made, a file beside the output says so",
        )


def require_marked(preset: str, stages: Sequence[StageSpec], *, taken: bool = False) -> None:
    """Raise ConfigError where faces that were made leave, and nothing marks the picture before.

    A sink by which nothing of the picture leaves needs no mark, unless its frames are ``taken`` in
    its place by whoever runs the pipeline.
    """
    classes = [stage_class(stage.target) for stage in stages]
    makers = [n for n, stage in enumerate(stages) if _making(stage.target, stage.options)]
    shown = taken or getattr(classes[-1], "shows_pixels", True)
    if not makers or not shown:
        return
    if not any(getattr(cls, "marks_faces", False) for cls in classes[makers[-1] + 1 :]):
        raise ConfigError(
            f"preset {preset!r} makes faces ({stages[makers[-1]].name}), but does not mark them",
            cure=f"put `- stage: mark` behind it, before {stages[-1].name}",
        )


def _making(target: str, options: Mapping[str, Any]) -> Making:
    cls = stage_class(target)
    if not (issubclass(cls, Stage) and cls.makes_faces):
        return ""
    defaults = {each.name: each.default for each in msgspec.structs.fields(cls.Options)}
    default = defaults.get(cls.generator)
    return "composite" if options.get(cls.generator, default) == default else "generated"
