"""The numbering of frames, found without decoding, is that of reading from the beginning."""

from __future__ import annotations

from pathlib import Path

import av
import clips
import numbered
import pytest
from clips import Clip

from mpflow.media.index import Index, read_index
from mpflow.media.passes import checked_index
from mpflow.media.probe import probe


def index_of(path: Path) -> Index:
    return checked_index(str(path), probe(str(path)))


@pytest.mark.parametrize("kind", numbered.KINDS)
def test_the_index_numbers_the_frames_that_are_shown(tmp_path: Path, kind: str) -> None:
    path = numbered.KINDS[kind](tmp_path)
    index = index_of(path)
    assert index.why == ""
    assert list(index.stamps) == [stamp for stamp, *_ in numbered.read(path)]
    assert index.frames >= 60


@pytest.mark.parametrize("kind", numbered.COUNTED)
def test_time_stamps_that_find_no_frame_are_said_to_be_unfit(tmp_path: Path, kind: str) -> None:
    path = numbered.COUNTED[kind](tmp_path)
    index = index_of(path)
    assert not index.clean
    assert index.frames == 60
    assert list(index.keys_until(1 << 40)) == []


def test_joined_files_are_counted_for_their_jumping_clock(tmp_path: Path) -> None:
    part = numbered.KINDS["mpeg2 ts"](tmp_path)
    part.write_bytes(part.read_bytes() * 2)
    assert index_of(part).why == "its time stamps jump back"


def test_frames_with_the_same_time_stamp_are_noticed(tmp_path: Path) -> None:
    whole = clips.make(tmp_path / "whole.mkv", Clip(codec="ffv1"))
    path = tmp_path / "a.mkv"
    with av.open(str(whole)) as read, av.open(str(path), "w") as write:
        stream = read.streams.video[0]
        out = write.add_stream_from_template(stream)
        for packet in read.demux(stream):
            if packet.size:
                packet.pts = packet.dts = packet.pts // 100 * 100
                packet.stream = out
                write.mux_one(packet)
    index = read_index(str(path), probe(str(path)))
    assert index.why == "some of its frames have the same time stamp"
    assert index.frames == 30


def test_pictures_that_vp8_hides_have_no_number(tmp_path: Path) -> None:
    whole = numbered.KINDS["vp8 webm"](tmp_path)
    path = tmp_path / "hidden.webm"
    hidden = {7, 31}
    with av.open(str(whole)) as read, av.open(str(path), "w") as write:
        stream = read.streams.video[0]
        out = write.add_stream_from_template(stream)
        for number, packet in enumerate(p for p in read.demux(stream) if p.size):
            data = bytearray(bytes(packet))
            if number in hidden:
                data[0] &= ~0x10 & 0xFF
            made = av.Packet(bytes(data))
            made.stream, made.time_base = out, packet.time_base
            made.pts, made.dts, made.is_keyframe = packet.pts, packet.dts, packet.is_keyframe
            write.mux_one(made)
    index = index_of(path)
    assert index.clean
    assert list(index.stamps) == [stamp for stamp, *_ in numbered.read(path)]
    assert index.frames == 58


def test_places_between_frames_belong_to_the_next_one(tmp_path: Path) -> None:
    index = index_of(numbered.KINDS["mp4"](tmp_path))
    assert next(index.stamps_from(-5)) == 0
    assert list(index.stamps_from(57 * 512 + 1)) == [58 * 512, 59 * 512]
    assert list(index.stamps_from(59 * 512 + 1)) == []


def test_key_frames_to_seek_to_come_nearest_first_and_without_the_files_first(
    tmp_path: Path,
) -> None:
    path = numbered.make(
        tmp_path / "a.mkv", Clip(pts=range(40), codec="mpeg4", options={"g": "10", "bf": "0"})
    )
    index = index_of(path)
    assert [index.pts[row] for row in index.keys_until(950)] == [667, 333]
    assert list(index.keys_until(332)) == []
    last = index.keys[-1]
    assert index.earlier_key(last, 3) == 0
    assert index.earlier_key(last, 4) is None
