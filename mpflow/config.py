"""From presets, files, environment and flags to one frozen PipelineSpec, strictly.

    defaults  <  file  <  preset  <  environment (MPFLOW_STAGE__KEY)  <  flags

Each value's origin is kept, so that ``mpflow presets show`` can say where it came from. A key is
``stage.option`` (``detect.size``), ``stage.workers``, or a top-level one (``slots``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mpflow.errors import ConfigError
from mpflow.importer import did_you_mean, read_options, stage_class, target_of
from mpflow.spec import PipelineSpec, StageSpec
from mpflow.stage import Sink, Source

PLUMBING = {"CACHE", "PRESET", "CONFIG", "LOG_FILE"}
"""Environment names after MPFLOW_ that are read elsewhere and are no keys."""


class StageEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stage as a preset writes it."""

    stage: str
    name: str = ""
    workers: int = 1
    options: dict[str, Any] = {}


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A preset file: strict, each stage with its own options."""

    stages: tuple[StageEntry, ...]
    description: str = ""
    privacy: bool = False
    slots: int = 0
    memory: int = 0
    offline: bool = False
    strict: bool = False
    log_level: str = "info"
    stall: float = 60.0


TOP_LEVEL = ("slots", "memory", "offline", "strict", "log_level", "stall")


@dataclass(frozen=True, slots=True)
class Override:
    """One value from outside the preset. ``ambient`` ones (file, environment) may name a stage
    that this preset does not have; a flag may not."""

    key: str
    value: Any
    origin: str
    ambient: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """A spec ready to run, with every key's value and where it came from."""

    spec: PipelineSpec
    description: str
    values: dict[str, Any]
    origins: dict[str, str] = field(default_factory=dict)


def preset_names() -> list[str]:
    """Names of the presets that ship with mpflow."""
    files = resources.files("mpflow.configs").joinpath("presets").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".yaml"))


def load_preset(name: str) -> Preset:
    """Read a shipped preset by name, or a YAML file by path; raises ConfigError."""
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"preset file {name!r} does not exist", cure="check the path")
        return _read_preset(path.read_text(encoding="utf-8"), name)
    if name not in preset_names():
        raise ConfigError(f"unknown preset {name!r}", cure=did_you_mean(name, preset_names()))
    file = resources.files("mpflow.configs").joinpath("presets", f"{name}.yaml")
    return _read_preset(file.read_text(encoding="utf-8"), f"preset {name}")


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
    entries = {_entry_name(entry): entry for entry in base.stages}
    if len(entries) != len(base.stages):
        raise ConfigError(
            f"preset {preset!r} names a stage twice", cure="give each its own `name:`"
        )
    layers = [
        *_file_overrides(config_file),
        *_preset_values(preset, base),
        *_environment_overrides(os.environ if environ is None else environ),
        *(Override(key, value, origin) for key, value, origin in flags),
    ]
    values, origins = _merge(layers, entries)
    stages = tuple(_stage_spec(name, entry, values) for name, entry in entries.items())
    _check_shape(preset, stages)
    top = {key: values[key] for key in TOP_LEVEL if key in values}
    raw = {"preset": preset, "privacy": base.privacy, "stages": stages, **top}
    try:
        spec = msgspec.convert(msgspec.to_builtins(raw), PipelineSpec, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"preset {preset!r}: {error}", cure="correct the value") from error
    _fill_defaults(spec, values, origins)
    return Resolved(spec, base.description, values, origins)


