"""The table of tracks: one row each, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from mpflow.errors import ConfigError
from mpflow.export.book import TrackNotes
from mpflow.export.files import write_result
from mpflow.models.pose import pose_of

Kind = Literal["csv", "parquet"]


class Row(msgspec.Struct, frozen=True):
    """One track. Frames count from 0, times are seconds, sizes pixels, angles degrees.

    ``frames_filled`` are those where a box stands that no detector found; everything else is about
    sightings. ``person`` is the number of the person (people/person-001.png), None where the faces
    are too poor to tell; ``identity`` a mark of the gallery's, where there was one.
    """

    track: int
    person: int | None
    identity: str | None
    first_frame: int
    last_frame: int
    first_time: float | None
    last_time: float | None
    frames_seen: int
    frames_filled: int
    mean_score: float
    best_frame: int | None
    best_time: float | None
    best_quality: float | None
    yaw: float | None
    pitch: float | None
    roll: float | None
    width_min: float
    width_mean: float
    width_max: float
    height_min: float
    height_mean: float
    height_max: float
    crop: str


COLUMNS = Row.__struct_fields__


def row_of(notes: TrackNotes, person: int | None) -> Row | None:
    """The row of a track; None for one that was never seen."""
    if notes.first is None or notes.last is None:
        return None
    best = notes.best
    pose = None if best is None else best.face.pose or pose_of(best.face.points)
    yaw, pitch, roll = (None, None, None) if pose is None else (round(each, 2) for each in pose)
    return Row(
        notes.track,
        person,
        notes.identity,
        notes.first.frame,
        notes.last.frame,
        notes.first.seconds,
        notes.last.seconds,
        notes.seen,
        notes.filled,
        round(notes.scores / notes.seen, 3),
        None if best is None else best.frame,
        None if best is None else best.time,
        None if best is None else best.quality,
        yaw,
        pitch,
        roll,
        round(notes.widths.least, 1),
        round(notes.widths.mean, 1),
        round(notes.widths.most, 1),
        round(notes.heights.least, 1),
        round(notes.heights.mean, 1),
        round(notes.heights.most, 1),
        "" if best is None else best.crop,
    )


def require(kind: Kind) -> None:
    """Raise ConfigError where a kind of table cannot be written."""
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise ConfigError(
            "a Parquet table needs pyarrow, which is not installed",
            cure="pip install 'mpflow-pipeline[parquet]', or take --table csv",
        )


def write_table(folder: Path, kind: Kind, rows: Sequence[Row]) -> Path:
    """Write tracks.csv or tracks.parquet; the file's path. Raises OutputError, ResourceError."""
    path = folder / f"tracks.{kind}"
    write_result(path, _as_csv(rows) if kind == "csv" else _as_parquet(rows))
    return path


def _as_csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = (getattr(row, column) for column in COLUMNS)
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue().encode()


def _as_parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
    types = get_type_hints(Row)
    schema = pyarrow.schema([(name, kinds[_python(types[name])]) for name in COLUMNS])
    columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), stream)
    return stream.getvalue()


def _python(kind: Any) -> type:
    """The type of a column's values, which may also be missing."""
    kinds: tuple[type, ...] = get_args(kind) or (kind,)
    return next(each for each in kinds if each is not NoneType)
