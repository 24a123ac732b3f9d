"""The demo: a sample clip, or the user's own, redacted, and a contact sheet to look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from mpflow.console.arguments import Arguments
from mpflow.console.runs import run
from mpflow.console.text import say
from mpflow.errors import EXIT_OK, OutputError
from mpflow.jobs.naming import Product

_REDACTED = Product("redacted")


def show_demo(source: str | None, folder: Path, arguments: Arguments) -> int:
    """Run the main job on ``source`` or the sample clip; print where everything is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"folder {str(folder)!r} cannot be made: {error.strerror}", cure="choose another -o"
        ) from error
    given = Path(source) if source else _sample(folder, offline=bool(arguments.offline))
    result = folder / f"{given.stem}.redacted{_REDACTED.suffix_for(given)}"
    status = run(replace(arguments, inputs=[source or str(given)], output=str(result)))
    if status != EXIT_OK:
        return status
    from mpflow.media.contact_sheet import contact_sheet

    sheet = folder / f"{given.stem}.before-after.png"
    contact_sheet(source or str(given), str(result), sheet)
    click.echo(f"video:            {result}")
    click.echo(f"before and after: {sheet}")
    return EXIT_OK


def _sample(folder: Path, *, offline: bool) -> Path:
    """Make the sample clip, unless it is there from the last time."""
    from mpflow.jobs.demo_clip import make_demo_clip
    from mpflow.models.store import ModelStore

    clip = folder / "sample.mp4"
    if clip.exists():
        return clip
    photos = ModelStore(offline=offline).pull(["group-photo", "astronaut"], progress=say)
    say(f"making a sample clip: {clip}")
    making = folder / "sample.partial.mp4"
    make_demo_clip(photos["group-photo"], photos["astronaut"], making)
    making.replace(clip)
    return clip
