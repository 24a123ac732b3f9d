"""Flags that are for every stage which has such an option, whatever the preset calls the stage."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from mpflow.errors import ConfigError

Flag = tuple[str, Any, str]
"""A configuration key, its value, and where it came from."""


class Where(Enum):
    """Which stages of a preset a flag is for."""

    SOURCE = slice(0, 1)
    SINK = slice(-1, None)
    ALL = slice(None)


def for_stages(
    preset: str, option: str, value: Any, origin: str, where: Where = Where.ALL
) -> Iterator[Flag]:
    """The flag as a key of each stage of a preset that has the ``option``; none may have it."""
    import msgspec

    from mpflow.config import load_preset
    from mpflow.importer import stage_class, target_of

    for entry in load_preset(preset).stages[where.value]:
        options = msgspec.structs.fields(stage_class(target_of(entry.stage)).Options)
        if any(each.name == option for each in options):
            yield f"{entry.key}.{option}", value, origin


def for_some_stage(
    preset: str, option: str, value: Any, origin: str, where: Where = Where.ALL
) -> list[Flag]:
    """The same; raises ConfigError when no stage has it."""
    flags = list(for_stages(preset, option, value, origin, where))
    if not flags:
        raise ConfigError(
            f"no stage of preset {preset!r} has an option for {origin.removeprefix('flag ')}",
            cure=f"leave it out; `mpflow presets show {preset}` lists the keys there are",
        )
    return flags


def encoder_option(stage: str, text: str) -> Flag:
    """``--encoder-option KEY=VALUE`` for the stage that encodes; raises ConfigError."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(
            f"--encoder-option {text!r} is not KEY=VALUE",
            cure="write for example --encoder-option tune=film",
        )
    return f"{stage}.encoder_options.{key.strip()}", value, f"flag --encoder-option {key.strip()}"
