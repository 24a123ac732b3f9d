"""Which models a pipeline needs: what its stages' ``model`` options name; and which an audit."""

from __future__ import annotations

from mpflow.config import preset_names, resolve
from mpflow.models.description import is_description
from mpflow.spec import PipelineSpec
from mpflow.swapping.opened import MESH

AUDIT = ("yunet", "centerface", "sface")
"""An audit's models: the detectors of the input and of the output, and who tells faces apart."""


def models_of(spec: PipelineSpec) -> list[str]:
    """The names in the manifest; a stage with a ``path``, a file of one's own or another package's
    model needs none, and neither do faces that are made without a network."""
    options = [stage.options for stage in spec.stages]
    named = [each["model"] for each in options if each.get("model") and not each.get("path")]
    return [name for name in dict.fromkeys(named) if _is_of_manifest(name)]


def models_of_mpflow() -> list[str]:
    """What the presets that ship with mpflow need, as they ship, and its other commands."""
    specs = [resolve(name, environ={}).spec for name in preset_names()]
    return list(dict.fromkeys([*(name for spec in specs for name in models_of(spec)), *AUDIT]))


def _is_of_manifest(name: str) -> bool:
    return not (is_description(name) or name.endswith(".onnx") or ":" in name or name == MESH)
