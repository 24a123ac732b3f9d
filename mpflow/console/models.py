"""The model store as commands: list, pull, verify, path."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from mpflow.console.text import say, size
from mpflow.errors import ModelError
from mpflow.jobs.models import models_of_presets
from mpflow.models.store import Condition, Item, ModelStore


def show_list(*, as_json: bool) -> None:
    """Every entry: name, role, whether it is in the cache, licence, what it is."""
    items = ModelStore().list()
    if as_json:
        for item in items:
            click.echo(json.dumps(_as_data(item), ensure_ascii=False))
        return
    rows = [_row(item) for item in items]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        click.echo("  ".join([*cells, row[3]]))


def pull(names: Sequence[str], *, everything: bool, offline: bool) -> None:
    """Fetch entries; without names the models that the presets use, or all models."""
    store = ModelStore(offline=offline)
    entries = store.manifest.entries
    if everything:
        wanted = [*names, *(name for name, entry in entries.items() if entry.role != "media")]
    else:
        wanted = list(names) or models_of_presets()
    for name, path in store.pull(wanted, progress=say).items():
        click.echo(f"{name}  {path}")


def verify(names: Sequence[str]) -> None:
    """Check hashes; raises ModelError when a file is wrong, or one that was named is missing."""
    items = ModelStore().verify(names)
    bad = []
    for item in items:
        if item.condition is Condition.MISSING and not names:
            continue
        click.echo(f"{item.condition}  {item.name}  {item.path}")
        if item.condition is not Condition.PRESENT:
            bad.append(item)
    if bad:
        listed = ", ".join(f"{item.name} is {item.condition}" for item in bad)
        raise ModelError(
            listed, cure=f"run: mpflow models pull {' '.join(item.name for item in bad)}"
        )
    if not any(item.condition is Condition.PRESENT for item in items):
        click.echo("nothing is in the cache yet")


def show_path(name: str, *, offline: bool) -> None:
    """Print where an entry's file is."""
    click.echo(ModelStore(offline=offline).path(name, progress=say))


def _row(item: Item) -> tuple[str, str, str, str]:
    entry = item.entry
    state = size(item.size) if item.condition is Condition.PRESENT else str(item.condition)
    default = " (default)" if entry.default else ""
    return item.name, f"{entry.role}{default}", state, f"{entry.description} [{entry.licence}]"


def _as_data(item: Item) -> dict[str, object]:
    return {
        "name": item.name,
        "role": item.entry.role,
        "default": item.entry.default,
        "condition": str(item.condition),
        "path": str(item.path),
        "size": item.size,
        "licence": item.entry.licence,
        "description": item.entry.description,
    }
