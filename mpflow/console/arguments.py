"""What a `run` was asked for, and its flags as overrides of the configuration.

A flag is a short name for a configuration key; ``--set`` reaches every other key, and wins over
a flag. Each override carries its origin, so that a wrong value is blamed on what was typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpflow.errors import ConfigError
from mpflow.spec import Overwrite

if TYPE_CHECKING:  # these load numpy and OpenCV, which the supervisor should begin with first
    from mpflow.config import Resolved
    from mpflow.jobs import Request

Flag = tuple[str, Any, str]

_KEYS = {
    "codec": "encode.codec",
    "crf": "encode.crf",
    "encoder_preset": "encode.encoder_preset",
    "keep_streams": "encode.keep_streams",
    "keep_metadata": "encode.keep_metadata",
    "workers": "detect.workers",
    "memory": "memory",
    "strict": "strict",
    "offline": "offline",
    "log_level": "log_level",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The command line of ``mpflow run``; None means not given."""

    paths: Sequence[str] = ()
    inputs: Sequence[str] = ()
    output: str = ""
    yes: bool = False
    no: bool = False
    recursive: bool = False
    preset: str = "redact"
    settings: Sequence[str] = ()
    config: Path | None = None
    codec: str | None = None
    crf: float | None = None
    encoder_preset: str | None = None
    encoder_options: Sequence[str] = ()
    keep_streams: bool | None = None
    keep_metadata: bool | None = None
    device: str | None = None
    workers: int | None = None
    memory: int | None = None
    strict: bool | None = None
    offline: bool | None = None
    as_json: bool = False
    log_level: str | None = None
    log_file: Path | None = None
    dry_run: bool = False

    def check(self) -> None:
        """Raise ConfigError for what is wrong at first sight."""
        if not (self.inputs or self.paths):
            raise ConfigError("there is no input", cure="give one with -i")
        if self.yes and self.no:
            raise ConfigError("-y and -n contradict each other", cure="give one of them")
        if self.as_json and self.output == "-":
            raise ConfigError(
                "--json and -o - would both write to standard output", cure="give a file with -o"
            )

    def request(self) -> Request:
        """What to plan."""
        from mpflow.jobs import Request

        overwrite: Overwrite = "yes" if self.yes else "no" if self.no else "ask"
        inputs = [*self.inputs, *self.paths]
        return Request(inputs, self.output, self.preset, overwrite, self.recursive)

    def resolve(self) -> Resolved:
        """The configuration of the run; raises ConfigError that names key and origin."""
        from mpflow.config import resolve

        return resolve(self.preset, flags=list(self._flags()), config_file=self.config)

    def _flags(self) -> Iterator[Flag]:
        from mpflow.config import parse_set

        for name, key in _KEYS.items():
            if (value := getattr(self, name)) is not None:
                yield key, value, f"flag --{name.replace('_', '-')}"
        if self.device is not None:
            yield from _device_flags(self.preset, self.device)
        for text in self.encoder_options:
            yield _encoder_option(text)
        for text in self.settings:
            yield parse_set(text)


def _device_flags(preset: str, device: str) -> Iterator[Flag]:
    """``--device`` is for every stage that runs on one."""
    import msgspec

    from mpflow.config import load_preset
    from mpflow.importer import stage_class, target_of

    for entry in load_preset(preset).stages:
        options = msgspec.structs.fields(stage_class(target_of(entry.stage)).Options)
        if any(option.name == "device" for option in options):
            yield f"{entry.name or entry.stage}.device", device, "flag --device"


def _encoder_option(text: str) -> Flag:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(
            f"--encoder-option {text!r} is not KEY=VALUE",
            cure="write for example --encoder-option bframes=2",
        )
    return f"encode.encoder_options.{key.strip()}", value, f"flag --encoder-option {key.strip()}"
