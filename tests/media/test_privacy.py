"""Without metadata, no word that a person wrote into a tag is anywhere in the output."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import av
import clips
import pytest
from clips import Clip

from mpflow.media.headers import plain_vorbis

WORD = "Anneliese"
FILE_TAGS = ("title", "artist", "comment", "description", "encoded_by", "copyright", "my_own_key")
TRACK_TAGS = ("title", "handler_name", "comment", "encoded_by", "my_own_key")


def tell_all(path: Path) -> Path:
    """A clip with the word in every tag there is: file, tracks, chapters, attachments, data."""
    mkv = path.suffix == ".mkv"
    clip = Clip(pts=range(50), time_base=Fraction(1, 25), rate=25)
    muxer = {} if mkv else {"movflags": "use_metadata_tags"}
    with av.open(str(path), "w", container_options=muxer) as container:
        container.metadata.update({key: f"{WORD} {key}" for key in FILE_TAGS})
        container.metadata["location"] = "+48.1000+011.5000/"
        picture, further = (clips.add_video(container, clip) for _ in range(2))
        picture.metadata.update({"timecode": "01:00:00:00", "reel_name": WORD})
        sound = container.add_stream("aac", rate=48000)
        text = container.add_stream("ass" if mkv else "mov_text")
        text.time_base = text.codec_context.time_base = Fraction(1, 1000)
        text.codec_context.subtitle_header = ass_header()
        data = container.add_data_stream("bin_data") if path.suffix == ".mp4" else None
        streams = [picture, further, sound, text, *([data] if data else [])]
        for stream in streams:
            stream.metadata.update({key: f"{WORD} {key}" for key in TRACK_TAGS})
            stream.metadata["language"] = "eng"
        if mkv:
            attach(container)
        names = (f"{WORD} is born", f"{WORD} walks")
        container.set_chapters(
            [clips.chapter(n, n * 1000, n * 1000 + 1000, name) for n, name in enumerate(names)]
        )
        container.start_encoding()
        if data is not None:
            packet = av.Packet(WORD.encode())
            packet.stream, packet.time_base = data, Fraction(1, 1000)
            packet.pts = packet.dts = 0
            packet.duration = 1000
            container.mux(packet)
        clips.fill_sound(container, sound, 0)
        for stream in (picture, further):
            clips.fill_video(container, stream, clip)
    return path


def ass_header() -> bytes:
    """A header as subtitle editors write it, which tells of its maker too."""
    told = f"[Script Info]\r\nTitle: {WORD}\r\nOriginal Script: {WORD}\r\n; {WORD}\r\n"
    return clips.ASS_HEADER.replace(b"[Script Info]\r\n", told.encode()).replace(
        b"[Events]", f"[Aegisub Project Garbage]\r\nVideo File: {WORD}.mp4\r\n\r\n[Events]".encode()
    )


def attach(container: object) -> None:
    files = (
        (f"{WORD}.otf", "font/otf", b"font" * 9),
        (f"{WORD}.txt", "text/plain", WORD.encode()),
        (f"{WORD}.png", "image/png", clips.png()),
    )
    for name, kind, payload in files:
        stream = container.add_attachment(name, kind, payload)
        stream.metadata["title"] = WORD


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
@pytest.mark.parametrize("origin", ["mp4", "mov", "mkv"])
@pytest.mark.parametrize("keep_streams", [False, True])
def test_no_word_of_a_tag_is_left(
    tmp_path: Path, origin: str, suffix: str, keep_streams: bool
) -> None:
    source = tell_all(tmp_path / f"in.{origin}")
    assert source.read_bytes().count(WORD.encode()) > 8
    output = tmp_path / f"out.{suffix}"
    result = clips.convert(source, output, keep_streams=keep_streams, keep_metadata=False)
    raw = output.read_bytes()
    assert WORD.encode() not in raw
    assert b"48.1" not in raw
    with av.open(str(output)) as container:
        assert [s.metadata["language"] for s in container.streams.audio] == ["eng"]
        assert chapters(container) == [(0, 1, "Chapter 1"), (1, 2, "Chapter 2")]
    assert WORD not in " ".join(text for text in result.warnings if "tags" in text)


def chapters(container: object) -> list[tuple[Fraction, Fraction, str]]:
    return [
        (c["start"] * c["time_base"], c["end"] * c["time_base"], c["metadata"]["title"])
        for c in container.chapters()
    ]


@pytest.mark.parametrize("origin", ["mp4", "mov", "mkv"])
def test_every_tag_that_goes_is_named(tmp_path: Path, origin: str) -> None:
    source = tell_all(tmp_path / f"in.{origin}")
    result = clips.convert(source, tmp_path / "out.mp4", keep_streams=False, keep_metadata=False)
    said = next(text for text in result.warnings if text.startswith("tags left out"))
    named = set(said.partition(": ")[2].lower().split(", "))
    assert set(FILE_TAGS) <= named
    assert "location" in named
    if origin != "mkv":
        assert {"handler_name", "location-eng", "timecode"} <= named


@pytest.mark.parametrize("comments", [1, 40])
def test_song_tags_inside_a_sound_header_go(comments: int) -> None:
    tag = f"ARTIST={WORD}".encode()
    song = b"\x03vorbis" + struct.pack("<II", 0, comments)
    song += (struct.pack("<I", len(tag)) + tag) * comments + b"\x01"
    first, books = b"\x01vorbis" + bytes(23), b"\x05vorbis" + bytes(900)
    lacing = [len(first), *[255] * (len(song) // 255), len(song) % 255]
    plain = plain_vorbis(bytes([2, *lacing]) + first + song + books)
    assert plain == bytes([2, 30, 16]) + first + b"\x03vorbis" + bytes(8) + b"\x01" + books
    assert plain_vorbis(b"no header") == b"no header"


def test_styles_stay_where_their_header_is_made_plain(tmp_path: Path) -> None:
    source = tell_all(tmp_path / "in.mkv")
    clips.convert(source, tmp_path / "out.mkv", keep_streams=False, keep_metadata=False)
    with av.open(str(tmp_path / "out.mkv")) as container:
        assert container.streams.subtitles[0].codec_context.extradata == clips.ASS_HEADER


def test_a_language_that_is_none_goes(tmp_path: Path) -> None:
    source = tmp_path / "in.mkv"
    with av.open(str(source), "w") as container:
        clip = Clip(range(5))
        stream = clips.add_video(container, clip)
        stream.metadata["language"] = f"spoken by {WORD}"
        clips.fill_video(container, stream, clip)
    assert WORD.encode() in source.read_bytes()
    clips.convert(source, tmp_path / "out.mkv", keep_metadata=False)
    assert WORD.encode() not in (tmp_path / "out.mkv").read_bytes()
