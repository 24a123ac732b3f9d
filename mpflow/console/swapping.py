"""``--source``, ``--map`` and what goes with them: who is to look like whom in a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from mpflow.console.stageflags import Flag, for_some_stage
from mpflow.errors import ConfigError

SWAPPING = (
    click.option(
        "--source",
        "sources",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="PHOTO",
        help="Give every face that of this photo; several are photos of one person. Presets swap, "
        "live-swap.",
    ),
    click.option(
        "--map",
        "pairs",
        multiple=True,
        metavar="REFERENCE=SOURCE",
        help="Give the person of the reference photo the face of the source photo; may be given "
        "for each person.",
    ),
    click.option(
        "--others",
        type=click.Choice(["keep", "redact"]),
        help="What becomes of faces that get no other: they stay, or are covered.  [default: "
        "redact with --map, else keep]",
    ),
    click.option(
        "--enhance",
        metavar="MODEL",
        help="Restore made faces by this model: a description, NAME.yaml (see docs/models.md).",
    ),
    click.option(
        "--accept-notice",
        is_flag=True,
        envvar="MPFLOW_ACCEPT_NOTICE",
        help="Do not print what the first swap of an installation prints.",
    ),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """Who is to look like whom, as it was asked for."""

    sources: Sequence[Path] = ()
    pairs: Sequence[str] = ()
    others: str | None = None
    enhance: str | None = None

    @property
    def given(self) -> bool:
        """Whether anybody is to look like somebody else."""
        return bool(self.sources or self.pairs)

    def preset_for(self, preset: str, default: str, swap: str, *, people: bool) -> str:
        """The preset for what was asked: ``swap`` in place of the default one, with the stages it
        takes. ``people`` says that some were to be covered, by a gallery.

        Raises ConfigError for what contradicts itself, and for a preset that lacks a stage.
        """
        from mpflow.presets import with_stages

        if not self.given:
            if self.others is not None and preset == default:
                raise ConfigError(
                    "--others is about faces that get no other, and nobody is to get one",
                    cure="give --source PHOTO, or --map REFERENCE=SOURCE",
                )
            wanted = self._stages
            return with_stages(preset, wanted) if wanted else preset
        if people:
            raise ConfigError(
                "--source and --map contradict --keep and --only",
                cure="--map says who gets another face; everybody else is covered, or stays with"
                " --others keep",
            )
        return with_stages(swap if preset == default else preset, self._stages)

    def flags(self, preset: str) -> Iterator[Flag]:
        """As keys of the preset's stages; raises ConfigError for photos that are not there."""
        from mpflow.swapping.maps import casting

        if self.given:
            found = casting([str(each) for each in self.sources], self.pairs)
            for photos in found.sources:
                _require_there("--map" if self.pairs else "--source", photos)
            _require_there("--map", found.references)
            yield from self._who(preset, found.references)
        if self.enhance is not None:
            is_file = self.enhance.endswith((".yaml", ".yml"))
            model = str(Path(self.enhance).absolute()) if is_file else self.enhance
            yield "enhance.model", model, "flag --enhance"

    def _who(self, preset: str, references: Sequence[Path]) -> Iterator[Flag]:
        from mpflow.swapping.maps import absolute_pair

        if self.sources:
            photos = [str(each.absolute()) for each in self.sources]
            yield from for_some_stage(preset, "sources", photos, "flag --source")
            return
        pairs = [absolute_pair(each) for each in self.pairs]
        known = [str(each.absolute()) for each in references]
        yield from for_some_stage(preset, "map", pairs, "flag --map")
        yield from for_some_stage(preset, "photos", known, "flag --map")

    @property
    def _stages(self) -> list[str]:
        """The optional stages that it takes."""
        redact = self.others == "redact" or (self.others is None and bool(self.pairs))
        taken = {"embed": bool(self.pairs), "enhance": self.enhance is not None, "redact": redact}
        return [stage for stage, is_taken in taken.items() if is_taken]


def _require_there(flag: str, photos: Sequence[Path]) -> None:
    for photo in photos:
        if not photo.is_file():
            what = "is a folder" if photo.is_dir() else "does not exist"
            raise ConfigError(f"{flag}: {str(photo)!r} {what}", cure="name a photo of a person")
