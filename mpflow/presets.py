"""Presets: which stages, in which order, with which options; by name, or a file by its path."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from mpflow.errors import ConfigError
from mpflow.importer import did_you_mean
from mpflow.spec import Degrade, OnFailure

NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class StageEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stage as a preset writes it. An ``optional`` one is there only where the preset is
    called with it: ``swap+enhance``."""

    stage: str
    name: str = ""
    workers: int | Literal["auto"] = 1
    limit: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    optional: bool = False
    options: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """How its options are named: ``name``, else the short name or class in lower case."""
        return self.name or self.stage.rpartition(":")[2].lower()


class General(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that belong to no stage.

    ``slots``: frames in the ring, 0 for as many as help; ``memory``: MiB they may take, 0 for a
    share of what is free; ``offline``: never use the network; ``strict``: frames that were not
    delivered as asked make the exit status 5; ``log_level``: least level that is kept; ``stall``:
    seconds without any frame moving after which the run ends; ``retries``: how often a frame that
    a stage fails on is tried again; ``on_failure``: what becomes of it then: mask covers it whole,
    pass gives it on as it is, skip leaves it out, fail ends the run; ``core_dumps``: let a crashed
    worker leave one, with pictures in it; ``on_alert``: a command that gets alerts as JSON on its
    standard input; ``no_face_for``: seconds without a face that raise an alert, 0 for never;
    ``low_disk``: MiB of free disk below which there is one; ``max_latency``: seconds from a frame's
    arrival to its output, in live runs: what comes later is dropped; ``ttl``: seconds after which
    a live frame is given up, or a worker that keeps one so long in a file run is replaced, 0 for
    300 in live runs and never in others; ``ladder``: what is given up under load, in order:
    STAGE.OPTION=VALUE or skip STAGE; ``degrade``: in which runs: live, always or never;
    ``alert_p99``: milliseconds of age that raise an alert when one frame in a hundred is older, 0
    for max_latency; ``metrics``: HOST:PORT where Prometheus may read them; ``name``: what top and
    ctl may call the run; ``sidecar``: write NAME.EXT.mpflow.json beside a redacted video, which
    says what was done to it; where faces are made it cannot be left out.
    """

    slots: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 0
    memory: NotNegative = 0
    offline: bool = False
    strict: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    stall: Positive = 60.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 2
    on_failure: OnFailure = "fail"
    core_dumps: bool = False
    on_alert: str = ""
    no_face_for: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    low_disk: NotNegative = 512
    max_latency: Positive = 2.0
    ttl: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    ladder: tuple[str, ...] = ()
    degrade: Degrade = "live"
    alert_p99: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    metrics: str = ""
    name: Annotated[str, msgspec.Meta(pattern=r"^[\w.:@+-]{0,64}$", examples=["front-door"])] = ""
    sidecar: bool = True


class Preset(General, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A preset file: strict, each stage with its own options.

    ``privacy`` keeps what was not redacted out of the output. Unset, it is on when a stage
    protects people (``Stage.protects``), so a preset of one's own is safe without knowing it.
    ``live`` presets are for streams: frames that come too late are dropped.
    """

    stages: tuple[StageEntry, ...]
    description: str = ""
    privacy: bool | None = None
    live: bool = False


_FILES = (".yaml", ".yml")

TOP_LEVEL = General.__struct_fields__


def preset_names() -> list[str]:
    """Names of the presets that ship with mpflow."""
    files = resources.files("mpflow.configs").joinpath("presets").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".yaml"))


def load_preset(name: str) -> Preset:
    """Read a shipped preset by name, or a YAML file by path; raises ConfigError.

    A preset file's own folder is searched for the stages it names, after everything else. Of its
    optional stages it has those that the name adds, as in ``swap+embed+redact``.
    """
    bare, wanted = _taken_apart(name)
    preset = whole_preset(bare)
    optional = [entry.key for entry in preset.stages if entry.optional]
    for key in wanted:
        if key not in optional:
            known = f"it has: {', '.join(optional)}" if optional else "it has none"
            raise ConfigError(f"preset {bare!r} has no optional stage {key!r}", cure=known)
    stages = tuple(each for each in preset.stages if not each.optional or each.key in wanted)
    left_out = {key for key in optional if key not in wanted}
    ladder = tuple(rung for rung in preset.ladder if _stage_of(rung) not in left_out)
    return msgspec.structs.replace(preset, stages=stages, ladder=ladder)


def with_stages(name: str, wanted: Iterable[str]) -> str:
    """The name of the same preset with these stages too; raises ConfigError for one that it does
    not have."""
    bare, given = _taken_apart(name)
    entries = {entry.key: entry for entry in whole_preset(bare).stages}
    for key in wanted:
        if key not in entries:
            raise ConfigError(
                f"preset {bare!r} has no stage {key!r}", cure="add one, or take --preset swap"
            )
        if entries[key].optional and key not in given:
            given = [*given, key]
    return "+".join([bare, *given])


def bare_name(name: str) -> str:
    """The preset's own name, without the optional stages that are added to it."""
    return _taken_apart(name)[0]


def _stage_of(rung: str) -> str:
    """The stage that a rung of a ladder is about: skip STAGE, or STAGE.OPTION=VALUE."""
    return rung.removeprefix("skip ").partition(".")[0].strip()


def _taken_apart(name: str) -> tuple[str, list[str]]:
    if name.endswith(_FILES) or "+" not in name:
        return name, []
    ending = next((name.find(f"{each}+") + len(each) for each in _FILES if f"{each}+" in name), -1)
    at = ending if ending >= 0 else name.index("+")
    return name[:at], name[at + 1 :].split("+")


def whole_preset(name: str) -> Preset:
    """A preset with all of its optional stages, by its own name."""
    if name.endswith(_FILES):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise ConfigError(
                f"preset file {name!r} does not exist", cure="check the path"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"preset file {name!r} cannot be read: {error}") from error
        folder = str(path.absolute().parent)
        if folder not in sys.path:
            sys.path.append(folder)
        return read_preset(text, name)
    if name not in preset_names():
        raise ConfigError(f"unknown preset {name!r}", cure=did_you_mean(name, preset_names()))
    file = resources.files("mpflow.configs").joinpath("presets", f"{name}.yaml")
    return read_preset(file.read_text(encoding="utf-8"), f"preset {name}")


def read_preset(text: str, origin: str) -> Preset:
    """Read a preset's YAML; raises ConfigError that names ``origin`` and the key."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin} is not YAML: {error}", cure="correct the file") from error
    try:
        return msgspec.convert(data, Preset)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{origin}: {error}",
            cure="a preset has the keys "
            + ", ".join(Preset.__struct_fields__)
            + "; a stage has stage, name, workers, limit, optional and options",
        ) from error
