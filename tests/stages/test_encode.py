"""The encode stage: the output is the input, but for what was changed and what was asked for."""

from __future__ import annotations

import weakref
from fractions import Fraction
from pathlib import Path

import av
import clips
import numpy as np
import pytest
from clips import Clip

from mpflow.errors import ConfigError, OutputError
from mpflow.media.encoder import threads_for
from mpflow.media.probe import closeup, probe
from mpflow.stage import StageContext
from mpflow.stages.encode import Encode, EncodeOptions

LOSSLESS = {"codec": "libx264", "encoder_options": {"qp": "0"}}

VARIABLE = [n * 512 for n in range(30)] + [30 * 512 + n * 1024 for n in range(30)]
CLOCKS = [
    (Fraction(1, 15360), VARIABLE),
    (Fraction(1, 30000), [n * 1001 for n in range(40)]),
    (Fraction(1, 90000), [126000 + n * 3003 for n in range(40)]),
    (Fraction(1001, 30000), range(7, 47)),
    (Fraction(1, 1000), [5 + n * 33 for n in range(40)]),
]


@pytest.mark.parametrize(("time_base", "pts"), CLOCKS)
@pytest.mark.parametrize("suffix", ["mp4", "mov"])
def test_every_time_stamp_is_kept_exactly(
    tmp_path: Path, suffix: str, time_base: Fraction, pts: list[int]
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=pts, time_base=time_base))
    result = clips.convert(source, tmp_path / f"out.{suffix}")
    assert clips.times(tmp_path / f"out.{suffix}") == clips.times(source)
    assert clips.times(source) == [n * time_base for n in pts]
    assert result.warnings == []
    assert result.sink.frames == len(pts)


def test_matroska_keeps_time_stamps_to_its_millisecond(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=VARIABLE, time_base=Fraction(1, 15360)))
    clips.convert(source, tmp_path / "out.mkv")
    again = clips.times(tmp_path / "out.mkv")
    assert all(
        abs(a - b) <= Fraction(1, 2000) for a, b in zip(again, clips.times(source), strict=True)
    )
    clips.convert(tmp_path / "out.mkv", tmp_path / "twice.mkv")
    assert clips.times(tmp_path / "twice.mkv") == again


def test_the_last_frame_lasts_as_long_as_it_did(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(30)))
    clips.convert(source, tmp_path / "out.mp4")
    assert probe(str(tmp_path / "out.mp4")).duration == pytest.approx(1.0)


@pytest.mark.parametrize("degrees", [90, 180, 270, -90])
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "mov"])
def test_rotation_is_kept(tmp_path: Path, degrees: int, suffix: str) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(rotation=degrees, pts=range(5)))
    output = tmp_path / f"out.{suffix}"
    clips.convert(source, output)
    assert probe(str(source)).video.rotation % 360 == degrees % 360
    assert probe(str(output)).video.rotation == probe(str(source)).video.rotation


def test_a_mirror_in_the_display_matrix_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "in.mp4"
    with av.open(str(source), "w") as container:
        clip = Clip(pts=range(5))
        stream = clips.add_video(container, clip)
        stream.set_display_rotation(90, hflip=True)
        clips.fill_video(container, stream, clip)
    clips.convert(source, tmp_path / "out.mp4")
    assert closeup(str(tmp_path / "out.mp4"), 0).matrix == closeup(str(source), 0).matrix


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
@pytest.mark.parametrize("colour", [(1, 1, 1, 1), (2, 5, 6, 5), (1, 9, 16, 9), (0, 2, 2, 2)])
def test_colour_tags_are_kept(
    tmp_path: Path, colour: tuple[int, int, int, int], suffix: str
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(colour=colour, pts=range(5)))
    clips.convert(source, tmp_path / f"out.{suffix}")
    for path in (source, tmp_path / f"out.{suffix}"):
        video = probe(str(path)).video
        assert (video.range, video.primaries, video.transfer, video.matrix) == colour


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_ten_bits_of_pq_stay_ten_bits_of_pq(tmp_path: Path, codec: str) -> None:
    clip = Clip(
        pts=range(5),
        pixel_format="yuv420p10le",
        colour=(1, 9, 16, 9),
        options={
            "x264-params": "mastering-display=G(13250,34500)B(7500,3000)R(34000,16000)"
            "WP(15635,16450)L(10000000,50):cll=1000,400"
        },
    )
    source = clips.make(tmp_path / "in.mp4", clip)
    before = closeup(str(source), 0).side_data
    assert "MASTERING_DISPLAY_METADATA" in before
    result = clips.convert(source, tmp_path / "out.mp4", codec=codec)
    video = probe(str(tmp_path / "out.mp4")).video
    assert video.pixel_format == "yuv420p10le"
    assert (video.primaries, video.transfer, video.matrix) == (9, 16, 9)
    after = closeup(str(tmp_path / "out.mp4"), 0).side_data
    for name in ("MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL"):
        assert after[name] == before[name]
    assert result.warnings == []


