"""Every key there is: what it means, its default, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import msgspec

from mpflow.console.presets import aligned
from mpflow.describe import describe_options
from mpflow.importer import SHORT_NAMES, stage_class, target_of
from mpflow.presets import General, StageEntry
from mpflow.stage import Stage

GENERAL = "general"
"""What the keys that belong to no stage are asked for by."""

_WORKERS = ("workers", StageEntry("").workers, "a whole number from 1 to 32")
_LIMIT = ("limit", StageEntry("").limit, "seconds; 0 derives it from measured times")


def key_lines(stages: Sequence[str]) -> Iterator[str]:
    """The keys of ``stages``, or of all that ship with mpflow; raises ConfigError.

    A stage is ``general``, a short name or ``package.module:Class``.
    """
    for number, stage in enumerate(stages or [GENERAL, *SHORT_NAMES]):
        if number:
            yield ""
        yield from _section(stage)


def _section(stage: str) -> Iterator[str]:
    if stage == GENERAL:
        options: type[msgspec.Struct] = General
        prefix, rows = "", describe_options(options)
    else:
        cls = stage_class(target_of(stage))
        options, prefix = cls.Options, f"{StageEntry(stage).key}."
        many = issubclass(cls, Stage) and not cls.ordered
        rows = [*([_WORKERS] if many else []), _LIMIT, *describe_options(options)]
    yield f"# {stage}"
    if options.__doc__:
        yield from (f"# {line}".rstrip() for line in _text(options.__doc__).splitlines())
    yield from aligned([(prefix + key, default, takes) for key, default, takes in rows])


def _text(docstring: str) -> str:
    return inspect.cleandoc(docstring).replace("``", "")
