"""Sound, text and chapters of a range of frames: cut to its time, moved to begin with it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import clips
import numbered
import pytest
from clips import Clip

from mpflow.media.copy import StreamCopy
from mpflow.media.probe import probe
from mpflow.media.ranges import Frames
from mpflow.media.span import span_of
from mpflow.media.timecode import moved

Packets = list[tuple[Fraction | None, Fraction | None, bytes]]
PAL = Clip(pts=range(50), time_base=Fraction(1, 25), rate=25, options={"g": "12", "bf": "2"})


def cut(source: Path, output: Path, wanted: Frames, **muxer: str) -> list[str]:
    """Write a range as the encoder does: its pictures coded anew, all else copied beside them."""
    media = probe(str(source))
    span = span_of(str(source), media, wanted)
    warnings: list[str] = []
    copy = StreamCopy(
        str(source),
        media.video.index,
        keep_streams=True,
        keep_metadata=True,
        warn=warnings.append,
        span=span,
    )
    base = Fraction(*media.video.time_base)
    origin = round(span[0] / base)
    with av.open(str(output), "w", container_options=muxer) as container:
        clip = Clip(time_base=base, size=(media.video.width, media.video.height), codec="mpeg4")
        clip.time_base = Fraction(1, 25)
        stream = copy.add_to(container, lambda: clips.add_video(container, clip))
        container.start_encoding()
        reader = numbered.reader(source, wanted)
        for picture in reader:
            stamp, picture.pts = picture.pts, round((picture.pts - origin) * base * 25)
            picture.time_base = clip.time_base
            container.mux(stream.encode(picture))
            copy.pump(container, stamp * base)
        reader.close()
        container.mux(stream.encode(None))
        copy.drain(container)
    copy.close()
    return warnings


def inside(packets: Packets, begin: Fraction, end: Fraction) -> Packets:
    """Packets that start in a span, moved to begin at 0."""
    return [
        (at - begin, dts - begin, payload)
        for at, dts, payload in packets
        if at is not None and dts is not None and begin <= at < end
    ]


def sounds(path: Path) -> list[int]:
    """Indexes of the sound tracks; mp4 and mov leave out a track in which there is nothing."""
    with av.open(str(path)) as container:
        return [stream.index for stream in container.streams.audio]


def with_sound(path: Path, codec: str = "mpeg2video", sound: str = "mp2") -> Path:
    """50 numbered-rate frames with a sound track."""
    with av.open(str(path), "w") as container:
        clip = Clip(pts=PAL.pts, time_base=PAL.time_base, rate=25, codec=codec, options=PAL.options)
        picture = clips.add_video(container, clip)
        track = container.add_stream(sound, rate=48000)
        container.start_encoding()
        clips.fill_video(container, picture, clip)
        fill_s16(container, track)
    return path


def fill_s16(container: Any, stream: Any) -> None:
    rng = clips.np.random.default_rng(0)
    for block in range(84):
        samples = (rng.standard_normal((1, 2 * 1152)) * 999).astype(clips.np.int16)
        frame = av.AudioFrame.from_ndarray(samples, "s16", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48000, block * 1152, Fraction(1, 48000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv"])
def test_sound_of_a_range_is_that_of_its_time_and_never_leads(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / f"in.{suffix}", PAL)
    output = tmp_path / f"out.{suffix}"
    cut(source, output, Frames(13, 31))
    begin, end = Fraction(13, 25), Fraction(31, 25)
    for original, copied in zip(sounds(source), sounds(output), strict=True):
        expected = inside(clips.packets(source, original), begin, end)
        found = clips.packets(output, copied)
        assert [payload for *_, payload in found] == [payload for *_, payload in expected]
        for (at, *_), (wanted, *_) in zip(found, expected, strict=True):
            assert at is not None
            assert at >= 0
            assert wanted is not None
            assert abs(at - wanted) <= Fraction(1, 1000)
    assert clips.times(output) == [Fraction(n, 25) for n in range(18)]


@pytest.mark.parametrize(
    ("suffix", "codec", "sound"), [("ts", "mpeg2video", "mp2"), ("mpg", "mpeg2video", "mp2")]
)
def test_sound_of_a_range_of_a_program_or_transport_stream_keeps_step(
    tmp_path: Path, suffix: str, codec: str, sound: str
) -> None:
    source = with_sound(tmp_path / f"in.{suffix}", codec, sound)
    stamps = clips.times(source)
    output = tmp_path / "out.mkv"
    cut(source, output, Frames(20, 40))
    expected = inside(clips.packets(source, 1), stamps[20], stamps[40])
    found = clips.packets(output, 1)
    assert [payload for *_, payload in found] == [payload for *_, payload in expected]
    assert found[0][0] is not None
    assert 0 <= found[0][0] < Fraction(1152, 48000) + Fraction(1, 1000)


def test_sound_after_a_jump_of_the_clock_belongs_to_its_pictures(tmp_path: Path) -> None:
    part = with_sound(tmp_path / "part.ts")
    joined = tmp_path / "joined.ts"
    joined.write_bytes(part.read_bytes() * 2)
    output = tmp_path / "out.mkv"
    cut(joined, output, Frames(70, 90))
    sound = clips.packets(output, 1)
    assert 0 <= sound[0][0] < Fraction(1, 10)
    assert Fraction(7, 10) < sound[-1][0] < Fraction(8, 10)
    second = [payload for *_, payload in clips.packets(part, 1)]
    first = second.index(sound[0][2])
    assert 15 < first < 40
    assert [payload for *_, payload in sound] == second[first : first + len(sound)]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_text_on_screen_at_the_begin_of_a_range_is_kept_and_cut(
    tmp_path: Path, suffix: str
) -> None:
    source = clips.make_rich(tmp_path / f"in.{suffix}", PAL)  # texts at 0.2 s and 1.2 s, 0.7 s long
    output = tmp_path / "out.mkv"
    cut(source, output, Frames(15, 40))  # 0.6 s to 1.6 s
    with av.open(str(output)) as container:
        index = container.streams.subtitles[0].index
        shown = [
            (p.pts * p.time_base, p.duration * p.time_base, bytes(p))
            for p in container.demux(container.streams[index])
            if p.size
        ]
    assert [(start, length) for start, length, _ in shown] == [
        (0, Fraction(3, 10)),
        (Fraction(6, 10), Fraction(4, 10)),
    ]
    assert b"Hello" in shown[0][2]
    assert b"second" in shown[1][2]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_text_that_was_over_before_a_range_stays_out(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / f"in.{suffix}", PAL)
    output = tmp_path / "out.mp4"
    cut(source, output, Frames(25, 30))  # 1 s to 1.2 s
    texts = [p for p in clips.packets(output, text_index(output)) if len(p[2]) > 2]
    assert texts == []


def text_index(path: Path) -> int:
    with av.open(str(path)) as container:
        return container.streams.subtitles[0].index


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_chapters_of_a_range_are_cut_and_moved(tmp_path: Path, suffix: str) -> None:
    source = clips.make_rich(tmp_path / f"in.{suffix}", PAL)  # 0 to 1 s, 1 s to 2 s
    found = {}
    for wanted in (Frames(15, 40), Frames(30, 35), Frames(30)):
        output = tmp_path / f"out.{suffix}"
        cut(source, output, wanted)
        with av.open(str(output)) as container:
            found[wanted] = [
                (c["start"] * c["time_base"], c["end"] * c["time_base"], c["metadata"]["title"])
                for c in container.chapters()
            ]
    tenth = Fraction(1, 10)
    assert found[Frames(15, 40)] == [(0, 4 * tenth, "one"), (4 * tenth, 1, "two")]
    assert found[Frames(30, 35)] == [(0, 2 * tenth, "two")]
    assert found[Frames(30)] == [(0, 8 * tenth, "two")]


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_further_picture_begins_with_its_first_key_frame_in_the_range(
    tmp_path: Path, suffix: str
) -> None:
    source, output = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    with av.open(str(source), "w") as container:
        pictures = [clips.add_video(container, PAL) for _ in range(2)]
        container.start_encoding()
        for picture in pictures:
            clips.fill_video(container, picture, PAL)
    cut(source, output, Frames(15, 40))
    with av.open(str(output)) as container:
        further = [p for p in container.demux(container.streams[1]) if p.size]
        assert further[0].is_keyframe
        assert further[0].pts * further[0].time_base == Fraction(9, 25)  # frame 24 of the input
    with av.open(str(output)) as container:
        shown = [p.pts * p.time_base for p in container.decode(container.streams[1])]
    assert [round(at * 25) for at in shown][:15] == list(range(9, 24))


def test_a_further_picture_without_a_key_frame_in_the_range_is_named(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mkv", PAL)
    warnings = cut(source, tmp_path / "out.mkv", Frames(15, 40))
    assert any("stream 1 (video" in text and "no key frame" in text for text in warnings)
    with av.open(str(tmp_path / "out.mkv")) as container:
        covers = [stream for stream in container.streams.video if stream.disposition & 1024]
        assert len(covers) == 1


def test_the_end_of_the_input_is_the_end_of_an_open_range(tmp_path: Path) -> None:
    source = clips.make_rich(tmp_path / "in.mp4", PAL)
    output = tmp_path / "out.mp4"
    for wanted in (Frames(20), Frames(20, 50)):
        cut(source, output, wanted)
        tail = [payload for *_, payload in clips.packets(source, sounds(source)[0])]
        found = [payload for *_, payload in clips.packets(output, sounds(output)[0])]
        assert found == tail[-len(found) :]
        assert len(found) > 45


def test_copying_stops_soon_after_the_end_of_a_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.mkv"
    exact = {"max_interleave_delta": "0"}
    with av.open(str(source), "w", container_options=exact) as container:
        clip = Clip(pts=range(1000), time_base=Fraction(1, 25), rate=25, codec="mpeg4")
        picture = clips.add_video(container, clip)
        track = container.add_stream("aac", rate=48000)
        container.start_encoding()
        clips.fill_sound(container, track, 0, blocks=1870)
        clips.fill_video(container, picture, clip)
    steps = []
    step: Callable[..., bool] = StreamCopy._step

    def counted(self: StreamCopy, output: Any) -> bool:
        steps.append(1)
        return step(self, output)

    monkeypatch.setattr(StreamCopy, "_step", counted)
    cut(source, tmp_path / "out.mkv", Frames(10, 20))
    assert 200 < len(steps) < 1200  # about ten seconds of both, out of forty


@pytest.mark.parametrize(
    ("code", "frames", "rate", "expected"),
    [
        ("01:02:03:04", 25, Fraction(25), "01:02:04:04"),
        ("00:00:59;29", 1, Fraction(30000, 1001), "00:01:00;02"),
        ("00:09:59;29", 1, Fraction(30000, 1001), "00:10:00;00"),
        ("00:00:00;00", 17982, Fraction(30000, 1001), "00:10:00;00"),
        ("00:00:59;59", 1, Fraction(60000, 1001), "00:01:00;04"),
        ("00:00:59:29", 1, Fraction(30000, 1001), "00:01:00:00"),
        ("23:59:59:24", 1, Fraction(25), "00:00:00:00"),
        ("take 3", 1, Fraction(25), "take 3"),
    ],
)
def test_time_codes_count_on(code: str, frames: int, rate: Fraction, expected: str) -> None:
    assert moved(code, frames, rate) == expected


def test_the_time_code_of_a_range_is_that_of_its_first_frame(tmp_path: Path) -> None:
    source, output = tmp_path / "in.mov", tmp_path / "out.mov"
    with av.open(str(source), "w") as container:
        picture = clips.add_video(container, PAL)
        picture.metadata["timecode"] = "10:00:00:00"
        container.start_encoding()
        clips.fill_video(container, picture, PAL)
    cut(source, output, Frames(30, 40))
    with av.open(str(output)) as container:
        assert container.streams.video[0].metadata["timecode"] == "10:00:01:05"


@pytest.mark.parametrize("start", [100, 700])
def test_a_track_that_starts_late_in_a_range_is_known(tmp_path: Path, start: int) -> None:
    source = tmp_path / "in.mp4"
    with av.open(str(source), "w") as container:
        clip = Clip(pts=range(900), time_base=Fraction(1, 25), rate=25, codec="mpeg4")
        picture = clips.add_video(container, clip)
        track = container.add_stream("aac", rate=48000)
        container.start_encoding()
        clips.fill_sound(container, track, 0, blocks=60, first=1310)  # from 28 s on
        clips.fill_video(container, picture, clip)
    media = probe(str(source))
    copy = StreamCopy(
        str(source),
        0,
        keep_streams=True,
        keep_metadata=True,
        warn=lambda text: None,
        span=span_of(str(source), media, Frames(start)),
    )
    with av.open(str(tmp_path / "out.mp4"), "w") as container:
        copy.add_to(container, lambda: clips.add_video(container, clip))
        assert copy.has_late_track() == (start == 100)
        container.start_encoding()
    copy.close()