def test_hdr_facts_an_encoder_cannot_carry_are_named(tmp_path: Path) -> None:
    clip = Clip(pts=range(3), options={"x264-params": "cll=1000,400"})
    source = clips.make(tmp_path / "in.mp4", clip)
    result = clips.convert(source, tmp_path / "out.mkv", codec="ffv1")
    assert any("content light level" in text for text in result.warnings)


@pytest.mark.parametrize(
    ("suffix", "options"),
    [("mp4", LOSSLESS), ("mkv", {"codec": "ffv1"}), ("mkv", LOSSLESS)],
)
def test_untouched_pixels_are_bit_exact(
    tmp_path: Path, suffix: str, options: dict[str, object]
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip())
    clips.convert(source, tmp_path / f"out.{suffix}", **options)
    truth, copy = clips.planes(source), clips.planes(tmp_path / f"out.{suffix}")
    assert len(truth) == len(copy) == 30
    assert all(all(map(np.array_equal, a, b)) for a, b in zip(truth, copy, strict=True))


@pytest.mark.parametrize(
    ("codec", "suffix", "pixel_format"),
    [
        ("ffv1", "mkv", "yuv420p"),
        ("libvpx-vp9", "webm", "yuv420p"),
        ("libsvtav1", "mp4", "yuv420p"),
        ("libx264", "mp4", "yuv444p"),
    ],
)
def test_odd_sizes_stay_exact_where_the_encoder_takes_them(
    tmp_path: Path, codec: str, suffix: str, pixel_format: str
) -> None:
    clip = Clip(size=(65, 49), codec="ffv1", pixel_format=pixel_format, pts=range(5))
    source = clips.make(tmp_path / "in.mkv", clip)
    result = clips.convert(source, tmp_path / f"out.{suffix}", codec=codec)
    video = probe(str(tmp_path / f"out.{suffix}")).video
    assert (video.width, video.height) == (65, 49)
    assert result.warnings == []
    if codec == "ffv1":
        truth, copy = clips.planes(source), clips.planes(tmp_path / f"out.{suffix}")
        assert all(all(map(np.array_equal, a, b)) for a, b in zip(truth, copy, strict=True))


def test_odd_size_is_padded_by_its_edge_for_x264(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mkv", Clip(size=(65, 49), codec="ffv1", pts=range(5)))
    result = clips.convert(source, tmp_path / "out.mp4", **LOSSLESS)
    assert sum("padded to 66x50" in text for text in result.warnings) == 1
    truth, copy = clips.planes(source)[3], clips.planes(tmp_path / "out.mp4")[3]
    assert copy[0].shape == (50, 66)
    assert np.array_equal(copy[0][:49, :65], truth[0])
    assert np.array_equal(copy[0][:49, 65], truth[0][:, 64])
    assert np.array_equal(copy[0][49], copy[0][48])
    assert np.array_equal(copy[1], truth[1])


@pytest.mark.parametrize(
    ("codec", "suffix", "exact"),
    [
        ("libx265", "mp4", True),
        ("libvpx-vp9", "webm", True),
        ("libsvtav1", "mkv", True),
        ("mjpeg", "mkv", True),
        ("mpeg4", "mp4", True),
        ("prores_ks", "mov", True),
    ],
)
def test_other_encoders_work_with_their_defaults(
    tmp_path: Path, codec: str, suffix: str, exact: bool
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(12)))
    clips.convert(source, tmp_path / f"out.{suffix}", codec=codec)
    tolerance = Fraction(1, 1000) if exact else Fraction(1, 30)
    again = clips.times(tmp_path / f"out.{suffix}")
    assert len(again) == 12
    for a, b in zip(again, clips.times(source), strict=True):
        assert abs(a - b) <= tolerance


@pytest.mark.parametrize(("codec", "held"), [("libx264", 0), ("ffv1", 0), ("mjpeg", 3)])
def test_no_more_slots_stay_in_use_than_declared(tmp_path: Path, codec: str, held: int) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(40)))
    pictures, decode, job, _ = clips.decoded(source)
    options = EncodeOptions(codec=codec)
    encode = Encode(options, StageContext("encode", threads=2))
    assert encode.holds == held
    job = clips.Job(clips.JobSpec("job", str(source), str(tmp_path / "out.mkv")), job.media)
    encode.begin(job)
    layout = clips.PictureLayout.of("yuv420p", 64, 48)
    alive: list[weakref.ref[object]] = []
    most = 0
    for number, picture in enumerate(pictures):
        memory = clips.Memory(layout.nbytes)
        frame = clips.Frame(layout, memory, clips.Colour())
        picture.fill(frame)
        alive.append(weakref.ref(memory.exporter))
        encode.write(clips.token(picture, number), frame)
        frame.end()
        del frame, memory
        most = max(most, sum(ref() is not None for ref in alive))
    encode.finish(complete=True)
    decode.end()
    assert most <= held
    assert not any(ref() for ref in alive)


