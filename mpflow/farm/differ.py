"""Whether two plans are the same, and if not, in what they differ."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mpflow.farm.numbers import as_text
from mpflow.farm.plan import Plan
from mpflow.spec import PipelineSpec

_PLACES = ("input", "output", "parts")
_NOTHING = "nothing"


def same(old: Plan, new: Plan) -> bool:
    """Whether both say the same; an earlier one's paths may have been followed through links."""
    for name in _PLACES:
        if os.path.realpath(getattr(old, name)) != os.path.realpath(getattr(new, name)):
            return False
    return old == msgspec.structs.replace(new, **{name: getattr(old, name) for name in _PLACES})


def difference(old: Plan, new: Plan) -> str:
    """What is first found to differ between two plans; of settings, all that do."""
    for name in ("input", "output", "frames"):
        if getattr(old, name) != getattr(new, name):
            return f"its {name} is {getattr(old, name)}, now {getattr(new, name)}"
    if (old.start, old.stop) != (new.start, new.stop):
        ranges = (as_text(plan.start, plan.stop) for plan in (old, new))
        return "its frames are {}, now {}".format(*ranges)
    if old.chunks != new.chunks:
        return f"it has {_chunks_in_words(old)}, now {_chunks_in_words(new)}"
    if old.analysed != new.analysed:
        return f"it was made {_how_analysed(old)}, now {_how_analysed(new)}"
    return f"it was made {'; '.join(_settings_in_words(old, new))}"


def _how_analysed(plan: Plan) -> str:
    return "with --analyse" if plan.analysed else "without --analyse"


def _chunks_in_words(plan: Plan) -> str:
    longest = max(stop - start for start, stop in plan.chunks)
    return f"{len(plan.chunks)} chunks of {longest} frames"


def _settings_in_words(old: Plan, new: Plan) -> Iterator[str]:
    before, now = _settings(old.pipeline), _settings(new.pipeline)
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            yield f"with {name}={_shown(before.get(name))}, now {_shown(now.get(name))}"
    if old.imports != new.imports:
        yield f"with stages from {old.imports or _NOTHING}, now {new.imports or _NOTHING}"


def _settings(spec: PipelineSpec) -> dict[str, Any]:
    """Every value of a pipeline by its key, as ``--set`` calls them."""
    values: dict[str, Any] = msgspec.to_builtins(spec)
    del values["stages"]
    values["stages"] = [stage.target for stage in spec.stages]
    for stage in spec.stages:
        values[f"{stage.name}.workers"] = stage.workers
        values[f"{stage.name}.limit"] = stage.limit
        values.update(_flat(stage.options, f"{stage.name}."))
    return values


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or _NOTHING
    return _NOTHING if value in (None, "") else str(value)
