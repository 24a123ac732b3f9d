"""Sound, text, chapters and tags beside the picture: what is kept, what goes, and its name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import clips
import numpy as np
import pytest
from clips import Clip

from mpflow.media.tags import kept_tags, private_tags

PRIVATE = ("A film", "Jane", "+48.1", "Camera", "2020-01-01")


def streams(path: Path) -> list[tuple[str, str]]:
    """Kind and language of every stream."""
    with av.open(str(path)) as container:
        return [(s.type, s.metadata.get("language", "")) for s in container.streams]


def tags(path: Path) -> str:
    """Every tag of the file, its streams and its chapters, as one text."""
    with av.open(str(path)) as container:
        found = [container.metadata, *(s.metadata for s in container.streams)]
        found += [c["metadata"] for c in container.chapters()]
        return repr([dict(entry) for entry in found])


def attachments(path: Path) -> list[str]:
    with av.open(str(path)) as container:
        return [s.name for s in container.streams if s.type == "attachment"]


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_two_sound_tracks_and_text_are_copied_packet_for_packet(
    tmp_path: Path, suffix: str
) -> None:
    source = clips.make_rich(tmp_path / f"in.{suffix}")
    output = tmp_path / f"out.{suffix}"
    clips.convert(source, output)
    for index in (2, 3):
        assert clips.packets(output, index) == clips.packets(source, index)
        assert len(clips.packets(output, index)) > 80
    text = [[p for p in clips.packets(path, 4) if len(p[2]) > 2] for path in (source, output)]
    assert text[0] == text[1]
    assert len(text[0]) == 2
    assert streams(output)[:5] == streams(source)[:5]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_sound_stays_in_step_over_containers(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / ("in.mkv" if suffix == "mp4" else "in.mp4"))
    output = tmp_path / f"out.{suffix}"
    clips.convert(source, output)
    for index in (2, 3):
        before, after = clips.packets(source, index), clips.packets(output, index)
        assert [p[2] for p in before] == [p[2] for p in after]
        assert all(abs(a[0] - b[0]) < Fraction(1, 1000) for a, b in zip(before, after, strict=True))


def test_text_becomes_the_containers_own_kind(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mkv")
    clips.convert(source, tmp_path / "out.mp4")
    clips.convert(tmp_path / "out.mp4", tmp_path / "back.mkv")
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.subtitles[0].codec_context.name == "mov_text"
    text = [p for p in clips.packets(tmp_path / "out.mp4", 4) if len(p[2]) > 2]
    assert [p[0] for p in text] == [Fraction(200, 1000), Fraction(1200, 1000)]
    assert b"Hello you" in text[0][2]
    back = clips.packets(tmp_path / "back.mkv", 4)
    assert [(p[0], p[2]) for p in back] == [
        (Fraction(200, 1000), b"Hello <i>you</i>"),
        (Fraction(1200, 1000), b"A second line"),
    ]


def test_what_the_container_cannot_hold_is_named(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mkv")
    result = clips.convert(source, tmp_path / "out.webm", codec="libvpx-vp9")
    dropped = [text for text in result.warnings if "left out: webm cannot hold it" in text]
    assert any("audio aac, eng" in text for text in dropped)
    assert any("cover art cover.png" in text for text in dropped)
    assert streams(tmp_path / "out.webm") == [("video", ""), ("subtitle", "fra")]


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_chapters_are_kept(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / "in.mkv")
    clips.convert(source, tmp_path / f"out.{suffix}")
    with av.open(str(tmp_path / f"out.{suffix}")) as container:
        found = [
            (c["start"] * c["time_base"], c["end"] * c["time_base"], c["metadata"]["title"])
            for c in container.chapters()
        ]
    assert found == [(0, 1, "one"), (1, 2, "two")]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "mov"])
@pytest.mark.parametrize("origin", ["mp4", "mkv"])
def test_without_keep_no_other_picture_and_no_private_tag_is_left(
    tmp_path: Path, origin: str, suffix: str
) -> None:
    source = clips.make_rich(tmp_path / f"in.{origin}")
    output = tmp_path / f"out.{suffix}"
    result = clips.convert(source, output, keep_streams=False, keep_metadata=False)
    kinds = [kind for kind, _ in streams(output)]
    assert kinds.count("video") == 1
    assert "attachment" not in kinds
    assert kinds.count("audio") == 2
    raw = output.read_bytes()
    for secret in PRIVATE:
        assert secret not in tags(output)
        assert secret.encode() not in raw
    said = " ".join(result.warnings).lower()
    assert "stream 1 (video" in said
    for name in ("title", "artist", "location", "com.apple.quicktime.make", "creation_time"):
        assert name in said
    if origin == "mkv":
        assert "cover art" in said
        assert "note.txt" in said


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_keep_metadata_keeps_every_tag(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / "in.mp4")
    result = clips.convert(source, tmp_path / f"out.{suffix}")
    for secret in PRIVATE:
        assert secret in tags(tmp_path / f"out.{suffix}")
    assert result.warnings == []


def test_keep_streams_keeps_cover_art_and_further_pictures(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mkv")
    for suffix in ("mkv", "mp4"):
        output = tmp_path / f"out.{suffix}"
        clips.convert(source, output)
        with av.open(str(output)) as container:
            covers = [s for s in container.streams.video if s.disposition & 1024]
            further = container.streams.video[1]
            assert len(covers) == 1
            assert further.codec_context.width == 32
        assert [p[2] for p in clips.packets(output, covers_index(output))] == [clips.png()]
        assert [p[2] for p in clips.packets(output, 1)] == [p[2] for p in clips.packets(source, 1)]
    assert attachments(tmp_path / "out.mkv") == ["font.ttf", "note.txt"]


def covers_index(path: Path) -> int:
    with av.open(str(path)) as container:
        return next(s.index for s in container.streams.video if s.disposition & 1024)


@pytest.mark.parametrize("shared", [True, False])
def test_videos_go_on_sharing_their_time_code(tmp_path: Path, shared: bool) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    with av.open(str(source), "w") as container:
        clip = Clip(pts=range(5))
        pictures = [clips.add_video(container, clip) for _ in range(2)]
        for picture in pictures:
            picture.metadata["timecode"] = "01:00:00:00"
        container.start_encoding()
        for picture in pictures:
            clips.fill_video(container, picture, clip)
    if shared:
        source.write_bytes(with_one_time_code(source.read_bytes()))
    clips.convert(source, output)
    assert streams(output) == streams(source)
    assert [kind for kind, _ in streams(output)].count("data") == (1 if shared else 2)


def with_one_time_code(data: bytes) -> bytes:
    """The file with its last track hidden, and every reference to a time code to the one before."""
    box = b"tref" + bytes([0, 0, 0, 12]) + b"tmcd" + bytes(3)
    first, second = box + b"\3", box + b"\4"
    assert data.count(first) == data.count(second) == 1
    before, _, after = data.replace(second, first).rpartition(b"trak")
    return before + b"free" + after


def test_fonts_stay_with_the_styled_text_they_serve(tmp_path: Path) -> None:
    source = tmp_path / "in.mkv"
    with av.open(str(source), "w") as container:
        clip = Clip(pts=range(30))
        picture = clips.add_video(container, clip)
        text = container.add_stream("ass")
        text.time_base = text.codec_context.time_base = Fraction(1, 1000)
        text.codec_context.subtitle_header = clips.ASS_HEADER
        container.add_attachment("font.ttf", "font/ttf", b"font" * 9)
        container.add_attachment("note.txt", "text/plain", b"made by Jane Doe")
        container.start_encoding()
        clips.fill_video(container, picture, clip)
    clips.convert(source, tmp_path / "out.mkv", keep_streams=False, keep_metadata=False)
    assert attachments(tmp_path / "out.mkv") == ["font-2.ttf"]


def test_picture_without_sound_is_fine(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4")
    clips.convert(source, tmp_path / "out.mp4")
    assert [kind for kind, _ in streams(tmp_path / "out.mp4")] == ["video"]


def test_a_stopped_run_copies_sound_no_further_than_the_picture(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mp4")
    result = clips.convert(source, tmp_path / "out.mp4", stop_after=20)
    end = clips.packets(Path(result.sink.path), 2)[-1][0]
    assert Fraction(1, 2) < end < Fraction(3, 2)


def test_joined_transport_streams_keep_sound_and_picture_together(tmp_path: Path) -> None:
    part = tmp_path / "part.ts"
    with av.open(str(part), "w") as container:
        clip = Clip(pts=range(48), time_base=Fraction(1, 25), rate=25, codec="mpeg2video")
        picture = clips.add_video(container, clip)
        sound = container.add_stream("mp2", rate=48000)
        container.start_encoding()
        fill_s16(container, sound)
        clips.fill_video(container, picture, clip)
    joined = tmp_path / "joined.ts"
    joined.write_bytes(part.read_bytes() * 2)
    clips.convert(joined, tmp_path / "out.mp4")
    sound_ends = clips.packets(tmp_path / "out.mp4", 1)[-1][0]
    picture_ends = clips.times(tmp_path / "out.mp4")[-1]
    assert abs(sound_ends - picture_ends) < Fraction(1, 4)
    assert picture_ends > 3


def fill_s16(container: object, stream: object) -> None:
    for block in range(80):
        samples = np.zeros((1, 2 * 1152), np.int16)
        frame = av.AudioFrame.from_ndarray(samples, "s16", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48000, block * 1152, Fraction(1, 48000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def test_data_track_goes_by_name_unless_metadata_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "in.ts"
    with av.open(str(source), "w") as container:
        clip = Clip(codec="mpeg2video")
        picture = clips.add_video(container, clip)
        data = container.add_data_stream("klv")
        data.time_base = Fraction(1, 90000)
        container.start_encoding()
        for number in range(5):
            packet = av.Packet(b"owner Jane")
            packet.stream, packet.time_base = data, Fraction(1, 90000)
            packet.pts = packet.dts = number * 9000
            container.mux(packet)
        clips.fill_video(container, picture, clip)
    kept = clips.convert(source, tmp_path / "kept.ts")
    assert [kind for kind, _ in streams(tmp_path / "kept.ts")] == ["video", "data"]
    assert not any("data klv" in text for text in kept.warnings)
    gone = clips.convert(source, tmp_path / "gone.ts", keep_metadata=False)
    assert any("stream 1 (data klv) is left out" in text for text in gone.warnings)
    assert b"Jane" not in (tmp_path / "gone.ts").read_bytes()


def test_sound_that_starts_late_keeps_nothing_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    with av.open(str(source), "w") as container:
        clip = Clip(pts=range(500), time_base=Fraction(1, 25), rate=25, options={"g": "50"})
        picture = clips.add_video(container, clip)
        sound = container.add_stream("aac", rate=48000)
        container.start_encoding()
        clips.fill_sound(container, sound, 0, blocks=60, first=800)
        clips.fill_video(container, picture, clip)
    sizes: list[int] = []
    write = clips.Encode.write

    def watched(self: object, *args: object) -> None:
        write(self, *args)
        sizes.append((tmp_path / "out.partial.mp4").stat().st_size)

    monkeypatch.setattr(clips.Encode, "write", watched)
    clips.convert(source, output, encoder_options={"g": "50"})
    assert sizes[300] > 10_000
    assert clips.times(output) == clips.times(source)
    assert clips.packets(output, 1) == clips.packets(source, 1)


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (False, {"language"}),
        (True, {"title", "language", "artist", "location", "com.apple.quicktime.model", "Owner"}),
    ],
)
def test_tags_are_kept_by_an_allow_list(keep: bool, kept: set[str]) -> None:
    given = dict.fromkeys(
        ["title", "artist", "location", "com.apple.quicktime.model", "Owner"], "x"
    )
    given["language"] = "deu"
    stale = dict.fromkeys(["major_brand", "DURATION-eng", "BPS", "rotate"], "x")
    left = kept_tags({**given, **stale, "encoder": "Lavf62"}, keep=keep)
    assert set(left) == kept
    assert set(private_tags({**given, **stale, "encoder": "Lavf62"})) == set(given) - {"language"}
