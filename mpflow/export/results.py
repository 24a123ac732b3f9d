"""All that is written when the last frame has come: people, table, summary, embeddings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mpflow._version import __version__
from mpflow.export.book import Book, TrackNotes
from mpflow.export.crops import Crops
from mpflow.export.files import private_folder, write_result
from mpflow.export.identities import EMBEDDINGS, PEOPLE, SUMMARY, write_embeddings
from mpflow.export.people import Floats, grouped, seen_together
from mpflow.export.tables import Kind, Row, row_of, write_table
from mpflow.models.embedders import Embedder
from mpflow.policies.recognition import USABLE
from mpflow.wholefile import PRIVATE

Facts = dict[str, Any]

FORMAT = 1
_BATCH = 16
_PICTURE = re.compile(r"^person-\d{3,}\.png$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an export is to have: ``identities`` are embeddings, ``facts`` go into the summary."""

    table: Kind = "csv"
    identities: bool = False
    same: float = 0.0
    model: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """The tracks whose faces are good enough to tell who they are: their embeddings, and people."""

    notes: Sequence[TrackNotes]
    embeddings: Floats
    people: Sequence[int]

    def person_of(self, track: int) -> int | None:
        """The number of a track's person, from 1."""
        found = (p for n, p in zip(self.notes, self.people, strict=True) if n.track == track)
        return next(found, None)


def write_results(
    folder: Path, book: Book, crops: Crops, embedder: Embedder | None, wanted: Wanted
) -> int:
    """Write everything but the lines; how many people there are.

    Without an embedder nobody is told apart. Raises OutputError or ResourceError.
    """
    notes = list(book)
    known = _known(notes, crops, embedder, wanted.same)
    rows = [row for each in notes if (row := row_of(each, known.person_of(each.track)))]
    pictures = _write_people(folder, crops, known)
    write_table(folder, wanted.table, rows)
    (folder / f"tracks.{_other(wanted.table)}").unlink(missing_ok=True)
    if wanted.identities:
        tracks = [each.track for each in known.notes]
        write_embeddings(folder, known.embeddings, tracks, known.people, wanted.model)
    else:
        (folder / EMBEDDINGS).unlink(missing_ok=True)
    head = {"mpflow_faces": FORMAT, "mpflow": __version__, **wanted.facts}
    summary = {**head, **_summary(book, rows, known, pictures)}
    text = msgspec.json.format(msgspec.json.encode(summary), indent=2)
    write_result(folder / SUMMARY, text + b"\n")
    crops.sweep({name for each in notes for name in _crops_of(each)})
    return len(pictures)


def _known(
    notes: Sequence[TrackNotes], crops: Crops, embedder: Embedder | None, same: float
) -> Known:
    usable = [each for each in notes if each.best is not None and each.quality >= USABLE]
    if embedder is None or not usable:
        return Known((), np.zeros((0, 0), np.float32), ())
    embeddings = _embedded(usable, crops, embedder)
    spans = [(n.first.frame, n.last.frame) for n in usable if n.first and n.last]
    groups = grouped(embeddings, seen_together(spans), same or embedder.same)
    return Known(usable, embeddings, [group + 1 for group in groups])


def _embedded(notes: Sequence[TrackNotes], crops: Crops, embedder: Embedder) -> Floats:
    done: list[Floats] = []
    for start in range(0, len(notes), _BATCH):
        faces = [each.best for each in notes[start : start + _BATCH] if each.best is not None]
        done.append(
            embedder.embed([crops.for_embedder(b.crop, b.face, embedder.size) for b in faces])
        )
    return np.concatenate(done)


def _write_people(folder: Path, crops: Crops, known: Known) -> dict[int, str]:
    """One picture of each person, of the best face there is; their names by person."""
    pictures: dict[int, str] = {}
    for person in sorted(set(known.people)):
        best = max(_tracks_of(known, person), key=lambda notes: notes.quality)
        if best.best is not None:
            name = f"person-{person:03d}.png"
            place = private_folder(folder / PEOPLE) / name
            write_result(place, crops.data(best.best.crop), PRIVATE)
            pictures[person] = f"{PEOPLE}/{name}"
    _sweep_people(folder / PEOPLE, {Path(name).name for name in pictures.values()})
    return pictures


def _sweep_people(folder: Path, wanted: set[str]) -> None:
    """Remove pictures of people of an earlier export."""
    if folder.is_dir():
        for path in list(folder.iterdir()):
            if _PICTURE.match(path.name) and path.name not in wanted:
                path.unlink(missing_ok=True)


def _summary(book: Book, rows: Sequence[Row], known: Known, pictures: Mapping[int, str]) -> Facts:
    people = [
        {
            "person": person,
            "tracks": [each.track for each in _tracks_of(known, person)],
            "picture": picture,
        }
        for person, picture in pictures.items()
    ]
    crops = [_crops_of(notes) for notes in book]
    tracks = [
        {**msgspec.structs.asdict(row), "crops": names}
        for row, names in zip(rows, crops, strict=True)
    ]
    return {"frames": book.frames, "people": people, "tracks": tracks}


def _tracks_of(known: Known, person: int) -> list[TrackNotes]:
    return [n for n, p in zip(known.notes, known.people, strict=True) if p == person]


def _crops_of(notes: TrackNotes) -> list[str]:
    """The track's crops: the best one first."""
    best = [notes.best.crop] if notes.best is not None else []
    return list(dict.fromkeys([*best, *notes.crops]))


def _other(kind: Kind) -> Kind:
    return "parquet" if kind == "csv" else "csv"
