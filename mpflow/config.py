"""From presets, files, environment and flags to one frozen PipelineSpec, strictly.

Each value's origin is kept, so that ``mpflow presets show`` can say where it came from. A key is
``stage.option`` (``detect.size``), ``stage.workers``, ``stage.limit``, or a general one
(``slots``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mpflow.describe import describe_field
from mpflow.errors import ConfigError
from mpflow.importer import AnyStageClass, read_options, stage_class, target_of
from mpflow.layers import (
    Override,
    blaming,
    environment_values,
    file_values,
    is_private,
    merge,
    preset_values,
    privacy_values,
    refuse_left_out,
    say_in_part,
    yaml_value,
)
from mpflow.machine import core_budget
from mpflow.making import require_marked, say_made
from mpflow.presets import TOP_LEVEL, General, StageEntry, load_preset, preset_names
from mpflow.spec import PipelineSpec, StageSpec
from mpflow.stage import ANYTHING, Sink, Source, Stage

__all__ = ["Resolved", "load_preset", "parse_set", "preset_names", "resolve"]

MOST_WORKERS = 32

_GIVERS = {
    "detect": "faces",
    "track": "tracks",
    "landmarks": "meshes",
    "align": "crops",
    "embed": "identities",
    "swap": "swaps",
}
"""Stages of mpflow by what they put on a token, in the order in which they may stand."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A spec ready to run, with every key's value and where it came from."""

    spec: PipelineSpec
    description: str
    values: dict[str, Any]
    origins: dict[str, str] = field(default_factory=dict)

    def in_order(self) -> list[tuple[str, Any]]:
        """Keys and values: the general ones first, then stage by stage."""
        places = {stage.name: number for number, stage in enumerate(self.spec.stages)}
        return sorted(
            self.values.items(), key=lambda item: places.get(item[0].partition(".")[0], -1)
        )

    def as_data(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        return {
            "preset": self.spec.preset,
            "description": self.description,
            "stages": [stage.name for stage in self.spec.stages],
            "values": {
                key: {"value": value, "origin": self.origins[key]} for key, value in self.in_order()
            },
        }


def resolve(
    preset: str = "redact",
    *,
    flags: Sequence[tuple[str, Any, str]] = (),
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Resolved:
    """Resolve a preset with everything that overrides it.

    ``flags`` are (key, value, origin) in order, the last one winning. Raises ConfigError that
    names the key, where it came from, and the nearest known key.
    """
    base = load_preset(preset)
    entries = {entry.key: entry for entry in base.stages}
    if len(entries) != len(base.stages):
        raise ConfigError(
            f"preset {preset!r} names a stage twice", cure="give each its own `name:`"
        )
    refuse_left_out(preset, entries, flags)
    layers = [
        *file_values(config_file),
        *privacy_values(preset, base),
        *preset_values(preset, base),
        *environment_values(os.environ if environ is None else environ),
        *(Override(key, value, origin) for key, value, origin in flags),
    ]
    values, origins = merge(layers, entries)
    say_in_part(entries, values, origins)
    say_made(entries, values, origins)
    with blaming(origins):
        stages = tuple(_stage_spec(name, entry, values) for name, entry in entries.items())
        general = _general({key: values[key] for key in TOP_LEVEL if key in values})
    _check_shape(preset, stages)
    require_marked(preset, stages)
    spec = PipelineSpec(
        preset,
        stages,
        is_private(base),
        live=base.live,
        **{key: getattr(general, key) for key in TOP_LEVEL},
    )
    _fill_defaults(spec, values, origins)
    return Resolved(spec, base.description, values, origins)


def parse_set(text: str) -> tuple[str, Any, str]:
    """Read one ``--set key=value``; the value is YAML, so numbers and lists come as themselves."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(
            f"--set {text!r} is not KEY=VALUE", cure="write for example --set detect.size=640x384"
        )
    return key.strip(), yaml_value(value), f"--set {key.strip()}"


def _general(values: Mapping[str, Any]) -> General:
    try:
        return msgspec.convert(values, General, strict=False)
    except msgspec.ValidationError as error:
        what, _, key = str(error).partition(" - at `$.")
        key = key.rstrip("`")
        if what.startswith("Expected ") and key in values:
            what = f"{values[key]!r} is not what it takes"
        raise ConfigError(
            f"{key}: {what}", cure=f"it takes {describe_field(General, key)}"
        ) from error


def _stage_spec(name: str, entry: StageEntry, values: Mapping[str, Any]) -> StageSpec:
    target = target_of(entry.stage)
    prefix = f"{name}."
    options = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
    given = options.pop("workers", entry.workers)
    workers = _workers(name, given)
    limit = _limit(name, options.pop("limit", entry.limit))
    checked = read_options(name, stage_class(target), options)
    auto = given == "auto"
    return StageSpec(name, target, msgspec.to_builtins(checked), workers, limit, auto)


def _workers(name: str, given: Any) -> int:
    """How many workers a stage has, or may have at most with ``auto``."""
    if given == "auto":
        return min(MOST_WORKERS, max(2, core_budget()))
    workers = int(given) if isinstance(given, str) and given.isdigit() else given
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise ConfigError(
            f"{name}.workers: {given!r} is neither auto nor a number from 1 to {MOST_WORKERS}",
            cure="write for example detect.workers=2",
        )
    return workers


def _limit(name: str, given: Any) -> float:
    """The seconds after which a silent worker is replaced."""
    try:
        limit = float(given)
    except (TypeError, ValueError):
        limit = -1.0
    if not 0 <= limit < math.inf:
        raise ConfigError(
            f"{name}.limit: {given!r} is not a number of seconds",
            cure="write for example detect.limit=30; 0 derives it from measured times",
        )
    return limit


def _check_shape(preset: str, stages: Sequence[StageSpec]) -> None:
    """A pipeline is a source, any stages, and a sink, each given what it needs of those before."""
    kinds = [stage_class(stage.target) for stage in stages]
    if len(stages) < 2 or not issubclass(kinds[0], Source) or not issubclass(kinds[-1], Sink):
        raise ConfigError(
            f"preset {preset!r} must start with a source and end with a sink",
            cure="start with decode and end with encode or faces-json",
        )
    given: set[str] = set()
    for stage, kind in zip(stages, kinds, strict=True):
        _check_place(preset, stage, kind, inner=stage not in (stages[0], stages[-1]))
        needs = kind.needs_with(read_options(stage.name, kind, stage.options))
        missing = set() if ANYTHING in given else set(needs) - given
        if missing:
            raise ConfigError(
                f"preset {preset!r}: {stage.name} needs {', '.join(sorted(missing))},"
                " which no stage before it gives",
                cure=_givers(missing),
            )
        given.update(kind.gives)


def _givers(missing: set[str]) -> str:
    """Which stages give what is missing."""
    names = [name for name, what in _GIVERS.items() if what in missing]
    return f"put {', '.join(names)} before it" if names else "add the stage that gives it"


def _check_place(preset: str, stage: StageSpec, kind: AnyStageClass, *, inner: bool) -> None:
    """Source and sink stand at the ends; what takes frames in order runs in one worker."""
    if inner and not issubclass(kind, Stage):
        raise ConfigError(
            f"preset {preset!r}: {stage.name} cannot stand in the middle",
            cure="a source comes first, a sink last",
        )
    if issubclass(kind, Stage) and kind.remembers and (kind.changes_pixels or not kind.ordered):
        raise ConfigError(
            f"preset {preset!r}: {stage.name} remembers, so it must take frames in order and leave"
            " their pixels alone: a frame that is made again gets its tokens from the log",
            cure="declare ordered = True, and change pixels in a stage behind it",
        )
    if stage.workers != 1 and (not issubclass(kind, Stage) or kind.ordered):
        raise ConfigError(
            f"{stage.name}.workers must be 1: the stage takes frames in order",
            cure="raise the workers of detect or another stage without memory",
        )


def _fill_defaults(spec: PipelineSpec, values: dict[str, Any], origins: dict[str, str]) -> None:
    """Complete ``values`` by the defaults that nothing overrode."""
    for stage in spec.stages:
        for key, value in {
            "workers": "auto" if stage.auto else stage.workers,
            "limit": stage.limit,
            **stage.options,
        }.items():
            values[f"{stage.name}.{key}"] = value
            origins.setdefault(f"{stage.name}.{key}", "default")
    for key in TOP_LEVEL:
        values[key] = getattr(spec, key)
        origins.setdefault(key, "default")
