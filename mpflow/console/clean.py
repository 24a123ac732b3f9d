"""Removing what killed runs left behind, and saying what it was."""

from __future__ import annotations

import click

from mpflow.models.store import ModelStore
from mpflow.shm import sweep


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
