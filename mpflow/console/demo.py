"""The demo: sample clips, or the user's own, redacted, and contact sheets to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from mpflow.console.arguments import Arguments
from mpflow.console.runs import run
from mpflow.console.text import say
from mpflow.errors import EXIT_OK, InputError, OutputError
from mpflow.jobs.discover import discover
from mpflow.jobs.naming import Product
from mpflow.jobs.sidecar import sidecar_name
from mpflow.models.store import ModelStore

_REDACTED = Product("redacted")


@dataclass(frozen=True, slots=True)
class Clip:
    """One video to show: its path or URL, what its results are called, and a remark on it."""

    source: str
    name: str
    remark: str = ""

    def video(self, folder: Path) -> Path:
        """Where its redacted copy goes."""
        return folder / f"{self.name}.redacted{_REDACTED.suffix_for(Path(self.source))}"

    def sheet(self, folder: Path) -> Path:
        """Where its contact sheet goes."""
        return folder / f"{self.name}.before-after.png"


def show_demo(source: str | None, folder: Path, arguments: Arguments) -> int:
    """Run the main job on ``source`` or the sample clips; print where everything is."""
    own = None if source is None else _own(source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"folder {str(folder)!r} cannot be made: {error.strerror}", cure="choose another -o"
        ) from error
    clips = _samples(folder, offline=bool(arguments.offline)) if own is None else [own]
    for clip in clips:
        status = _redact(clip, folder, arguments)
        if status != EXIT_OK:
            return status
    for clip in clips:
        _tell(clip, folder)
    return EXIT_OK


def _own(source: str) -> Clip:
    """The user's file; raises InputError for what is none."""
    if Path(source).is_dir():
        raise InputError(
            f"{source!r} is a folder, and the demo takes one video",
            cure=f"name a file in it, or redact all of it: mpflow run -i {source} -o NEW_FOLDER",
        )
    (found,) = discover([source])
    if found.error is not None:
        raise found.error
    return Clip(source, found.relative.stem)


def _redact(clip: Clip, folder: Path, arguments: Arguments) -> int:
    video = clip.video(folder)
    status = run(replace(arguments, inputs=[clip.source], output=str(video)))
    if status == EXIT_OK:
        from mpflow.media.contact_sheet import contact_sheet

        contact_sheet(clip.source, str(video), clip.sheet(folder))
    return status


def _tell(clip: Clip, folder: Path) -> None:
    click.echo(f"{clip.name}:")
    click.echo(f"  video             {clip.video(folder)}")
    click.echo(f"  before and after  {clip.sheet(folder)}")
    if (told := sidecar_name(clip.video(folder))).exists():
        click.echo(f"  what was done     {told}")
    if clip.remark:
        click.echo(f"  note              {clip.remark}")


def _samples(folder: Path, *, offline: bool) -> Sequence[Clip]:
    """A real film, and a clip made of photos: many faces, and sound."""
    store = ModelStore(offline=offline)
    fetched = store.pull(["carphone", "group-photo", "astronaut"], progress=say)
    made = folder / "people.mp4"
    if not made.exists():
        _make_people(fetched["group-photo"], fetched["astronaut"], made)
    licence = store.manifest.entry("group-photo").licence
    return [
        Clip(str(fetched["carphone"]), "carphone"),
        Clip(str(made), "people", f"the group photo in it is a {licence}"),
    ]


def _make_people(group_photo: Path, portrait: Path, target: Path) -> None:
    from mpflow.jobs.demo_clip import make_demo_clip

    say(f"making a clip with several faces and sound: {target}")
    making = target.with_name(f"{target.stem}.partial{target.suffix}")
    make_demo_clip(group_photo, portrait, making)
    making.replace(target)
