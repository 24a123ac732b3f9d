"""What a pipeline does, told to strangers: stages, options and models, but no name and no path.

A file that says who is in a video would be worse than none, and anything a user typed may do so:
the folder of a gallery, the name of a preset, a label. So only what cannot hold a name is told:
numbers, truth values, words that a stage itself offers, and defaults. What is left out is listed
by its option, and of what is a list also how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import inspect

from mpflow.importer import SHORT_NAMES, stage_class
from mpflow.layers import yaml_value
from mpflow.models.fetch import sha256_of
from mpflow.models.manifest import Manifest
from mpflow.presets import preset_names
from mpflow.spec import ONLY_SPEED, REDACTED, REDACTED_IN_PART, PipelineSpec, StageSpec

_TOLD = frozenset({"codec", "crf", "encoder_preset", "device", "bitrate", "format"})
"""Free words that are told all the same: FFmpeg or the machine has to know them."""

_MEASURES = re.compile(r"[\d\s.,:;%+xfsm-]*")
"""Sizes, times and ranges as text: 640x384, 1:05-1:10, f120-f240, 1.5s."""

_A_NAME = "Anna"
_BY_INSIGHTFACE = "insightface:"
_DESCRIPTIONS = (".yaml", ".yml")


def preset_of(spec: PipelineSpec) -> str | None:
    """The preset's name, where it is one of ours; a user's own may be called after anybody. Stages
    that were added to it (``swap+enhance``) are ours too."""
    return spec.preset if spec.preset.partition("+")[0] in preset_names() else None


def operations_of(spec: PipelineSpec) -> list[dict[str, Any]]:
    """Each stage in order: its kind, the options that can be told, and the names of the others; of
    those that list something (photos, say), how many it is."""
    return [_operation(stage) for stage in spec.stages]


def changes_of(spec: PipelineSpec, changed: Mapping[str, int]) -> list[dict[str, Any]]:
    """What was in force other than asked for, and in how many frames (LedgerSummary.changed): the
    kind of stage, its option and value, None for one that cannot be told, or that it was left out.
    """
    return [{**_change(note, spec), "frames": frames} for note, frames in changed.items()]


def models_of_stages(spec: PipelineSpec) -> list[dict[str, Any]]:
    """Each model that a stage names: the kind of stage, its name in the manifest, its sha256.

    A model of the user's own has no name here, nor have the files that its description names
    besides (``also``). What a stage does without a file has no hash. Raises what reading its file
    raises.
    """
    manifest = Manifest.shipped()
    return [each for stage in spec.stages for each in _models(stage, manifest)]


def _operation(stage: StageSpec) -> dict[str, Any]:
    told: dict[str, Any] = {}
    left_out: list[str] = []
    ours = Manifest.shipped()
    for each in (field for field in _fields(stage) if field.name not in ONLY_SPEED):
        value = stage.options.get(each.name)
        if _can_be_told(value, each) or (each.name == "model" and str(value) in ours):
            told[each.name] = value
        else:
            left_out.append(each.name)
    operation = {"stage": _kind(stage.target), "options": told, "left_out": left_out}
    values = {name: stage.options.get(name) for name in left_out}
    listed = {name: len(each) for name, each in values.items() if isinstance(each, list | tuple)}
    return {**operation, "numbers": listed} if listed else operation


def _change(note: str, spec: PipelineSpec) -> dict[str, Any]:
    """A note as tokens have it, ``-enhance`` or ``detect.every=2``."""
    key, is_set, text = note.partition("=")
    for stage in spec.stages:
        kind = _kind(stage.target)
        if key == f"-{stage.name}":
            return {"stage": kind, "left_out": True}
        option = key.removeprefix(f"{stage.name}.")
        field = next((each for each in _fields(stage) if each.name == option), None)
        if is_set and option != key and field is not None:
            value = yaml_value(text)
            told = value if _can_be_told(value, field) else None
            return {"stage": kind, "option": option, "value": told}
    return {"stage": None}


def _fields(stage: StageSpec) -> Sequence[inspect.Field]:
    options = inspect.type_info(stage_class(stage.target).Options)
    return options.fields if isinstance(options, inspect.StructType) else ()


def _kind(target: str) -> str:
    """What a stage is, whatever a preset calls it."""
    return next((short for short, long in SHORT_NAMES.items() if long == target), target)


def _can_be_told(value: Any, field: inspect.Field) -> bool:
    default = field.default
    if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    plain = None if default is msgspec.NODEFAULT else msgspec.to_builtins(default)
    return field.name in _TOLD or value == plain or _is_plain(value, field.type)


def _is_plain(value: Any, kind: inspect.Type) -> bool:
    match value:
        case None | bool() | int() | float():
            return True
        case str():
            return (
                value in (REDACTED, REDACTED_IN_PART)
                or bool(_MEASURES.fullmatch(value))
                or _offers(kind, value)
            )
        case list() | tuple():
            return all(_is_plain(each, kind) for each in value)
        case Mapping():
            return all(_is_plain(each, kind) for each in value.values())
        case _:
            return False


def _offers(kind: inspect.Type, value: str) -> bool:
    """Whether the stage offers the word itself, or takes only text that is never a name."""
    match kind:
        case inspect.LiteralType():
            return value in kind.values
        case inspect.EnumType():
            return value in {each.value for each in kind.cls}
        case inspect.UnionType():
            return any(_offers(each, value) for each in kind.types)
        case inspect.StrType(pattern=str(pattern)):
            return re.search(pattern, value) is not None and re.search(pattern, _A_NAME) is None
        case _:
            return False


def _models(stage: StageSpec, manifest: Manifest) -> list[dict[str, Any]]:
    kind, options = _kind(stage.target), stage.options
    model, path = options.get("model"), options.get("path")
    if path:
        model = str(Path(str(path)).expanduser().absolute())  # a file, whatever it is called
    named = [_model(str(model), manifest)] if model else []
    if model and not path and model not in manifest and _fits_default(stage, "model", model):
        named = [{"model": model, "sha256": None}]
    masks = (_model(str(each), manifest) for each in options.get("masks") or ())
    return [{"stage": kind, **each} for each in (*named, *masks)]


def _model(text: str, manifest: Manifest) -> dict[str, Any]:
    """A model that an option names: one of the manifest, a file, or a description."""
    if text in manifest:
        return {"model": text, "sha256": manifest.entry(text).final_sha256}
    own = Path(text.removeprefix(_BY_INSIGHTFACE)).expanduser()
    told = _described(own, manifest) if own.suffix in _DESCRIPTIONS else {"sha256": _hash(own)}
    return {"model": None, **told}


def _fits_default(stage: StageSpec, option: str, value: Any) -> bool:
    return any(each.name == option and each.default == value for each in _fields(stage))


def _described(description: Path, manifest: Manifest) -> dict[str, Any]:
    """The hashes of a description, of the file that it is about, and of all others it names."""
    folder, data = description.absolute().parent, yaml.safe_load(description.read_text("utf-8"))
    data = data if isinstance(data, dict) else {}
    file = folder / Path(str(data.pop("file", ""))).expanduser()
    told = {"sha256": _hash(file), "description_sha256": _hash(description)}
    named = (_named(text, folder, manifest) for text in _texts(data))
    also = [each for each in named if each is not None]
    return {**told, "also": also} if also else told


def _texts(data: Any) -> Iterator[str]:
    """Every text in a description, wherever it stands."""
    match data:
        case str():
            yield data
        case Mapping() | list():
            for value in data.values() if isinstance(data, Mapping) else data:
                yield from _texts(value)


def _named(text: str, folder: Path, manifest: Manifest) -> dict[str, Any] | None:
    """A model that a text in a description names, by its name or as a file; None for no model."""
    if text in manifest:
        return {"model": text, "sha256": manifest.entry(text).final_sha256}
    path = folder / Path(text.removeprefix(_BY_INSIGHTFACE)).expanduser()
    return {"model": None, "sha256": _hash(path)} if text and path.is_file() else None


def _hash(path: Path) -> str | None:
    """None for what is no file, such as a pack of models that a library finds itself."""
    return sha256_of(path) if path.is_file() else None
