"""Reading pictures in order, from whole files and from broken ones."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import clips
import numpy as np
import pytest
from clips import Clip

from mpflow.media.probe import probe
from mpflow.media.reader import VideoReader
from mpflow.media.salvage import playable
from mpflow.media.timeline import Stamps


def read(path: Path, threads: int = 2) -> tuple[VideoReader, list[int]]:
    reader = VideoReader(str(path), probe(str(path)), threads=threads)
    stamps = [picture.pts for picture in reader]
    reader.close()
    assert all(a < b for a, b in pairwise(stamps))
    return reader, stamps


def damage(path: Path, spots: int = 8) -> None:
    data = bytearray(path.read_bytes())
    dice = random.Random(3)
    for _ in range(spots):
        at = dice.randrange(len(data) // 4, len(data) * 3 // 4)
        data[at : at + 60] = dice.randbytes(60)
    path.write_bytes(data)


def cut(path: Path, share: float = 0.6) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts", "avi", "mov"])
def test_every_picture_comes_once_and_in_order(tmp_path: Path, suffix: str, threads: int) -> None:
    path = clips.make(tmp_path / f"a.{suffix}", Clip(pts=range(60)))
    reader, stamps = read(path, threads)
    assert len(stamps) == 60
    assert (reader.damaged, reader.warnings) == (0, [])
    assert set(np.diff(stamps)) <= {stamps[1] - stamps[0], stamps[2] - stamps[1]}


def test_damaged_packets_are_skipped_and_counted(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(120), options={"g": "30"}))
    damage(path)
    reader, stamps = read(path)
    assert 100 < len(stamps) <= 120
    assert reader.damaged > 0
    assert reader.expected == 120
    assert any("damaged" in text for text in reader.warnings)


def test_damaged_transport_stream_keeps_its_clock(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.ts", Clip(pts=range(120), options={"g": "30"}))
    last = read(path)[1][-1]
    damage(path)
    reader, stamps = read(path)
    assert reader.damaged > 0
    assert abs(stamps[-1] - last) < 90000


def test_cut_matroska_says_what_was_expected_and_read(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mkv", Clip(pts=range(120), options={"g": "30"}))
    cut(path)
    reader, stamps = read(path)
    summary = reader.summary()
    assert summary.expected == 120
    assert summary.frames == len(stamps) < 120
    assert any(f"{len(stamps)} of 120" in text for text in reader.warnings)
    assert playable(path) == len(stamps)


def test_cut_transport_stream_is_noticed_by_its_last_packet(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.ts", Clip(pts=range(120), options={"g": "30"}))
    path.write_bytes(path.read_bytes()[:-100])
    assert any("cut off" in text for text in read(path)[0].warnings)


def test_cut_mp4_with_its_index_first_says_what_was_read(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(120)), movflags="+faststart")
    cut(path)
    reader, stamps = read(path)
    assert reader.expected == 120
    assert len(stamps) < 120
    assert reader.warnings


def test_transport_packets_that_are_lost_are_damage_though_every_picture_left_decodes(
    tmp_path: Path,
) -> None:
    path = clips.make(tmp_path / "a.ts", Clip(pts=range(120), options={"g": "10"}))
    data = bytearray(path.read_bytes())
    middle, length = len(data) // 2, len(data) // 20
    data[middle : middle + length] = bytes(length)
    path.write_bytes(data)
    reader, stamps = read(path)
    assert len(stamps) < 120
    assert reader.damaged
    assert any("is damaged" in text for text in reader.warnings)


def test_transport_streams_that_were_joined_are_not_damaged_at_the_seam(tmp_path: Path) -> None:
    part = clips.make(tmp_path / "a.ts", Clip(pts=range(60), options={"g": "10"}))
    part.write_bytes(part.read_bytes() * 2)
    reader, stamps = read(part)
    assert len(stamps) == 120
    assert not reader.damaged


def test_size_change_on_the_way_is_brought_to_the_first_size(tmp_path: Path) -> None:
    parts = [
        clips.make(tmp_path / f"{n}.ts", Clip(pts=range(30), codec="mpeg2video", size=size))
        for n, size in enumerate([(64, 48), (96, 64)])
    ]
    joined = tmp_path / "joined.ts"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    pictures, stage, job, warnings = clips.decoded(joined)
    found = []
    for picture in pictures:
        layout = clips.PictureLayout.of("yuv420p", 64, 48)
        frame = clips.Frame(layout, clips.Memory(layout.nbytes), clips.Colour())
        picture.fill(frame)
        found.append((picture.pts, frame.planes[0].copy()))
    assert stage.end().frames == len(found) >= 59  # the decoder loses one at the seam
    assert job.media.video.width == 64
    assert sum("96x64" in text for text in warnings) == 1
    assert any("jump back" in text for text in warnings)
    steps = np.diff([pts for pts, _ in found])
    assert steps.min() > 0
    assert steps.max() <= 3 * 3003


def test_missing_and_backward_stamps_are_filled_and_moved() -> None:
    stamps = Stamps(10)
    given = [(None, 0), (None, 0), (25, 5), (None, 0), (30, 0), (12, 0), (40, 0)]
    assert [stamps.next(*pair) for pair in given] == [0, 10, 25, 30, 31, 32, 40]
    assert (stamps.filled, stamps.moved) == (3, 2)


def test_variable_rate_stamps_are_the_inputs_own(tmp_path: Path) -> None:
    pts = [n * 512 for n in range(30)] + [30 * 512 + n * 1024 for n in range(30)]
    path = clips.make(tmp_path / "a.mp4", Clip(pts=pts, time_base=Fraction(1, 15360)))
    assert read(path)[1] == pts


def test_a_slide_show_with_long_gaps_keeps_its_stamps(tmp_path: Path) -> None:
    clip = Clip(pts=[n * 15 for n in range(8)], time_base=Fraction(1), rate=Fraction(1, 15))
    path = clips.make(tmp_path / "a.mkv", clip)
    assert read(path)[1] == [n * 15000 for n in range(8)]


def test_raw_stream_without_any_stamps_gets_steady_ones(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.h264", Clip(pts=range(20)))
    stamps = read(path)[1]
    assert len(stamps) == 20
    assert len(set(np.diff(stamps))) == 1
