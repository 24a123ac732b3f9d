"""Where values come from, and which wins.

defaults  <  file  <  privacy  <  preset  <  environment (MPFLOW_STAGE__KEY)  <  flags
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mpflow.errors import ConfigError
from mpflow.importer import did_you_mean, stage_class, target_of
from mpflow.presets import (
    TOP_LEVEL,
    General,
    Preset,
    StageEntry,
    bare_name,
    preset_names,
    whole_preset,
)
from mpflow.spec import REDACTED, REDACTED_IN_PART
from mpflow.stage import Sink

_BY_PRIVACY = "privacy of "

PLUMBING = {"CACHE", "PRESET", "CONFIG", "LOG_FILE", "ACCEPT_NOTICE"}
"""Environment names after MPFLOW_ that are read elsewhere and are no keys."""


@dataclass(frozen=True, slots=True)
class Override:
    """One value from outside the preset. ``ambient`` ones (file, environment) may name a stage
    that this preset does not have; a flag may not."""

    key: str
    value: Any
    origin: str
    ambient: bool = False


def preset_values(preset: str, base: Preset) -> Iterable[Override]:
    """What a preset says itself."""
    origin = f"preset {preset}"
    for entry in base.stages:
        if entry.workers != StageEntry("").workers:
            yield Override(f"{entry.key}.workers", entry.workers, origin)
        if entry.limit:
            yield Override(f"{entry.key}.limit", entry.limit, origin)
        for key, value in entry.options.items():
            yield Override(f"{entry.key}.{key}", value, origin)
    for key in TOP_LEVEL:
        if getattr(base, key) != getattr(General(), key):
            yield Override(key, getattr(base, key), origin)


def privacy_values(preset: str, base: Preset) -> Iterable[Override]:
    """What a private preset asks: that nothing leaves beside the redacted picture, and that a
    frame which could not be worked on is covered whole. One that redacts says so in its output."""
    entry = base.stages[-1] if base.stages else None
    if entry is None:
        return
    origin, private = f"{_BY_PRIVACY}{preset}", is_private(base)
    if private:
        yield Override("on_failure", "mask", origin)
    sink = stage_class(target_of(entry.stage))
    if issubclass(sink, Sink):
        asked = dict(sink.private_options) if private else {}
        asked |= sink.redacted_options if redacts(target_of(e.stage) for e in base.stages) else {}
        for key, value in asked.items():
            yield Override(f"{entry.key}.{key}", value, origin)


def is_private(base: Preset) -> bool:
    """Whether a preset is meant to protect people: as it says, else by what its stages do."""
    if base.privacy is not None:
        return base.privacy
    return redacts(target_of(entry.stage) for entry in base.stages)


def redacts(targets: Iterable[str]) -> bool:
    """Whether one of these stages, ``package.module:Class`` each, hides people."""
    return any(getattr(stage_class(target), "protects", False) for target in targets)


def in_part(stages: Iterable[tuple[str, Mapping[str, Any]]]) -> bool:
    """Whether one of these stages (class and options) is to leave some people as they are."""
    return any(
        options.get(key, value) != value
        for target, options in stages
        for key, value in getattr(stage_class(target), "protects_all", {}).items()
    )


def options_of(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the values say of the options of one stage."""
    prefix = f"{name}."
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def say_in_part(
    entries: Mapping[str, StageEntry], values: dict[str, Any], origins: Mapping[str, str]
) -> None:
    """Have an output that is to be redacted in part say that, unless it says something else."""
    if in_part((target_of(e.stage), options_of(n, values)) for n, e in entries.items()):
        for key, origin in origins.items():
            if values[key] == REDACTED and origin.startswith(_BY_PRIVACY):
                values[key] = REDACTED_IN_PART


def file_values(path: Path | None) -> Iterable[Override]:
    """What a configuration file says: ``stage: {key: value}`` and top-level keys."""
    if path is None:
        return
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError as error:
        raise ConfigError(
            f"configuration file {str(path)!r} does not exist", cure="check the path"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not YAML: {error}", cure="correct the file") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} is not a mapping", cure="write `stage:` and its keys below it")
    for key, value in data.items():
        if isinstance(value, dict):
            for inner, deep in value.items():
                yield Override(f"{key}.{inner}", deep, f"file {path}", ambient=True)
        else:
            yield Override(str(key), value, f"file {path}", ambient=True)


def environment_values(environ: Mapping[str, str]) -> Iterable[Override]:
    """What the environment says: ``MPFLOW_DETECT__SIZE=640x384`` is ``detect.size``."""
    for name in sorted(environ):
        rest = name.removeprefix("MPFLOW_")
        if rest == name or rest in PLUMBING or rest.startswith("TEST_"):
            continue
        key = ".".join(part.lower() for part in rest.split("__"))
        yield Override(key, yaml_value(environ[name]), f"environment {name}", ambient=True)


def refuse_left_out(
    preset: str, entries: Mapping[str, StageEntry], flags: Sequence[tuple[str, Any, str]]
) -> None:
    """Raise ConfigError for a flag that is for an optional stage which is not taken in."""
    known = {entry.key for entry in whole_preset(bare_name(preset)).stages}
    for key, _, origin in flags:
        stage = key.partition(".")[0]
        if stage in known and stage not in entries:
            raise ConfigError(
                f"{key} from {origin}: preset {preset!r} leaves {stage} out",
                cure=f"take it in by --preset {preset}+{stage}",
            )


def merge(
    layers: Iterable[Override], entries: Mapping[str, StageEntry]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Lay the layers over each other: the values, and where each came from.

    Raises ConfigError for a key that is none, naming the nearest one.
    """
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
                cure=_nearest(override.key, entries),
            )
        key, value = _nested(override, stage, rest, values)
        values[key], origins[key] = value, override.origin
    return values, origins


@contextmanager
def blaming(origins: Mapping[str, str]) -> Iterator[None]:
    """Say of a wrong key or value where it came from, where that is no flag: whoever has set a
    variable long ago, or wrote a file, does not see it in what was typed."""
    try:
        yield
    except ConfigError as error:
        named = re.match(r"(?:unknown key )?([\w-]+(?:\.[\w-]+)*)", error.what)
        origin = origins.get(named[1], "") if named else ""
        if not origin.startswith(("environment ", "file ")):
            raise
        what = f"{error.what} (from {origin})"
        raise ConfigError(what, cure=error.cure, facts=error.facts) from error


def yaml_value(text: str) -> Any:
    """A value as YAML reads it; what YAML takes for a comment (``#ff0000``) stays text."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return text if value is None and text.strip().startswith("#") else value


def _nearest(key: str, entries: Mapping[str, StageEntry]) -> str:
    """``method`` is nobody's key, but redact has one of that name."""
    if key in entries:
        options = stage_class(target_of(entries[key].stage)).Options.__struct_fields__
        return f"name one of its options: {', '.join(f'{key}.{name}' for name in options)}"
    having = [
        f"{name}.{key}"
        for name, entry in entries.items()
        if key in stage_class(target_of(entry.stage)).Options.__struct_fields__
    ]
    if having:
        return f"did you mean {', '.join(having)}?"
    return did_you_mean(key.partition(".")[0], [*entries, *TOP_LEVEL])


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
    return any(name == entry.key for p in preset_names() for entry in whole_preset(p).stages)
