"""What an input is, and how each bad one is refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import clips
import pytest
from clips import Clip

from mpflow.errors import InputError
from mpflow.media.probe import probe


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        probe(str(path))
    assert caught.value.cure
    assert path.name in caught.value.what
    return caught.value.what


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert "there is no file" in refusal(tmp_path / "gone.mp4")


def test_directory_is_no_input(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_text_file_is_no_video_whatever_its_extension(tmp_path: Path) -> None:
    for name in ("words.txt", "words.mp4", "words.srt", "words"):
        path = tmp_path / name
        path.write_text("Only words, no pictures.\n" * 50)
        assert "text file" in refusal(path) or "not a media file" in refusal(path)


def test_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.mp4"
    path.touch()
    assert "0 bytes" in refusal(path)


def test_pipe_is_refused_because_it_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    assert "pipe" in refusal(tmp_path / "pipe.mp4")


def test_sound_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.m4a"
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=48000)
        clips.fill_sound(container, stream, 0, blocks=4)
    assert "sound but no picture" in refusal(path)


def test_cover_art_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "song.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000)
        container.add_attachment("cover.png", "image/png", clips.png())
        clips.fill_sound(container, stream, 0, blocks=4)
    assert "cover art but no moving picture" in refusal(path)


def test_codec_without_decoder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_mux_stream("evc", rate=25, width=64, height=48)
        stream.time_base = Fraction(1, 25)
        packet = av.Packet(b"\0" * 64)
        packet.stream, packet.pts, packet.dts, packet.is_keyframe = stream, 0, 0, True
        container.mux(packet)
    assert "this FFmpeg cannot decode" in refusal(path)


def test_stream_of_garbage_has_no_picture(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mkv", Clip(codec="mpeg4", pts=range(5)))
    whole = path.read_bytes()
    at = whole.index(b"\x00\x00\x01\xb6")
    path.write_bytes(whole[:at] + b"\xff" * (len(whole) - at))
    assert "no picture that can be decoded" in refusal(path) or "not a media" in refusal(path)


def test_mp4_whose_index_is_cut_off_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    assert "its index is cut off" in refusal(path)


def test_facts_of_a_clip_are_all_there(tmp_path: Path) -> None:
    clip = Clip(
        time_base=Fraction(1, 30000),
        pts=[number * 1001 for number in range(30)],
        rate=Fraction(30000, 1001),
        colour=(1, 1, 1, 1),
        sample_aspect=Fraction(4, 3),
        rotation=90,
    )
    info = probe(str(clips.make(tmp_path / "a.mp4", clip)))
    video = info.video
    assert (video.codec, video.width, video.height) == ("h264", 64, 48)
    assert (video.pixel_format, video.source_format) == ("yuv420p", "yuv420p")
    assert (video.time_base, video.average_rate) == ((1, 30000), (30000, 1001))
    assert (video.range, video.primaries, video.transfer, video.matrix) == (1, 1, 1, 1)
    assert (video.sample_aspect, video.rotation, video.frames) == ((4, 3), 90, 30)
    assert info.size > 0
    assert info.duration == pytest.approx(1.001, abs=0.05)


@pytest.mark.parametrize(
    ("codec", "source", "ring"),
    [
        ("ffv1", "yuv420p", "yuv420p"),
        ("ffv1", "yuv422p10le", "yuv422p10le"),
        ("ffv1", "gray", "gray"),
        ("ffv1", "gray10le", "gray10le"),
        ("ffv1", "yuv440p", "yuv420p"),
        ("ffv1", "yuv420p12le", "yuv420p10le"),
        ("ffv1", "bgr0", "yuv420p"),
        ("mjpeg", "yuvj422p", "yuvj422p"),
    ],
)
def test_what_the_ring_does_not_hold_becomes_420(
    tmp_path: Path, codec: str, source: str, ring: str
) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        stream = clips.add_video(container, Clip(codec=codec, pixel_format=source))
        for number in range(3):
            picture = clips.noise(Clip(), number).reformat(format=source)
            picture.pts, picture.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    video = probe(str(path)).video
    assert (video.source_format, video.pixel_format) == (source, ring)


def test_frames_an_edit_list_hides_are_not_counted(tmp_path: Path) -> None:
    whole = clips.make(tmp_path / "a.mp4", Clip(pts=range(40), options={"bf": "0", "g": "40"}))
    cut = tmp_path / "cut.mp4"
    with av.open(str(whole)) as source, av.open(str(cut), "w") as container:
        stream = container.add_stream_from_template(source.streams.video[0], opaque=True)
        for packet in source.demux(video=0):
            if packet.size:
                packet.pts -= 5 * 512
                packet.dts -= 5 * 512
                packet.stream = stream
                container.mux(packet)
    info = probe(str(cut))
    assert info.video.frames == len(clips.times(cut)) == 35


def test_names_with_anything_in_them_are_read(tmp_path: Path) -> None:
    for name in ("a b.mp4", 'it\'s "so".mp4', "100%d.mp4", "видео 影片.mp4", "a:b.mp4", "-x.mp4"):
        path = clips.make(tmp_path / "plain.mp4", Clip(pts=range(3)))
        assert probe(str(path.rename(tmp_path / name))).video.frames == 3


def test_password_of_a_url_is_not_shown() -> None:
    with pytest.raises(InputError) as caught:
        probe("http://user:secret@127.0.0.1:9/a.mp4")
    assert "secret" not in str(caught.value)


class Plain(SimpleHTTPRequestHandler):
    """A server that knows no ranges: whoever wants the end has to read everything."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Plain, directory=tmp_path)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_server_that_does_not_let_seek_is_named_with_the_cure(address: str, tmp_path: Path) -> None:
    clips.make(tmp_path / "a.mp4", Clip(pts=range(100), size=(640, 480)))
    with pytest.raises(InputError, match=r"a\.mp4") as caught:
        probe(f"{address}/a.mp4")
    assert "seeking" in caught.value.cure
    assert "download" in caught.value.cure


def test_address_where_nothing_is_is_for_the_user_to_check(address: str) -> None:
    with pytest.raises(InputError, match="Not Found") as caught:
        probe(f"{address}/gone.mp4")
    assert "address" in caught.value.cure


def test_endless_tags_are_abridged_so_that_a_message_can_carry_them(tmp_path: Path) -> None:
    path = tmp_path / "tags.mkv"
    with av.open(str(path), "w") as container:
        clip = clips.Clip()
        stream = clips.add_video(container, clip)
        for number in range(100):
            container.metadata[f"NOTE{number}"] = "words " * 10_000
        clips.fill_video(container, stream, clip)
    metadata = probe(str(path)).metadata
    assert 0 < len(metadata) <= 64
    assert max(map(len, metadata.values())) == 256
