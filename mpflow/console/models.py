"""The model store as commands: list, pull, verify, path; and check, for models of one's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpflow.console.text import say, size
from mpflow.errors import ModelError
from mpflow.jobs.models import models_of_mpflow
from mpflow.models.store import Condition, Item, ModelStore

if TYPE_CHECKING:
    from mpflow.models.detections import Detections


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
    """Fetch entries; without names the models that mpflow itself uses, or all models."""
    store = ModelStore(offline=offline)
    entries = store.manifest.entries
    if everything:
        wanted = [*names, *(name for name, entry in entries.items() if entry.role != "media")]
    else:
        wanted = list(names) or models_of_mpflow()
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


def check(description: Path, picture: Path | None, *, as_json: bool) -> None:
    """Say what a described model is; raises where its file does not fit."""
    from mpflow.swapping.checking import check as look

    found = look(description, picture)
    faces = None if found.faces is None else _faces(found.faces)
    if as_json:
        told = {**asdict(replace(found, faces=None)), "file": str(found.file), "faces": faces}
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    taken = "any" if found.size is None else f"{found.size[0]}x{found.size[1]} only"
    click.echo(f"{found.kind}: {found.file}")
    click.echo(f"  sha256    {found.sha256}")
    click.echo(f"  pictures  {taken}, {'in batches' if found.batches else 'one at a time'}")
    for role, names in found.outputs.items():
        click.echo(f"  {role:9} {', '.join(names)}")
    if faces is not None:
        click.echo(f"{len(faces)} faces" if len(faces) != 1 else "1 face")
    for face in faces or ():
        box, points = (" ".join(f"{each:.0f}" for each in face[key]) for key in ("box", "points"))
        click.echo(f"  {face['score']:.2f}  box {box}  points {points}")


def _faces(found: Detections) -> list[dict[str, Any]]:
    rows = zip(found.boxes.tolist(), found.scores.tolist(), found.points.tolist(), strict=True)
    return [
        {"score": score, "box": box, "points": [each for point in points for each in point]}
        for box, score, points in rows
    ]


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
