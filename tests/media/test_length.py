"""Files that were cut off are told from whole ones, however short the missing part is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import clips
import pytest
from clips import Clip

from mpflow.media.probe import probe
from mpflow.media.reader import VideoReader
from mpflow.media.whole import Ending, ending

SOUND = {"webm": ("libopus", "libvpx-vp9"), "avi": ("mp2", "mpeg4"), "ts": ("aac", "libx264")}


def film(path: Path, *, frames: int = 40, blocks: int = 0, text_until: int = 0) -> Path:
    """A clip of 25 frames a second with sound of 1024 samples a block and perhaps a subtitle."""
    codec, picture_codec = SOUND.get(path.suffix[1:], ("aac", "libx264"))
    options = {"crf": "10", "b": "0"} if picture_codec == "libvpx-vp9" else {}
    clip = Clip(range(frames), Fraction(1, 25), rate=25, codec=picture_codec, options=options)
    with av.open(str(path), "w") as container:
        picture = clips.add_video(container, clip)
        sound = container.add_stream(codec, rate=48000) if blocks else None
        text = container.add_stream("subrip") if text_until else None
        if text is not None:
            text.time_base = text.codec_context.time_base = Fraction(1, 1000)
            text.codec_context.subtitle_header = clips.ASS_HEADER
        container.start_encoding()
        clips.fill_video(container, picture, clip)
        if sound is not None:
            _hum(container, sound, blocks)
        if text is not None:
            packet = av.Packet(b"Good night")
            packet.stream, packet.time_base = text, Fraction(1, 1000)
            packet.pts = packet.dts = 1000
            packet.duration = text_until - 1000
            container.mux(packet)
    return path


def _hum(container: object, stream: object, blocks: int) -> None:
    size = stream.codec_context.frame_size or 1024
    for block in range(blocks * 1024 // size):
        frame = av.AudioFrame(stream.codec_context.format.name, "stereo", size)
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        frame.sample_rate, frame.pts, frame.time_base = 48000, block * size, Fraction(1, 48000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def read(path: Path) -> VideoReader:
    reader = VideoReader(str(path), probe(str(path)), threads=1)
    for _ in reader:
        pass
    reader.close()
    return reader


def cut(path: Path, share: float = 2 / 3) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


@pytest.mark.parametrize("blocks", [0, 20, 75, 300])
@pytest.mark.parametrize("suffix", ["mkv", "mp4", "mov", "ts", "avi", "webm"])
def test_whole_files_are_whole_whichever_stream_ends_last(
    tmp_path: Path, suffix: str, blocks: int
) -> None:
    reader = read(film(tmp_path / f"a.{suffix}", blocks=blocks))
    assert reader.warnings == []
    assert reader.frames == 40
    assert reader.expected in (None, 40)


def test_a_subtitle_that_stays_after_the_picture_is_no_cut(tmp_path: Path) -> None:
    assert read(film(tmp_path / "a.mkv", text_until=9000)).warnings == []


@pytest.mark.parametrize("suffix", ["mkv", "mp4", "ts"])
@pytest.mark.parametrize("start", [0, 5000, 3_600_000])
def test_whole_files_that_start_late_or_vary_their_rate_are_whole(
    tmp_path: Path, suffix: str, start: int
) -> None:
    pts = [start + n * 40 for n in range(20)] + [start + 800 + n * 400 for n in range(5)]
    path = clips.make(tmp_path / f"a.{suffix}", Clip(pts, Fraction(1, 1000), rate=25))
    assert read(path).warnings == []


def test_a_last_picture_that_stays_for_long_is_no_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        clip = Clip(range(10), Fraction(1, 25), rate=25)
        stream = clips.add_video(container, clip)
        made = [p for n in range(10) for p in stream.encode(stamped(clip, n))]
        made += stream.encode(None)
        max(made, key=lambda packet: packet.pts).duration = 25 * 8
        container.mux(made)
    assert probe(str(path)).duration > 8
    assert read(path).warnings == []


def stamped(clip: Clip, number: int) -> av.VideoFrame:
    picture = clips.noise(clip, number)
    picture.pts, picture.time_base = number, clip.time_base
    return picture


@pytest.mark.parametrize("suffix", ["mkv", "webm", "avi"])
@pytest.mark.parametrize("blocks", [0, 90])
def test_a_cut_file_names_the_frames_expected_and_read(
    tmp_path: Path, suffix: str, blocks: int
) -> None:
    reader = read(cut(film(tmp_path / f"a.{suffix}", blocks=blocks)))
    summary = reader.summary()
    assert summary.frames < 40
    assert summary.expected == 40
    assert any(f"{summary.frames} of 40 frames" in text for text in summary.warnings)


def test_a_cut_that_takes_no_picture_is_still_damage(tmp_path: Path) -> None:
    reader = read(cut(film(tmp_path / "a.mkv", blocks=300), 0.97))
    assert any("cut off, 40 frames read" in text for text in reader.warnings)
    assert reader.damaged == 1


def test_a_fragmented_mp4_that_was_cut_is_named(tmp_path: Path) -> None:
    clip = Clip(range(60), options={"g": "10"})
    path = clips.make(tmp_path / "a.mp4", clip, movflags="frag_keyframe+empty_moov")
    assert read(path).warnings == []
    reader = read(cut(path))
    assert reader.frames < 60
    assert reader.warnings
    assert reader.damaged or reader.frames < (reader.expected or 0)


def test_a_file_whose_rest_was_never_filled_is_named(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mkv", frames=120)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2].ljust(len(data), b"\0"))
    reader = read(path)
    assert any("of 120 frames" in text for text in reader.warnings)


@pytest.mark.parametrize("suffix", ["mkv", "webm", "avi", "mp4", "mov"])
def test_structure_tells_of_a_single_missing_byte(tmp_path: Path, suffix: str) -> None:
    path = film(tmp_path / f"a.{suffix}", blocks=20)
    name = probe(str(path)).container
    assert ending(str(path), name) is Ending.WHOLE
    path.write_bytes(path.read_bytes() + b"junk after the end of the file")
    assert ending(str(path), name) is Ending.WHOLE
    path.write_bytes(path.read_bytes()[:-31])
    assert ending(str(path), name) is Ending.CUT


def test_a_stream_of_unknown_length_is_not_judged(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mkv", live="1")
    assert ending(str(path), "matroska,webm") is Ending.UNKNOWN
    assert read(path).warnings == []
