"""Presets as text: what there is, and a resolved configuration with every value's origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mpflow.config import Resolved, load_preset, preset_names
from mpflow.jobs import Planned
from mpflow.presets import bare_name, whole_preset
from mpflow.spec import STDOUT
from mpflow.urls import shown


def preset_lines() -> Iterator[str]:
    """Each preset that ships, and what it is for."""
    names = preset_names()
    width = max(len(name) for name in names)
    for name in names:
        preset = load_preset(name)
        yield f"{name.ljust(width)}  {preset.description}"


def value_lines(resolved: Resolved) -> Iterator[str]:
    """Every key with its value and where the value came from."""
    yield f"# preset {resolved.spec.preset}: {resolved.description}"
    yield "# stages: " + " -> ".join(stage.name for stage in resolved.spec.stages)
    name, there = resolved.spec.preset, {stage.name for stage in resolved.spec.stages}
    if more := [e.key for e in whole_preset(bare_name(name)).stages if e.key not in there]:
        yield f"# optional: {', '.join(more)} (--preset {name}+{more[0]})"
    yield from aligned([(key, value, resolved.origins[key]) for key, value in resolved.in_order()])


def aligned(rows: Sequence[tuple[str, Any, str]]) -> Iterator[str]:
    """Keys, values and a remark on each, below each other: ``key = value  # remark``."""
    key_width = max((len(key) for key, _, _ in rows), default=0)
    value_width = min(24, max((len(_shown(value)) for _, value, _ in rows), default=0))
    for key, value, remark in rows:
        yield f"{key.ljust(key_width)} = {_shown(value).ljust(value_width)}  # {remark}"


def values_as_data(resolved: Resolved) -> dict[str, Any]:
    """The same for programs."""
    return resolved.as_data()


def plan_lines(plan: Sequence[Planned]) -> Iterator[str]:
    """What a run would do with each input."""
    for planned in plan:
        job = planned.job
        source = shown(job.input)
        output = "standard output" if job.output == STDOUT else shown(job.output)
        if planned.error is not None:
            yield f"{source}: would fail: {planned.error}"
        elif planned.skipped:
            yield f"{source} -> {output}: would be skipped, {planned.skipped}"
        else:
            note = " (overwritten)" if job.overwrite else ""
            yield f"{source} -> {output}{note}"


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return value if value else "''"
        case dict() | list() | tuple() if not value:
            return "{}" if isinstance(value, dict) else "[]"
        case _:
            return str(value)
