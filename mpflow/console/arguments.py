"""What a `run` was asked for, and its flags as overrides of the configuration.

A flag is a short name for a configuration key; ``--set`` reaches every other key, and wins over
a flag. Each override carries its origin, so that a wrong value is blamed on what was typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpflow.console.covering import Covering, with_mesh
from mpflow.console.forgotten import refuse_output_without_flag
from mpflow.console.frames import wanted_frames
from mpflow.console.people import people_flags, preset_for
from mpflow.console.stageflags import Flag, encoder_option, for_stages
from mpflow.console.swapping import Wish
from mpflow.errors import ConfigError, OutputError

if TYPE_CHECKING:  # these load numpy and OpenCV, which the supervisor should begin with first
    from mpflow.config import Resolved
    from mpflow.jobs import Request

PRESET, SWAP = "redact", "swap"
_LINES = (".jsonl", ".json")
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
    "on_failure": "on_failure",
    "on_alert": "on_alert",
    "core_dumps": "core_dumps",
    "metrics": "metrics",
    "name": "name",
    "alert_p99": "alert_p99",
    "degrade": "degrade",
    "sidecar": "sidecar",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The command line of ``mpflow run``; None means not given. ``flags`` are those of a command
    that is about one preset."""

    paths: Sequence[str] = ()
    inputs: Sequence[str] = ()
    output: str = ""
    yes: bool = False
    no: bool = False
    recursive: bool = False
    preset: str = PRESET
    keep: Path | None = None
    only: Path | None = None
    method: str | None = None
    replacement: Path | None = None
    shape: str | None = None
    cover_head: bool | None = None
    strength: float | None = None
    spans: str | None = None
    sources: Sequence[Path] = ()
    pairs: Sequence[str] = ()
    others: str | None = None
    enhance: str | None = None
    accept_notice: bool = False
    settings: Sequence[str] = ()
    flags: Sequence[Flag] = ()
    config: Path | None = None
    codec: str | None = None
    crf: float | None = None
    encoder_preset: str | None = None
    encoder_options: Sequence[str] = ()
    keep_streams: bool | None = None
    keep_metadata: bool | None = None
    device: str | None = None
    workers: int | str | None = None
    memory: int | None = None
    strict: bool | None = None
    offline: bool | None = None
    as_json: bool = False
    log_level: str | None = None
    log_file: Path | None = None
    dry_run: bool = False
    resume: bool = False
    frames: str | None = None
    start_frame: int | None = None
    end_frame: int | None = None
    on_failure: str | None = None
    on_alert: str | None = None
    core_dumps: bool | None = None
    metrics: str | None = None
    name: str | None = None
    alert_p99: float | None = None
    degrade: str | None = None
    sidecar: bool | None = None
    ladder: Sequence[str] = ()
    report: Path | None = None
    tokens: str = ""
    trace: str = ""

    @property
    def chosen(self) -> str:
        """The preset, as --keep, --only, --shape and --source change it; raises ConfigError where
        they contradict each other."""
        people = self.keep is not None or self.only is not None
        preset = self.wish.preset_for(self.preset, PRESET, SWAP, people=people)
        return with_mesh(preset_for(preset, PRESET, self.keep, self.only), PRESET, self.shape)

    @property
    def wish(self) -> Wish:
        """Who is to look like whom."""
        return Wish(self.sources, self.pairs, self.others, self.enhance)

    @property
    def covering(self) -> Covering:
        """How faces are to be covered."""
        return Covering(
            self.method,
            self.replacement,
            self.shape,
            cover_head=self.cover_head,
            strength=self.strength,
            spans=self.spans,
        )

    def check(self) -> None:
        """Raise ConfigError for what is wrong at first sight."""
        if not (self.inputs or self.paths):
            raise ConfigError("there is no input", cure="give one with -i")
        if not (self.output or self.inputs):
            refuse_output_without_flag(self.paths)
        if self.yes and self.no:
            raise ConfigError("-y and -n contradict each other", cure="give one of them")
        if self.as_json and self.output == "-":
            raise ConfigError(
                "--json and -o - would both write to standard output", cure="give a file with -o"
            )
        if self.resume and self.output == "-":
            raise ConfigError(
                "what went to standard output cannot be gone on with", cure="leave out --resume"
            )
        wanted_frames(self.frames, self.start_frame, self.end_frame)

    def request(self, resolved: Resolved) -> Request:
        """What to plan."""
        from mpflow.jobs import Request
        from mpflow.jobs.sidecar import has_sidecar

        start, stop = wanted_frames(self.frames, self.start_frame, self.end_frame)
        return Request(
            [*self.inputs, *self.paths],
            self.output,
            self.chosen,
            "yes" if self.yes else "no" if self.no else "ask",
            self.recursive,
            start=start,
            stop=stop,
            resume=self.resume,
            tokens=self.tokens,
            trace=self.trace,
            sidecar=has_sidecar(resolved.spec),
            written=[str(path) for path in (self.report, self.log_file) if path is not None],
        )

    def resolve(self) -> Resolved:
        """The configuration of the run; raises ConfigError that names key and origin."""
        from mpflow.alertcommand import command_words
        from mpflow.config import resolve

        resolved = resolve(self.chosen, flags=list(self._flags()), config_file=self.config)
        command_words(resolved.spec.on_alert)
        if resolved.spec.live:
            raise ConfigError(
                f"preset {resolved.spec.preset!r} is for live runs",
                cure="use mpflow live, with -i and -o",
            )
        self._check_kind(resolved)
        return resolved

    def _check_kind(self, resolved: Resolved) -> None:
        """Raise OutputError where lines are asked for by name, and a video would be made."""
        from mpflow.importer import stage_class

        sink = stage_class(resolved.spec.stages[-1].target)
        lines = self.output.lower().endswith(_LINES) and not Path(self.output).is_dir()
        if lines and not getattr(sink, "suffix", ""):
            raise OutputError(
                f"{self.output!r} is named as lines of JSON, but preset {resolved.spec.preset!r}"
                " makes a video",
                cure="--preset detect-only writes the faces it finds as such lines; a video is"
                " named NAME.mp4 or NAME.mkv",
            )

    def _flags(self) -> Iterator[Flag]:
        from mpflow.config import parse_set

        for name, key in _KEYS.items():
            if (value := getattr(self, name)) is not None:
                yield key, value, f"flag --{name.replace('_', '-')}"
        if self.device is not None:
            yield from for_stages(self.chosen, "device", self.device, "flag --device")
        yield from people_flags(self.chosen, self.keep, self.only)
        yield from self.wish.flags(self.chosen)
        yield from self.covering.flags(self.chosen)
        yield from self.flags
        for text in self.encoder_options:
            yield encoder_option("encode", text)
        if self.ladder:
            yield "ladder", list(self.ladder), "flag --ladder"
        for text in self.settings:
            yield parse_set(text)
