"""The folder of finished chunks: which of them count, and what is cleared away."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from mpflow.media.chunks import (
    CHECKPOINT,
    LOGS,
    Chunk,
    chunk_name,
    clear,
    durable,
    found,
    grid,
    is_done,
    ranges,
    remove_parts,
    sweep,
)
from mpflow.media.mark import DONE


def put(folder: Path, start: int, stop: int, **changes: object) -> Chunk:
    """A whole chunk of ten bytes."""
    stamps = list(range(start, stop))
    chunk = Chunk(start, stop, "nut", 10, "key", "", "", (1, 30), stamps, [1] * len(stamps))
    chunk = msgspec.structs.replace(chunk, **changes)
    (folder / chunk_name(start, stop, "nut")).write_bytes(b"0123456789")
    (folder / chunk_name(start, stop, "json")).write_bytes(msgspec.json.encode(chunk))
    return chunk


@pytest.mark.parametrize(
    ("seconds", "rate", "frames"),
    [
        (2.0, Fraction(30), 60),
        (2.0, Fraction(30000, 1001), 60),
        (2.0, None, 50),
        (0.1, Fraction(1), 1),
        (0.5, Fraction(5), 2),
    ],
)
def test_a_chunk_has_about_so_many_seconds(
    seconds: float, rate: Fraction | None, frames: int
) -> None:
    assert grid(seconds, rate) == frames


@pytest.mark.parametrize(
    ("total", "size", "cut"),
    [
        (10, 4, [(0, 4), (4, 8), (8, 10)]),
        (8, 4, [(0, 4), (4, 8)]),
        (3, 4, [(0, 3)]),
        (1, 1, [(0, 1)]),
        (0, 4, []),
    ],
)
def test_the_last_chunk_has_what_is_left(total: int, size: int, cut: list[tuple[int, int]]) -> None:
    assert ranges(total, size) == cut


def test_whole_chunks_are_found_in_the_order_of_their_frames(tmp_path: Path) -> None:
    spans = [(0, 60), (60, 120), (1_000_000_000, 1_000_000_060)]
    for span in reversed(spans):
        put(tmp_path, *span)
    assert [(chunk.start, chunk.stop) for chunk in found(tmp_path)] == spans
    assert found(tmp_path / "missing") == durable(tmp_path / "missing") == []


def test_a_chunk_without_a_fitting_companion_does_not_count(tmp_path: Path) -> None:
    for number in range(6):
        put(tmp_path, number * 10, number * 10 + 10)
    (tmp_path / chunk_name(10, 20, "json")).unlink()
    (tmp_path / chunk_name(20, 30, "nut")).unlink()
    (tmp_path / chunk_name(30, 40, "nut")).write_bytes(b"012345678")
    torn = tmp_path / chunk_name(40, 50, "json")
    torn.write_bytes(torn.read_bytes()[:-9])
    put(tmp_path, 50, 60, durations=[1])
    (tmp_path / chunk_name(60, 70, "json")).write_text("[]")
    assert [chunk.start for chunk in found(tmp_path)] == [0]


def test_only_what_follows_without_a_gap_is_durable(tmp_path: Path) -> None:
    put(tmp_path, 10, 20)
    assert durable(tmp_path) == []
    put(tmp_path, 0, 10)
    put(tmp_path, 30, 40)
    assert [chunk.stop for chunk in durable(tmp_path)] == [10, 20]


def test_sweeping_removes_only_chunks_that_are_not_kept(tmp_path: Path) -> None:
    kept = put(tmp_path, 0, 10)
    put(tmp_path, 20, 30)
    for name in ("000000010-000000020.nut.a-7.tmp", "000000010-000000020.json.a-7.tmp"):
        (tmp_path / name).touch()
    others = ("holiday.nut", "000000010-000000020.txt.bak", "plan.json", CHECKPOINT, *LOGS)
    for name in others:
        (tmp_path / name).touch()
    sweep(tmp_path, [kept.kept])
    assert {path.name for path in tmp_path.iterdir()} == {kept.name, kept.companion, *others}


def test_the_mark_and_the_logs_outlive_the_chunks(tmp_path: Path) -> None:
    put(tmp_path, 0, 10)
    for name in (CHECKPOINT, f"{CHECKPOINT}.7.tmp", DONE, *LOGS):
        (tmp_path / name).touch()
    clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((DONE, *LOGS))
    assert is_done(tmp_path)


def test_the_folder_goes_with_the_last_part_unless_it_has_something_of_others(
    tmp_path: Path,
) -> None:
    ours, shared = tmp_path / "a.mp4.parts", tmp_path / "b.mp4.parts"
    for folder in (ours, shared):
        folder.mkdir()
        put(folder, 0, 10)
        (folder / DONE).touch()
    (shared / "mine.txt").touch()
    for folder in (ours, shared, tmp_path / "missing"):
        remove_parts(folder)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == [
        "b.mp4.parts",
        "b.mp4.parts/mine.txt",
    ]
