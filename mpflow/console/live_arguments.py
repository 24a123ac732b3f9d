"""What ``mpflow live`` was asked for, and its flags as overrides of the configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpflow.console.covering import Covering, with_mesh
from mpflow.console.people import people_flags, preset_for
from mpflow.console.stageflags import Flag, Where, encoder_option, for_some_stage
from mpflow.console.swapping import Wish
from mpflow.errors import ConfigError
from mpflow.pictures import require_picture

if TYPE_CHECKING:
    from mpflow.config import Resolved
    from mpflow.jobs.live import LiveRequest

PRESET, SWAP = "live-redact", "live-swap"
_KEYS = (
    *("max_latency", "memory", "strict", "offline", "log_level", "on_failure", "on_alert"),
    *("core_dumps", "metrics", "name", "alert_p99", "degrade"),
)
"""Flags that are a general key of the same name."""

_OF_STAGES = {
    "retry": ("retry", Where.ALL),
    "listen": ("listen", Where.SOURCE),
    "loop": ("loop", Where.SOURCE),
    "insecure": ("insecure", Where.ALL),
    "audio": ("audio", Where.ALL),
    "container": ("format", Where.SINK),
    "codec": ("codec", Where.SINK),
    "crf": ("crf", Where.SINK),
    "bitrate": ("bitrate", Where.SINK),
    "encoder_preset": ("encoder_preset", Where.SINK),
    "device": ("device", Where.ALL),
}
"""Flags that are an option of whichever stage has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveArguments:
    """The command line of ``mpflow live``; None means not given."""

    source: str
    output: str
    yes: bool = False
    preset: str = PRESET
    keep: Path | None = None
    only: Path | None = None
    method: str | None = None
    replacement: Path | None = None
    shape: str | None = None
    cover_head: bool | None = None
    strength: float | None = None
    sources: Sequence[Path] = ()
    pairs: Sequence[str] = ()
    others: str | None = None
    enhance: str | None = None
    accept_notice: bool = False
    settings: Sequence[str] = ()
    config: Path | None = None
    max_latency: float | None = None
    retry: float | None = None
    listen: bool | None = None
    loop: bool | None = None
    insecure: bool | None = None
    container: str | None = None
    audio: bool | None = None
    codec: str | None = None
    crf: float | None = None
    bitrate: str | None = None
    encoder_preset: str | None = None
    encoder_options: Sequence[str] = ()
    preview: str = ""
    device: str | None = None
    workers: int | str | None = None
    memory: int | None = None
    strict: bool | None = None
    on_failure: str | None = None
    on_alert: str | None = None
    core_dumps: bool | None = None
    name: str | None = None
    metrics: str | None = None
    alert_p99: float | None = None
    ladder: Sequence[str] = ()
    degrade: str | None = None
    offline: bool | None = None
    as_json: bool = False
    log_level: str | None = None
    log_file: Path | None = None
    report: Path | None = None
    trace: str = ""
    tokens: str = ""
    dry_run: bool = False

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

    def check(self) -> None:
        """Raise ConfigError for what is wrong at first sight."""
        if self.as_json and self.output == "-":
            raise ConfigError(
                "--json and -o - would both write to standard output", cure="leave out one of them"
            )
        if self.preview:
            require_picture(self.preview, "--preview")

    def resolve(self) -> Resolved:
        """The configuration of the run; raises ConfigError that names key and origin."""
        from mpflow.alertcommand import command_words
        from mpflow.config import resolve
        from mpflow.jobs.live import check_live

        resolved = resolve(self.chosen, flags=list(self._flags()), config_file=self.config)
        command_words(resolved.spec.on_alert)
        check_live(resolved.spec, self.output, to_terminal=is_terminal())
        return resolved

    def request(self, resolved: Resolved) -> LiveRequest:
        """What to plan."""
        from mpflow.jobs.live import LiveRequest

        first, last = (resolved.spec.stages[at].options for at in (0, -1))
        return LiveRequest(
            self.source,
            self.output,
            overwrite=self.yes,
            listens=bool(first.get("listen")),
            named_format=bool(last.get("format")),
            tokens=self.tokens,
            trace=self.trace,
            preview=self.preview,
            written=[str(path) for path in (self.report, self.log_file) if path is not None],
        )

    def _flags(self) -> Iterator[Flag]:
        from mpflow.config import load_preset, parse_set

        for name in _KEYS:
            if (value := getattr(self, name)) is not None:
                yield name, value, _flag(name)
        for name, (option, where) in _OF_STAGES.items():
            if (value := getattr(self, name)) is not None:
                yield from for_some_stage(self.chosen, option, value, _flag(name), where)
        if self.workers is not None:
            yield "detect.workers", self.workers, "flag --workers"
        yield from people_flags(self.chosen, self.keep, self.only)
        yield from self.wish.flags(self.chosen)
        yield from Covering(
            self.method,
            self.replacement,
            self.shape,
            cover_head=self.cover_head,
            strength=self.strength,
        ).flags(self.chosen)
        if self.ladder:
            yield "ladder", list(self.ladder), "flag --ladder"
        for text in self.encoder_options:
            yield encoder_option(load_preset(self.chosen).stages[-1].key, text)
        for text in self.settings:
            yield parse_set(text)


def is_terminal() -> bool:
    """Whether somebody would see what goes to standard output."""
    return sys.stdout.isatty()


def _flag(name: str) -> str:
    """How a flag is typed."""
    return f"flag --{'format' if name == 'container' else name.replace('_', '-')}"
