"""Whether a preset's stages make faces, and what then has to be: its output says so, always.

stages that make faces -> the sink's ``made`` is set; nobody else sets it
                       -> a sidecar comes with it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mpflow.errors import ConfigError
from mpflow.importer import stage_class, target_of
from mpflow.layers import options_of
from mpflow.presets import StageEntry
from mpflow.spec import Making, PipelineSpec
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
    """Have an output whose stages make faces say so. Raises ConfigError where somebody else sets
    what it says, or wants no sidecar."""
    name = list(entries)[-1] if entries else ""
    option = getattr(stage_class(target_of(entries[name].stage)), "made_option", "") if name else ""
    key = f"{name}.{option}"
    if option and key in values:
        raise ConfigError(f"{key} is set by {origins[key]}", cure=f"leave it out: {ORIGIN} set it")
    making = making_of((target_of(e.stage), options_of(n, values)) for n, e in entries.items())
    if making and option:
        values[key], origins[key] = making, ORIGIN
    if making and not values.get("sidecar", True):
        raise ConfigError(
            f"sidecar is off ({origins['sidecar']}), and this preset makes faces",
            cure="leave it out: where faces are made, a file beside the output says so",
        )


def _making(target: str, options: Mapping[str, Any]) -> Making:
    cls = stage_class(target)
    if not (issubclass(cls, Stage) and cls.makes_faces):
        return ""
    defaults = {each.name: each.default for each in msgspec.structs.fields(cls.Options)}
    default = defaults.get(cls.generator)
    return "composite" if options.get(cls.generator, default) == default else "generated"
