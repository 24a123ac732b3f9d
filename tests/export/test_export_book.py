"""What is known of tracks comes out of the lines alone."""

from __future__ import annotations

import csv
import io
import sys

import msgspec
import pytest

from mpflow.errors import ConfigError
from mpflow.export import tables
from mpflow.export.book import BETTER, Book, TrackNotes
from mpflow.export.lines import DECODER, FaceLine, FrameLine, encoded, line_of
from mpflow.export.tables import COLUMNS, Row, row_of, write_table
from mpflow.tokens import Face, Sighting, Token

BOX = (10.0, 20.0, 50.0, 80.0)
POINTS = ((20.0, 40.0), (40.0, 40.0), (30.0, 50.0), (22.0, 65.0), (38.0, 65.0))


def face(track: int = 1, quality: float = 0.0, **changes: object) -> FaceLine:
    crop = f"{track}-{quality}.png" if quality else ""
    return FaceLine(BOX, 0.9, POINTS, track, quality=quality or None, crop=crop, **changes)


def line(number: int, *faces: FaceLine, rate: int = 10) -> FrameLine:
    return FrameLine(number, number, number / rate, "live", faces)


def book_of(*lines: FrameLine, every: float = 0.0) -> Book:
    book = Book(every)
    for each in lines:
        book.add(each)
    return book


def only(book: Book) -> TrackNotes:
    (notes,) = book
    return notes


def test_a_line_says_what_a_token_says_and_leaves_out_what_nobody_knows() -> None:
    known = Face(BOX, 0.91234, POINTS, 7, "p0", pose=(1.234, -2.0, 3.0), sighting=Sighting.WEAK)
    token = Token("job", 3, pts=3, time_base=(1, 10), faces=(known, Face(BOX, 0.5)))
    first, second = msgspec.json.decode(encoded(line_of(token)))["faces"]
    assert first == {
        "box": list(BOX),
        "score": 0.912,
        "points": [list(point) for point in POINTS],
        "track": 7,
        "identity": "p0",
        "sighting": "weak",
        "pose": [1.23, -2.0, 3.0],
    }
    assert second == {"box": list(BOX), "score": 0.5}


def test_a_book_that_reads_its_lines_again_knows_the_same() -> None:
    lines = [
        line(0, face(quality=0.3), face(2)),
        line(1, face(sighting=Sighting.FILLED)),
        line(2, face(quality=0.5, identity="p1"), face(2, 0.4)),
    ]
    book = book_of(*lines, every=0.2)
    again = book_of(*(DECODER.decode(encoded(each)) for each in lines), every=0.2)
    assert list(again) == list(book)
    assert again.frames == 3


def test_a_track_is_about_its_sightings() -> None:
    extended = face(sighting=Sighting.EXTENDED)
    notes = only(book_of(line(0, extended), line(1, face()), line(5, face()), line(6, extended)))
    assert notes.first is not None
    assert notes.last is not None
    assert (notes.first.frame, notes.last.frame) == (1, 5)
    assert (notes.seen, notes.filled) == (2, 2)
    assert (notes.widths.mean, notes.heights.mean) == (40.0, 60.0)


def test_sizes_are_those_that_are_seen_where_a_film_is_stored_on_its_side() -> None:
    book = Book(on_its_side=True)
    book.add(line(0, face()))
    notes = only(book)
    assert (notes.widths.mean, notes.heights.mean) == (60.0, 40.0)


def test_a_track_that_nobody_saw_is_none() -> None:
    assert not list(book_of(line(0, face(sighting=Sighting.FILLED)), line(1)))


@pytest.mark.parametrize(
    ("quality", "is_better"), [(0.4, False), (0.5 + BETTER / 2, False), (0.6, True), (0.0, False)]
)
def test_a_face_has_to_be_better_by_far_enough(quality: float, is_better: bool) -> None:
    book = book_of(line(0, face(quality=0.5)))
    assert book.may_be_best(face(), quality) is is_better
    assert book.may_be_best(face(2), 0.1), "the first of a track always is"
    assert not book.may_be_best(face(sighting=Sighting.FILLED), 0.99)


def test_crops_are_due_every_so_often() -> None:
    taken = []
    book = Book(0.5)
    for number in range(20):
        due = book.is_due(face(), number / 10)
        if due:
            taken.append(number)
        book.add(line(number, face(quality=0.3 if due else 0.0)))
    assert taken == [0, 5, 10, 15]
    assert len(only(book).crops) == 4
    assert not Book().is_due(face(), 3.0)


def test_a_row_is_about_the_best_face(tmp_path: object) -> None:
    best = face(quality=0.8, pose=(10.0, 5.0, -3.0))
    row = row_of(only(book_of(line(0, face(quality=0.3)), line(4, best))), person=2)
    assert row is not None
    assert (row.best_frame, row.best_time, row.best_quality) == (4, 0.4, 0.8)
    assert (row.yaw, row.pitch, row.roll) == (10.0, 5.0, -3.0)
    assert (row.first_time, row.last_time, row.person, row.crop) == (0.0, 0.4, 2, "1-0.8.png")


ROWS = [
    row_of(only(book_of(line(0, face(quality=0.3), rate=3), line(1, face(), rate=3))), 1),
    row_of(only(book_of(FrameLine(0, None, None, "live", (face(2),)))), None),
]


def test_the_table_as_text(tmp_path) -> None:
    path = write_table(tmp_path, "csv", ROWS)
    first, second = csv.DictReader(io.StringIO(path.read_text()))
    assert tuple(first) == COLUMNS
    assert (first["track"], first["last_time"], first["person"]) == ("1", "0.333", "1")
    assert (second["person"], second["first_time"], second["crop"]) == ("", "", "")


def test_the_table_as_parquet_has_types_also_where_all_is_missing(tmp_path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(write_table(tmp_path, "parquet", ROWS))
    assert table.to_pylist() == [msgspec.structs.asdict(row) for row in ROWS]
    assert str(table.schema.field("identity").type) == "string"
    assert str(table.schema.field("person").type) == "int64"
    empty = parquet.read_table(write_table(tmp_path, "parquet", []))
    assert (empty.num_rows, tuple(empty.column_names)) == (0, COLUMNS)


def test_parquet_without_its_library_is_refused_with_the_cure(monkeypatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pyarrow") as caught:
        tables.require("parquet")
    assert "mpflow-pipeline[parquet]" in caught.value.cure
    tables.require("csv")
    assert "pyarrow" not in sys.modules or Row
