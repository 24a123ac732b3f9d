"""What chunks were made of: any difference is named, and nothing is touched."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mpflow.errors import InputError, Refused
from mpflow.media import checkpoint
from mpflow.media.chunks import CHECKPOINT
from mpflow.spec import JobSpec, MediaInfo, VideoInfo

MIB = 1 << 20
SETTINGS = {"preset": "redact", "detect": {"size": "640x384", "score": 0.5}, "encode": {"crf": 18}}
ENCODER = {"encoder": {"name": "libx264", "threads": 3, "options": {"crf": "18"}}}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.mp4"
    path.write_bytes(os.urandom(5 * MIB))
    return path


def key_of(source: Path | str, *, grid: int = 60, facts: Any = None, **spec: Any) -> checkpoint.Key:
    video = VideoInfo(0, "h264", 64, 48, "yuv420p", "yuv420p", (1, 30))
    job = JobSpec("1", str(source), "out.mp4", **{"settings": SETTINGS, **spec})
    media = MediaInfo(str(source), "mov", video, size=7)
    return checkpoint.make_key(job, media, facts or ENCODER, grid)


def test_the_same_job_goes_on(tmp_path: Path, source: Path) -> None:
    checkpoint.claim(tmp_path / "parts", key_of(source))
    os.utime(source, (1, 1))  # copied elsewhere, or restored from a backup
    checkpoint.claim(tmp_path / "parts", key_of(source))
    assert [path.name for path in (tmp_path / "parts").iterdir()] == [CHECKPOINT]


DIFFERENT: list[tuple[dict[str, Any], str]] = [
    ({"settings": {**SETTINGS, "encode": {"crf": 23}}}, r"with encode\.crf=18, now 23$"),
    ({"settings": {**SETTINGS, "preset": "mine"}}, r"with preset=redact, now mine$"),
    ({"settings": {**SETTINGS, "blur": {"size": 2}}}, r"with blur\.size=nothing, now 2$"),
    ({"facts": {"encoder": {"threads": 6}}}, r"encoder\.threads=3, now 6"),
    ({"start": 5}, r"with start=0, now 5$"),
    ({"stop": 90}, r"with stop=nothing, now 90$"),
    ({"grid": 50}, r"with grid=60, now 50$"),
    ({"grid": 0}, r"by a run, not for a farm"),
]


@pytest.mark.parametrize(("change", "named"), DIFFERENT)
def test_each_difference_is_named(
    tmp_path: Path, source: Path, change: dict[str, Any], named: str
) -> None:
    checkpoint.claim(tmp_path / "parts", key_of(source))
    before = (tmp_path / "parts" / CHECKPOINT).read_bytes()
    with pytest.raises(Refused) as refused:
        checkpoint.claim(tmp_path / "parts", key_of(source, **change))
    assert refused.match(r"^the parts in '.*parts' were made ")
    assert re.search(named, refused.value.what)
    assert "-y without --resume starts anew" in refused.value.cure
    assert (tmp_path / "parts" / CHECKPOINT).read_bytes() == before


def test_all_differences_are_named_at_once(tmp_path: Path, source: Path) -> None:
    checkpoint.claim(tmp_path, key_of(source))
    other = key_of(source, start=3, settings={**SETTINGS, "encode": {"crf": 23}})
    with pytest.raises(Refused, match=r"encode\.crf=18, now 23; with start=0, now 3"):
        checkpoint.claim(tmp_path, other)


def flip(source: Path, place: int) -> None:
    """Change a bit of one byte."""
    with source.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("place", [0, MIB, 3 * MIB // 2, 5 * MIB // 2, 4 * MIB - 1, 5 * MIB - 1])
def test_an_input_of_the_same_size_with_other_content_is_another(
    tmp_path: Path, source: Path, place: int
) -> None:
    checkpoint.claim(tmp_path, key_of(source))
    flip(source, place)
    with pytest.raises(Refused, match="made from another input"):
        checkpoint.claim(tmp_path, key_of(source))


def test_of_a_large_input_blocks_all_over_it_count_and_little_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 40 << 30  # nothing but a hole, which costs no disk
    source = tmp_path / "in.mp4"
    source.touch()
    os.truncate(source, size)
    looked: list[tuple[int, int]] = []
    read = checkpoint._read_at

    def counting(file: Any, place: int, length: int) -> Any:
        looked.append((place, length))
        return read(file, place, length)

    monkeypatch.setattr(checkpoint, "_read_at", counting)
    before = key_of(source)
    assert sum(length for _, length in looked) < 70 * MIB
    ends = sorted((place, place + length) for place, length in looked)
    assert (ends[0][0], max(end for _, end in ends)) == (0, size)
    assert max(b[0] - a[1] for a, b in pairwise(ends)) < size // 250
    for place in (0, MIB - 1, size - MIB, size - 1, looked[100][0]):
        flip(source, place)
        assert key_of(source) != before, place
        flip(source, place)
    assert key_of(source) == before


def test_an_input_of_the_very_size_that_is_read_whole_is_read_whole(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_WHOLE", 5 * MIB)
    before = key_of(source)
    flip(source, 5 * MIB // 3)
    assert key_of(source) != before


def test_a_newer_mpflow_does_not_go_on_with_old_parts(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.claim(tmp_path, key_of(source))
    monkeypatch.setattr(checkpoint, "__version__", "99")
    with pytest.raises(Refused, match=r"version\.mpflow=.*, now 99"):
        checkpoint.claim(tmp_path, key_of(source))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b'{"epoch": 7, "loss": 0.1}', b'{"mpflow_checkpoint": "x", "key": {}}'],
)
def test_a_damaged_or_foreign_checkpoint_is_refused_and_kept(
    tmp_path: Path, source: Path, content: bytes
) -> None:
    path = tmp_path / CHECKPOINT
    path.write_bytes(content)
    with pytest.raises(Refused, match="damaged, or no checkpoint"):
        checkpoint.claim(tmp_path, key_of(source))
    assert path.read_bytes() == content


def test_a_checkpoint_of_another_kind_is_refused(tmp_path: Path, source: Path) -> None:
    stored = {"mpflow_checkpoint": checkpoint.FORMAT + 1, "key": {}}
    (tmp_path / CHECKPOINT).write_bytes(msgspec.json.encode(stored))
    with pytest.raises(Refused, match="another version of mpflow"):
        checkpoint.claim(tmp_path, key_of(source))


def test_of_two_writers_the_first_ones_key_stays(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = key_of(source), key_of(source, facts={"encoder": {"threads": 9}})
    load = checkpoint.load
    seen: list[bool] = []

    def late(folder: Path) -> checkpoint.Key | None:
        """Nothing there yet; and then another writer is quicker."""
        if not seen:
            seen.append(True)
            checkpoint.claim(folder, theirs)
            return None
        return load(folder)

    monkeypatch.setattr(checkpoint, "load", late)
    with pytest.raises(Refused, match=r"encoder\.threads=9, now 3"):
        checkpoint.claim(tmp_path, ours)


def test_threads_of_earlier_parts_are_known(tmp_path: Path, source: Path) -> None:
    assert checkpoint.kept_threads(tmp_path) == 0
    checkpoint.claim(tmp_path, key_of(source))
    assert checkpoint.kept_threads(tmp_path) == 3
    (tmp_path / CHECKPOINT).write_text("?")
    assert checkpoint.kept_threads(tmp_path) == 0


def test_the_key_of_farm_chunks_is_the_same_for_every_range(source: Path) -> None:
    assert key_of(source, grid=0, start=0, stop=9) == key_of(source, grid=0, start=9, stop=20)


def test_a_url_is_not_read() -> None:
    key = key_of("https://user:secret@host/film.mp4")
    assert "secret" not in str(key)


def test_an_input_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        key_of(tmp_path / "gone.mp4")
