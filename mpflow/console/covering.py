"""How faces are covered, and when: flags for whichever stage of a preset hides people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mpflow.console.stageflags import Flag
from mpflow.errors import ConfigError

MESH = "mesh"

SPANS = click.option(
    "--spans",
    metavar="FROM-TO,...",
    help="Cover only then, for example 0:05-0:10,1:00- or, in frames, f120-f240. The rest is left "
    "as it is.",
)

COVERING = (
    click.option(
        "--method",
        type=click.Choice(["blur", "mosaic", "solid"]),
        help="How faces are covered.  [default: blur]",
    ),
    click.option(
        "--replacement",
        type=click.Path(path_type=Path),
        metavar="PICTURE",
        help="Lay this picture over every face, scaled to it; what shows through is blurred.",
    ),
    click.option(
        "--shape",
        type=click.Choice(["ellipse", "box", MESH]),
        help="The form of a cover; mesh follows the outline of the face (preset redact-mesh).  "
        "[default: ellipse]",
    ),
    click.option(
        "--cover-head/--no-cover-head",
        default=None,
        help="Cover the whole head: hair, ears and chin too.",
    ),
    click.option(
        "--strength",
        type=click.FloatRange(0.1, 10),
        metavar="FACTOR",
        help="How many times coarser than by default a blur or mosaic is; less than 1 is weaker "
        "than what was measured to hide a face.  [default: 1]",
    ),
)


@dataclass(frozen=True, slots=True)
class Covering:
    """What was asked for; None means not given."""

    method: str | None = None
    replacement: Path | None = None
    shape: str | None = None
    cover_head: bool | None = None
    strength: float | None = None
    spans: str | None = None

    def flags(self, preset: str) -> Iterator[Flag]:
        """As keys of the stages that hide people; raises ConfigError if a preset has none."""
        if self.replacement is not None and self.method is not None:
            raise ConfigError(
                "--replacement and --method contradict each other", cure="give one of them"
            )
        if self.spans is not None and not self.spans.strip():
            raise ConfigError("--spans is empty", cure="write for example --spans 0:05-0:10")
        for option, value, flag in self._options():
            yield from _of_covers(preset, option, value, f"flag --{flag}")

    def _options(self) -> Iterator[tuple[str, Any, str]]:
        if self.replacement is not None:
            yield "method", "image", "replacement"
            yield "image", str(self.replacement.absolute()), "replacement"
        if self.cover_head is not None:
            yield "region", "head" if self.cover_head else "face", "cover-head"
        for option in ("method", "shape", "strength", "spans"):
            if (value := getattr(self, option)) is not None:
                yield option, value, option


def with_mesh(preset: str, default: str, shape: str | None) -> str:
    """The preset for the shape that was asked for: a mesh has to be fitted first."""
    return f"{default}-{MESH}" if preset == default and shape == MESH else preset


def _of_covers(preset: str, option: str, value: Any, origin: str) -> list[Flag]:
    """The flag as a key of each stage that hides people and has the option."""
    import msgspec

    from mpflow.config import load_preset
    from mpflow.importer import stage_class, target_of

    flags: list[Flag] = []
    for entry in load_preset(preset).stages:
        found = stage_class(target_of(entry.stage))
        options = msgspec.structs.fields(found.Options)
        if getattr(found, "protects", False) and any(each.name == option for each in options):
            flags.append((f"{entry.key}.{option}", value, origin))
    if not flags:
        raise ConfigError(
            f"no stage of preset {preset!r} covers faces, so {origin.removeprefix('flag ')} has"
            " no meaning",
            cure="leave it out, or take --preset redact",
        )
    return flags