def parse_set(text: str) -> tuple[str, Any, str]:
    """Read one ``--set key=value``; the value is YAML, so numbers and lists come as themselves."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(
            f"--set {text!r} is not KEY=VALUE", cure="write for example --set detect.size=640x384"
        )
    return key.strip(), _yaml_value(value), f"--set {key.strip()}"


def _read_preset(text: str, origin: str) -> Preset:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin} is not YAML: {error}", cure="correct the file") from error
    try:
        return msgspec.convert(data, Preset)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{origin}: {error}", cure="known keys: " + ", ".join(Preset.__struct_fields__)
        ) from error


def _entry_name(entry: StageEntry) -> str:
    return entry.name or entry.stage.rpartition(":")[2].lower()


def _preset_values(preset: str, base: Preset) -> Iterable[Override]:
    origin = f"preset {preset}"
    for entry in base.stages:
        name = _entry_name(entry)
        if entry.workers != 1:
            yield Override(f"{name}.workers", entry.workers, origin)
        for key, value in entry.options.items():
            yield Override(f"{name}.{key}", value, origin)
    for key in TOP_LEVEL:
        if getattr(base, key) != getattr(Preset(stages=()), key):
            yield Override(key, getattr(base, key), origin)


def _file_overrides(path: Path | None) -> Iterable[Override]:
    if path is None:
        return
    if not path.is_file():
        raise ConfigError(f"configuration file {str(path)!r} does not exist", cure="check the path")
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}", cure="correct the file") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} is not a mapping", cure="write `stage:` and its keys below it")
    for key, value in data.items():
        if isinstance(value, dict):
            for inner, deep in value.items():
                yield Override(f"{key}.{inner}", deep, f"file {path}", ambient=True)
        else:
            yield Override(str(key), value, f"file {path}", ambient=True)


def _environment_overrides(environ: Mapping[str, str]) -> Iterable[Override]:
    for name in sorted(environ):
        rest = name.removeprefix("MPFLOW_")
        if rest == name or rest in PLUMBING or rest.startswith("TEST_"):
            continue
        key = ".".join(part.lower() for part in rest.split("__"))
        yield Override(key, _yaml_value(environ[name]), f"environment {name}", ambient=True)


def _merge(
    layers: Iterable[Override], entries: Mapping[str, StageEntry]
) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for override in layers:
        stage, dot, rest = override.key.partition(".")
        known = stage in entries if dot else override.key in TOP_LEVEL
        if not known:
            if override.ambient and dot and _is_other_stage(stage):
                continue
            raise ConfigError(
                f"unknown key {override.key!r} from {override.origin}",
                cure=did_you_mean(stage if dot else override.key, [*entries, *TOP_LEVEL]),
            )
        key, value = _nested(override, stage, rest, values)
        values[key], origins[key] = value, override.origin
    return values, origins


def _nested(
    override: Override, stage: str, rest: str, values: Mapping[str, Any]
) -> tuple[str, Any]:
    """``encode.encoder_options.bframes=2`` sets one entry of a mapping; the others stay."""
    option, deeper, entry = rest.partition(".")
    if not deeper:
        return override.key, override.value
    key = f"{stage}.{option}"
    return key, {**values.get(key, {}), entry: str(override.value)}


def _is_other_stage(name: str) -> bool:
    """Whether another preset could have this stage, so that an ambient value for it is no typo."""
    return any(name == _entry_name(e) for p in preset_names() for e in load_preset(p).stages)


def _stage_spec(name: str, entry: StageEntry, values: Mapping[str, Any]) -> StageSpec:
    target = target_of(entry.stage)
    prefix = f"{name}."
    options = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
    workers = options.pop("workers", 1)
    if isinstance(workers, str) and workers.isdigit():
        workers = int(workers)
    if not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= 32:
        raise ConfigError(f"{name}.workers: {workers!r} is not a number from 1 to 32")
    checked = read_options(name, stage_class(target), options)
    return StageSpec(name, target, msgspec.to_builtins(checked), workers)


def _check_shape(preset: str, stages: Sequence[StageSpec]) -> None:
    """A pipeline is a source, any stages, and a sink; source and sink run in one worker each."""
    kinds = [stage_class(stage.target) for stage in stages]
    if len(stages) < 2 or not issubclass(kinds[0], Source) or not issubclass(kinds[-1], Sink):
        raise ConfigError(
            f"preset {preset!r} must start with a source and end with a sink",
            cure="start with decode and end with encode or faces-json",
        )
    for stage, kind in zip(stages[1:-1], kinds[1:-1], strict=True):
        if issubclass(kind, (Source, Sink)):
            raise ConfigError(f"preset {preset!r}: {stage.name} cannot stand in the middle")
    for stage, kind in zip(stages, kinds, strict=True):
        single = issubclass(kind, (Source, Sink)) or getattr(kind, "ordered", False)
        if single and stage.workers != 1:
            raise ConfigError(
                f"{stage.name}.workers must be 1: the stage takes frames in order",
                cure="raise the workers of detect or another stage without memory",
            )


def _fill_defaults(spec: PipelineSpec, values: dict[str, Any], origins: dict[str, str]) -> None:
    """Complete ``values`` by the defaults that nothing overrode."""
    for stage in spec.stages:
        for key, value in {"workers": stage.workers, **stage.options}.items():
            values[f"{stage.name}.{key}"] = value
            origins.setdefault(f"{stage.name}.{key}", "default")
    for key in TOP_LEVEL:
        values[key] = getattr(spec, key)
        origins.setdefault(key, "default")


def _yaml_value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
