"""``--keep`` and ``--only``: whom of a gallery a run covers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from mpflow.console.folder import ANY, folder
from mpflow.console.stageflags import Flag, for_some_stage
from mpflow.errors import ConfigError

PEOPLE = (
    click.option(
        "--keep",
        type=ANY,
        callback=folder,
        metavar="DIR",
        help="Cover everybody except the people of this folder: a photo of each, or a sub-folder "
        "of photos. Whoever is not surely one of them is covered. Presets *redact-except.",
    ),
    click.option(
        "--only",
        type=ANY,
        callback=folder,
        metavar="DIR",
        help="Cover the people of this folder, and whoever is not surely somebody else. Presets "
        "*redact-only.",
    ),
)


def preset_for(preset: str, default: str, keep: Path | None, only: Path | None) -> str:
    """The preset for what was asked: the default one covers everybody, and has its counterparts.

    Raises ConfigError for both at once.
    """
    if keep is not None and only is not None:
        raise ConfigError("--keep and --only contradict each other", cure="give one of them")
    if preset != default or (keep is None and only is None):
        return preset
    return f"{default}-except" if keep is not None else f"{default}-only"


def people_flags(preset: str, keep: Path | None, only: Path | None) -> Iterator[Flag]:
    """The gallery and whom to cover, as keys of the preset's stages; raises ConfigError if it has
    none that knows people."""
    for gallery, people, origin in (
        (keep, "except", "flag --keep"),
        (only, "only", "flag --only"),
    ):
        if gallery is not None:
            yield from for_some_stage(preset, "gallery", str(gallery.absolute()), origin)
            yield from for_some_stage(preset, "people", people, origin)
