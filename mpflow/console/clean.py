"""Removing what killed runs left behind, or data about people, and saying what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from mpflow.errors import ConfigError
from mpflow.models.store import ModelStore
from mpflow.shm import sweep

_MARK_WITHIN = 256
"""Bytes of a contact sheet that hold its mark."""


def show_clean() -> None:
    """Sweep segments and half-fetched models; what a living process holds stays."""
    swept = sweep()
    leftovers = ModelStore().sweep()
    for name in swept.removed:
        click.echo(f"removed shared memory segment {name}")
    for path in leftovers:
        click.echo(f"removed {path}")
    for name in swept.kept:
        click.echo(f"kept shared memory segment {name}: it is in use")
    if not (swept.removed or leftovers):
        click.echo("nothing to clean")


def clean_identities(folders: Sequence[str], *, asked: bool) -> None:
    """Remove what was exported of who people are; raises ConfigError unless it says what, where.

    Raises OutputError for a file that cannot be removed.
    """
    from mpflow.export.identities import crops_below, remove_identities

    if not asked:
        raise ConfigError(
            "a folder is only cleaned of identities",
            cure=f"mpflow clean --identities {' '.join(folders)}",
        )
    if not folders:
        raise ConfigError(
            "--identities of which folders?", cure="name them: mpflow clean --identities DIR"
        )
    for folder in folders:
        if not Path(folder).is_dir():
            raise ConfigError(f"there is no folder {folder!r}", cure="check the path")
    for folder in folders:
        removed = remove_identities(Path(folder))
        for path in removed:
            click.echo(f"removed {path}")
        if not removed:
            click.echo(f"{folder}: no identities")
        for path, count in crops_below(Path(folder)):
            pictures = (
                "1 picture of a face stays" if count == 1 else f"{count} pictures of faces stay"
            )
            click.echo(f"kept {path}: {pictures}, of which a gallery can be made")
        for path in _sheets_below(Path(folder)):
            click.echo(f"kept {path}: a contact sheet of an audit, which shows faces")


def _sheets_below(folder: Path) -> Iterator[Path]:
    """Contact sheets of audits, by the mark in them; links are not followed."""
    from mpflow.audit.mark import SHEET_BEGINS

    for path in sorted(folder.rglob("*.png")):
        with suppress(OSError), path.open("rb") as file:
            if SHEET_BEGINS.match(file.read(_MARK_WITHIN)):
                yield path