def test_unknown_encoder_is_named_with_close_matches(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    with pytest.raises(ConfigError, match=r"libx246.*libx264"):
        clips.convert(source, tmp_path / "out.mp4", codec="libx246")
    assert [p.name for p in tmp_path.iterdir()] == ["in.mp4"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"encoder_options": {"pre-set": "fast"}}, "pre-set.*preset"),
        ({"encoder_options": {"tune": "nonsense"}}, "tune=nonsense"),
        ({"encoder_preset": "warp"}, "preset=warp"),
        ({"codec": "ffv1", "crf": 20}, "ffv1 has no option 'crf'"),
        ({"crf": 52}, "no crf 52.*0 .* to 51"),
        ({"crf": -1}, "no crf -1"),
        ({"codec": "libx265", "crf": 60}, "libx265 has no crf 60"),
        ({"codec": "libvpx-vp9", "crf": 64}, "no crf 64.*63"),
        ({"codec": "libsvtav1", "encoder_options": {"crf": "99"}}, "no crf 99"),
        ({"encoder_options": {"x264-params": "ref=2:refs-ahead=3"}}, "'refs-ahead=3' in x264-par"),
        ({"encoder_options": {"x264-params": "bframes=many"}}, "'bframes=many'"),
    ],
)
def test_option_an_encoder_does_not_take_is_named(
    tmp_path: Path, options: dict[str, object], named: str
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    with pytest.raises(ConfigError, match=named):
        clips.convert(source, tmp_path / "out.mkv", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["in.mp4"]


def test_container_that_cannot_hold_the_codec_is_named(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    with pytest.raises(ConfigError, match=r"webm files cannot hold.*--codec libvpx-vp9"):
        clips.convert(source, tmp_path / "out.webm")


def test_parameters_that_x264_knows_are_taken(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    parameters = {"x264-params": r"ref=2:no-cabac=1:deblock=1\:1:cll=1000,400"}
    clips.convert(source, tmp_path / "out.mp4", encoder_options=parameters)
    assert b"cabac=0 ref=2 deblock=1:1:1" in (tmp_path / "out.mp4").read_bytes()


@pytest.mark.parametrize("origin", ["mp4", "mkv"])
@pytest.mark.parametrize("start", [0, 150])
def test_avi_counts_its_frames(tmp_path: Path, origin: str, start: int) -> None:
    clip = Clip(pts=range(start, start + 120))
    source = clips.make(tmp_path / f"in.{origin}", clip)
    result = clips.convert(source, tmp_path / "out.avi")
    with av.open(str(tmp_path / "out.avi")) as container:
        stream = container.streams.video[0]
        assert (stream.average_rate, stream.frames) == (30, 120)
    assert result.warnings == ["avi keeps no time stamps: frames are shown at a constant rate"]
    assert len(clips.times(tmp_path / "out.avi")) == 120


def test_crf_changes_what_comes_out(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4")
    sizes = [clips.convert(source, tmp_path / f"{crf}.mp4", crf=crf).sink.size for crf in (10, 40)]
    assert sizes[0] > 1.3 * sizes[1]


def test_x264_is_set_up_as_ffmpeg_would_set_it_up(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    clips.convert(source, tmp_path / "out.mp4", threads=4)
    written = (tmp_path / "out.mp4").read_bytes()
    assert b"sliced_threads=0" in written


@pytest.mark.parametrize(("codec", "threads"), [("libx264", 6), ("ffv1", 4)])
def test_x264_gets_half_as_many_threads_again_as_cores(codec: str, threads: int) -> None:
    assert threads_for(codec, 4) == threads


def test_a_run_stopped_early_leaves_a_playable_partial_file(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4")
    result = clips.convert(source, tmp_path / "out.mp4", stop_after=20)
    assert not (tmp_path / "out.mp4").exists()
    assert result.sink.path == str(tmp_path / "out.partial.mp4")
    assert (result.sink.complete, result.sink.playable, result.sink.frames) == (False, True, 20)
    assert clips.times(Path(result.sink.path)) == clips.times(source)[:20]


def test_a_run_stopped_before_its_first_frame_leaves_nothing(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4")
    result = clips.convert(source, tmp_path / "out.mp4", stop_after=0)
    assert (result.sink.playable, result.sink.path) == (False, "")
    assert [p.name for p in tmp_path.iterdir()] == ["in.mp4"]


def test_names_with_anything_in_them_are_written(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    for name in ("a b.mp4", 'it\'s "so".mp4', "100%d.mkv", "видео 影片.mp4", "a:b.mp4", "-x.mp4"):
        result = clips.convert(source, tmp_path / name)
        assert result.sink.path == str(tmp_path / name)
        assert len(clips.times(tmp_path / name)) == 3


def test_existing_output_is_kept_unless_told(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    output = tmp_path / "out.mp4"
    output.write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists already"):
        clips.convert(source, output)
    assert output.read_bytes() == b"mine"
    clips.convert(source, output, overwrite=True)
    assert len(clips.times(output)) == 3
