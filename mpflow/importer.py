"""From a stage's name to its class: a short name is one of ours, ``package.module:Class`` any."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

import msgspec

from mpflow.describe import describe_field, describe_options, takes_text
from mpflow.errors import ConfigError
from mpflow.graph import Demand
from mpflow.spec import JobSpec, MediaInfo, StageSpec
from mpflow.stage import Options, Sink, Source, Stage, StageContext

__all__ = [
    "SHORT_NAMES",
    "AnyStage",
    "AnyStageClass",
    "build",
    "demand_of",
    "check_input",
    "describe_options",
    "did_you_mean",
    "read_options",
    "stage_class",
    "target_of",
]

AnyStage = Source[Any] | Stage[Any] | Sink[Any]
AnyStageClass = type[Source[Any]] | type[Stage[Any]] | type[Sink[Any]]

SHORT_NAMES: dict[str, str] = {
    "align": "mpflow.stages.align:Align",
    "blend": "mpflow.stages.blend:Blend",
    "decode": "mpflow.stages.decode:Decode",
    "detect": "mpflow.stages.detect:Detect",
    "embed": "mpflow.stages.embed:Embed",
    "enhance": "mpflow.stages.enhance:Enhance",
    "redact": "mpflow.stages.redact:Redact",
    "encode": "mpflow.stages.encode:Encode",
    "faces": "mpflow.stages.faces:Faces",
    "faces-json": "mpflow.stages.faces_json:FacesJson",
    "landmarks": "mpflow.stages.landmarks:Landmarks",
    "mark": "mpflow.stages.mark:Mark",
    "pose": "mpflow.stages.pose:Pose",
    "receive": "mpflow.stages.receive:Receive",
    "send": "mpflow.stages.send:Send",
    "swap": "mpflow.stages.swap:Swap",
    "track": "mpflow.stages.track:Track",
}


def target_of(stage: str) -> str:
    """Expand a short name; raises ConfigError naming the nearest ones for an unknown name."""
    if ":" in stage:
        return stage
    if stage in SHORT_NAMES:
        return SHORT_NAMES[stage]
    raise ConfigError(
        f"unknown stage {stage!r}",
        cure=did_you_mean(stage, SHORT_NAMES) + ", or package.module:Class for one of your own",
    )


def stage_class(target: str) -> AnyStageClass:
    """Import ``package.module:Class``; raises ConfigError when it is not there or no stage."""
    module_name, _, class_name = target.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"stage {target!r} cannot be imported: {error}",
            cure="install its package beside mpflow, put it beside the preset file,"
            " or name its folder in PYTHONPATH",
        ) from error
    except AttributeError as error:
        raise ConfigError(
            f"module {module_name!r} has no class {class_name!r}",
            cure="name the stage as package.module:Class",
        ) from error
    if not (isinstance(found, type) and issubclass(found, (Source, Stage, Sink))):
        raise ConfigError(
            f"{target!r} is no stage",
            cure="derive the class from mpflow.stage.Source, Stage or Sink",
        )
    return found


def read_options(name: str, cls: AnyStageClass, values: dict[str, Any]) -> Options:
    """Check option values against the class's own Options; raises ConfigError naming the key.

    Text is converted where an option is a number or a truth value, since flags and the
    environment only carry text.
    """
    known = [field.name for field in msgspec.structs.fields(cls.Options)]
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key {name}.{key}", cure=did_you_mean(key, known, name))
    # 640 or true may be meant as text; as text they also reach the option's own check
    texts = {
        key: str(value)
        for key, value in values.items()
        if isinstance(value, (int, float)) and takes_text(cls.Options, key)
    }
    try:
        return msgspec.convert({**values, **texts}, cls.Options, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        where, what = _where_and_what(str(error), values)
        takes = describe_field(cls.Options, where.strip("."))
        cure = f"{name}{where} takes {takes}" if takes else f"see `mpflow presets keys {name}`"
        raise ConfigError(f"{name}{where}: {what}", cure=cure) from error


def build(spec: StageSpec, context: StageContext) -> AnyStage:
    """Make the stage of a spec, not yet opened."""
    cls = stage_class(spec.target)
    return cls(read_options(spec.name, cls, spec.options), context)


def check_input(stages: Iterable[StageSpec], job: JobSpec, media: MediaInfo) -> None:
    """Let every stage say, before a frame is decoded, what it is asked for that an input has not.

    Raises ConfigError.
    """
    for spec in stages:
        cls = stage_class(spec.target)
        cls.check_input(read_options(spec.name, cls, spec.options), job, media)


def did_you_mean(word: str, known: Any, prefix: str = "") -> str:
    """Say the nearest known names, or all of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    lead = f"{prefix}." if prefix else ""
    listed = ", ".join(f"{lead}{name}" for name in (near or names))
    return f"did you mean {listed}?" if near else f"known are: {listed}"


_OF_PYTHON = ("Expected ", "Invalid enum value")


def _where_and_what(text: str, values: dict[str, Any]) -> tuple[str, str]:
    """Split msgspec's ``message - at `$.key``` into the key and the message, in words of ours
    where it is about one value: patterns and types of Python are nobody's language."""
    what, _, at = text.partition(" - at `$")
    at = at.rstrip("`")
    if what.startswith(_OF_PYTHON) and (key := at.removeprefix(".")) in values:
        what = f"{values[key]!r} is not what it takes"
    return at, what


def demand_of(stage: AnyStage) -> Demand:
    """What a stage asks of the ring, as its options and context have it."""
    match stage:
        case Stage():
            return Demand(
                stage.holds,
                stage.max_batch,
                stage.changes_pixels,
                remembers=stage.remembers,
                side_bytes=stage.side_bytes,
                least_holds=stage.least_holds,
                less_ahead=stage.less_ahead,
            )
        case Sink():
            return Demand(stage.holds, restartable=stage.restartable)
        case _:
            return Demand()
