"""The encode stage goes on where a run ended: by a kill at any point, a stop, or its own end."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import chunked
import clips
import msgspec
import pytest
from clips import Clip

from mpflow.errors import OutputError, Refused
from mpflow.media.chunks import durable, found, is_done
from mpflow.media.mark import DONE
from mpflow.media.salvage import playable
from mpflow.spec import BEGINNING, Place, partial_name
from mpflow.stages.encode import Encode

PTS = range(3, 38)
"""35 frames of a thirtieth of a second: chunks of 10, 10, 10 and 5."""

VARIABLE = [n * 512 for n in range(18)] + [18 * 512 + n * 1024 for n in range(17)]
HDR = {
    "x264-params": "mastering-display=G(13250,34500)B(7500,3000)R(34000,16000)"
    "WP(15635,16450)L(10000000,50):cll=1000,400"
}

KINDS: list[Any] = [
    pytest.param(Clip(pts=PTS), "mp4", {}, id="x264 mp4"),
    pytest.param(Clip(pts=PTS), "mp4", {"threads": 6}, id="x264 mp4, drained on the side"),
    pytest.param(Clip(pts=PTS), "ts", {}, id="x264 ts"),
    pytest.param(Clip(pts=PTS), "avi", {}, id="x264 avi"),
    pytest.param(Clip(pts=VARIABLE, time_base=Fraction(1, 15360)), "mp4", {}, id="vfr"),
    pytest.param(
        Clip(pts=[n * 1001 for n in PTS], time_base=Fraction(1, 30000), rate=Fraction(30000, 1001)),
        "mov",
        {},
        id="29.97",
    ),
    pytest.param(
        Clip(pts=PTS, pixel_format="yuv420p10le", colour=(1, 9, 16, 9), options=HDR),
        "mp4",
        {"codec": "libx265", "threads": 4},
        id="hdr x265",
    ),
    pytest.param(
        Clip(pts=PTS, size=(65, 49), codec="ffv1", pixel_format="yuv444p"), "mkv", {}, id="odd"
    ),
    pytest.param(Clip(pts=PTS), "mkv", {"codec": "ffv1"}, id="ffv1 mkv"),
    pytest.param(Clip(pts=PTS), "webm", {"codec": "libvpx"}, id="vp8 webm"),
    pytest.param(Clip(pts=PTS), "webm", {"codec": "libvpx-vp9"}, id="vp9 webm"),
    pytest.param(Clip(pts=PTS), "mkv", {"codec": "libsvtav1"}, id="av1"),
    pytest.param(Clip(pts=PTS), "mov", {"codec": "prores_ks"}, id="prores"),
    pytest.param(Clip(pts=PTS), "mkv", {"codec": "mjpeg", "threads": 1}, id="mjpeg"),
    pytest.param(Clip(pts=PTS), "mpg", {"codec": "mpeg2video"}, id="mpeg2"),
    pytest.param(
        Clip(pts=VARIABLE, time_base=Fraction(1, 15360)), "mp4", {"codec": "mpeg4"}, id="mpeg4"
    ),
]


def source_of(folder: Path, clip: Clip) -> Path:
    return clips.make(folder / f"in.{'mkv' if clip.codec == 'ffv1' else 'mp4'}", clip)


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    """A clip with sound, text, chapters and tags; 50 frames."""
    return clips.make_rich(tmp_path / "in.mp4")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return clips.make(tmp_path / "in.mp4", Clip(pts=PTS))


@pytest.mark.parametrize(("clip", "suffix", "options"), KINDS)
def test_a_run_that_goes_on_makes_what_one_run_makes(
    tmp_path: Path, clip: Clip, suffix: str, options: dict[str, Any]
) -> None:
    source = source_of(tmp_path, clip)
    whole = chunked.job_of(source, tmp_path / f"whole.{suffix}")
    chunked.run(whole, chunked.encoder(**options))
    job = chunked.job_of(source, tmp_path / f"out.{suffix}")
    first = chunked.run(job, chunked.encoder(**options), stop_after=24)
    assert (first.complete, first.playable, first.frames) == (False, True, 24)
    assert chunked.kept_frames(job) in (20, 21)  # chunks of 10 frames, or 7 where they come slower
    second = chunked.run(chunked.go_on(job), chunked.encoder(**options))
    assert (second.complete, second.frames) == (True, 35)
    assert chunked.content(Path(job.spec.output)) == chunked.content(Path(whole.spec.output))
    assert len(clips.times(Path(job.spec.output))) == 35
    assert not list(tmp_path.glob("*.parts"))
    assert not list(tmp_path.glob("*.partial.*"))


@pytest.mark.parametrize("clip", [KINDS[0].values[0], KINDS[3].values[0], KINDS[4].values[0]])
def test_time_stamps_are_the_inputs_own(tmp_path: Path, clip: Clip) -> None:
    source = source_of(tmp_path, clip)
    job = chunked.job_of(source, tmp_path / "out.mp4")
    chunked.run(job, stop_after=12)
    chunked.run(chunked.go_on(job))
    assert clips.times(tmp_path / "out.mp4") == clips.times(source)


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_sound_text_chapters_and_tags_are_those_of_one_run(
    tmp_path: Path, rich: Path, suffix: str
) -> None:
    whole, job = (chunked.job_of(rich, tmp_path / f"{name}.{suffix}") for name in ("whole", "out"))
    chunked.run(whole)
    chunked.run(job, stop_after=33)
    chunked.run(chunked.go_on(job))
    assert chunked.content(Path(job.spec.output)) == chunked.content(Path(whole.spec.output))
    with av.open(job.spec.output) as one, av.open(whole.spec.output) as other:
        assert one.metadata == other.metadata
        assert one.chapters() == other.chapters()
        assert [s.type for s in one.streams] == [s.type for s in other.streams]


@pytest.mark.parametrize("codec", ["libx264", "libx265", "libvpx-vp9", "libsvtav1", "mpeg4"])
@pytest.mark.parametrize("seconds", [0.1, 1.0])
def test_chunks_of_a_few_frames_or_one_are_whole(
    tmp_path: Path, codec: str, seconds: float
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(31)))  # one more than 10 x 3 or 1 x 30
    job = chunked.job_of(source, tmp_path / "out.mp4")
    assert chunked.run(job, chunked.encoder(codec=codec, chunk_seconds=seconds)).frames == 31
    assert clips.times(tmp_path / "out.mp4") == clips.times(source)


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_stopped_run_plays_to_its_last_frame(tmp_path: Path, plain: Path, suffix: str) -> None:
    job = chunked.job_of(plain, tmp_path / f"out.{suffix}")
    summary = chunked.run(job, stop_after=27)
    assert (summary.frames, playable(summary.path)) == (27, 27)
    assert [(c.start, c.stop) for c in found(Path(job.spec.parts))] == [(0, 10), (10, 20)]


@pytest.mark.slow
def test_a_kill_before_every_change_of_a_name_loses_nothing(tmp_path: Path, plain: Path) -> None:
    whole = chunked.job_of(plain, tmp_path / "whole.mp4")
    chunked.run(whole)
    truth = chunked.content(Path(whole.spec.output))
    strike, reached = 1, set()
    while True:
        folder = tmp_path / str(strike)
        folder.mkdir()
        job = chunked.job_of(plain, folder / "out.mp4")
        if not chunked.killed_at(job, strike):
            break
        reached.add(chunked.kept_frames(job))
        resumed = chunked.go_on(job, overwrite=True)  # in a window both names are the output's
        assert chunked.run(resumed).frames == 35
        assert chunked.content(folder / "out.mp4") == truth
        assert chunked.left(folder) == ["out.mp4"]
        strike += 1
    assert strike > 15
    assert reached >= {0, 10, 20, 30, 35}


def test_a_killed_run_leaves_a_file_that_plays(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    assert chunked.killed_at(job, 5, "os.rename")  # two for each chunk
    kept = chunked.kept_frames(job)
    assert kept == 20
    assert playable(partial_name(Path(job.spec.output))) >= 10


def test_a_sink_that_died_after_the_rename_says_that_it_had_finished(
    tmp_path: Path, plain: Path
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    first = chunked.encoder()
    summary = None

    def dies(self: Encode) -> None:
        """Nothing more comes of the first one."""

    first.close = dies.__get__(first)  # type: ignore[method-assign]
    summary = chunked.run(job, first)
    assert is_done(Path(job.spec.parts))
    second = chunked.encoder()
    second.begin(chunked.go_on(job))
    assert second.kept == Place(35, 37 * 512)
    again = second.finish(complete=True)
    assert (again.frames, again.path, again.size) == (summary.frames, summary.path, summary.size)
    second.close()
    assert chunked.left(tmp_path) == ["in.mp4", "out.mp4"]


def test_a_mark_of_another_file_is_not_believed(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    (tmp_path / "out.mp4").write_bytes(b"mine")
    mark = {"inode": 1, "size": 4, "pictures": 35, "stop": 35}
    (Path(job.spec.parts) / DONE).write_bytes(msgspec.json.encode(mark))
    with pytest.raises(OutputError, match="exists already"):
        chunked.run(chunked.go_on(job))
    assert (tmp_path / "out.mp4").read_bytes() == b"mine"
    assert chunked.kept_frames(job) == 20


def test_what_an_earlier_run_left_is_not_thrown_away(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    before = chunked.left(tmp_path)
    with pytest.raises(OutputError, match="has 20 frames of an earlier run") as refused:
        chunked.run(job)
    assert refused.value.cure == "--resume goes on with them, -y starts anew"
    assert chunked.left(tmp_path) == before


def test_starting_anew_takes_nothing_of_the_earlier_run(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, chunked.encoder(crf=40.0), stop_after=21)
    anew = chunked.job_of(plain, tmp_path / "out.mp4", overwrite=True)
    encode = chunked.encoder()
    encode.begin(anew)
    assert encode.kept == BEGINNING
    assert durable(Path(job.spec.parts)) == []
    encode.close()
    chunked.run(anew)
    whole = chunked.job_of(plain, tmp_path / "whole.mp4")
    chunked.run(whole)
    assert chunked.content(tmp_path / "out.mp4") == chunked.content(tmp_path / "whole.mp4")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"crf": 30.0}, r"encoder\.options\.crf=18, now 30"),
        ({"codec": "libx265"}, r"encoder\.name=libx264, now libx265"),
        ({"threads": 1}, r"encoder\.threads=2, now 1"),
        ({"chunk_seconds": 1.0}, r"grid=10, now 30"),
    ],
)
def test_parts_made_otherwise_are_refused_and_kept(
    tmp_path: Path, plain: Path, options: dict[str, Any], named: str
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(Refused, match=named):
        chunked.run(chunked.go_on(job), chunked.encoder(**options))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_another_input_under_the_same_name_is_refused(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    clips.make(plain, Clip(pts=PTS, options={"crf": "40"}))
    with pytest.raises(Refused, match="from another input"):
        chunked.run(chunked.go_on(chunked.job_of(plain, tmp_path / "out.mp4")))


def test_other_settings_of_any_stage_are_refused(tmp_path: Path, plain: Path) -> None:
    output = tmp_path / "out.mp4"
    job = chunked.job_of(plain, output, settings={"redact": {"style": "blur"}})
    chunked.run(job, stop_after=21)
    other = chunked.job_of(plain, output, settings={"redact": {"style": "solid"}})
    with pytest.raises(Refused, match=r"redact\.style=blur, now solid"):
        chunked.run(chunked.go_on(other))
    assert chunked.run(chunked.go_on(job)).frames == 35


def test_a_foreign_checkpoint_is_never_removed(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    parts = Path(job.spec.parts)
    parts.mkdir()
    (parts / "checkpoint.json").write_text('{"epoch": 7}')
    for one in (job, chunked.go_on(job)):
        with pytest.raises(Refused, match="no checkpoint"):
            chunked.run(one)
    assert chunked.left(tmp_path) == ["in.mp4", "out.mp4.parts", "out.mp4.parts/checkpoint.json"]


def test_a_chunk_that_was_damaged_is_named_and_made_again(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    path = Path(job.spec.parts) / durable(Path(job.spec.parts))[1].name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    summary = chunked.run(chunked.go_on(job))
    assert summary.frames == 35
    (warning,) = [text for text in summary.warnings if "000000010-000000020" in text]
    assert warning.endswith("is damaged: it and all after it are made again")


def test_more_cores_do_not_change_the_threads_of_what_was_begun(
    tmp_path: Path, plain: Path
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, chunked.encoder(threads=3), stop_after=21)
    on_another_machine = chunked.encoder(threads=0)
    assert chunked.run(chunked.go_on(job), on_another_machine).frames == 35


def test_the_same_frames_give_the_same_bytes(tmp_path: Path, plain: Path) -> None:
    made = []
    for name in ("a", "b"):
        job = chunked.job_of(plain, tmp_path / f"{name}.mp4")
        chunked.run(job, stop_after=30)
        made.append([(Path(job.spec.parts) / c.name).read_bytes() for c in durable(_parts(job))])
    assert len(made[0]) == 3
    assert made[0] == made[1]


@pytest.mark.parametrize("drop", [(0,), (9,), (10,), tuple(range(10, 20)), (34,), (29, 30)])
def test_frames_that_do_not_come_leave_the_grid_as_it_is(
    tmp_path: Path, plain: Path, drop: tuple[int, ...]
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=32, drop=drop)
    assert [c.start for c in durable(_parts(job))] == [0, 10, 20]
    assert chunked.run(chunked.go_on(job), drop=drop).frames == 35 - len(drop)
    truth = clips.times(plain)
    assert clips.times(tmp_path / "out.mp4") == [
        stamp for number, stamp in enumerate(truth) if number not in drop
    ]


def test_a_place_has_no_time_stamp_where_its_frame_was_dropped(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21, drop=(19,))
    encode = chunked.encoder()
    encode.begin(chunked.go_on(job))
    assert encode.kept == Place(20, None)
    encode.close()
    assert encode.kept == BEGINNING


@pytest.mark.parametrize("threads", [1, 6])
def test_what_is_known_of_frames_is_told_before_they_are_kept(
    tmp_path: Path, plain: Path, threads: int
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    told: list[tuple[int, int]] = []
    encode = chunked.encoder(threads=threads)

    def listen(begun: Encode) -> None:
        begun.before_keeping = lambda stop: told.append((stop, chunked.kept_frames(job)))

    chunked.run(job, encode, begun=listen)
    assert told == [(10, 0), (20, 10), (30, 20), (35, 30)]


def test_frames_that_come_twice_are_written_once(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=21)
    encode = chunked.encoder()
    pictures, decode, again, _ = clips.decoded(plain)
    video = again.media.video
    encode.begin(chunked.go_on(job))
    layout = clips.PictureLayout.of(video.pixel_format, video.width, video.height)
    for number, picture in enumerate(pictures):
        frame = clips.Frame(layout, clips.Memory(layout.nbytes), clips.Colour.from_tags(video))
        picture.fill(frame)
        encode.write(clips.token(picture, number), frame)
    assert encode.finish(complete=True).frames == 35
    encode.close()
    decode.end()


def test_deeper_reordering_in_a_later_chunk_begins_the_file_again(
    tmp_path: Path, plain: Path
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    options = {"codec": "libx265"}  # tells of its reordering only by what it gives
    first_is_short = tuple(range(1, 10))
    chunked.run(job, chunked.encoder(**options), drop=first_is_short)
    truth = clips.times(plain)
    assert clips.times(tmp_path / "out.mp4") == [truth[0], *truth[10:]]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_a_range_starts_at_zero_with_its_own_sound(tmp_path: Path, rich: Path, suffix: str) -> None:
    job = chunked.job_of(rich, tmp_path / f"out.{suffix}", start=20, stop=45)
    chunked.run(job, stop_after=14)
    assert chunked.kept_frames(job) == 8
    assert chunked.run(chunked.go_on(job)).frames == 25
    times = clips.times(tmp_path / f"out.{suffix}")
    first = times[0] if suffix == "ts" else 0
    assert [stamp - first for stamp in times] == [Fraction(n, 25) for n in range(25)]
    assert suffix == "ts" or times[0] == 0
    with av.open(str(tmp_path / f"out.{suffix}")) as container:
        sound = container.streams.audio[0]
        stamps = [p.pts * p.time_base for p in container.demux(sound) if p.size]
    assert 0 <= stamps[0] - first < Fraction(1, 10)
    assert Fraction(9, 10) < stamps[-1] - first < 1


SPANS = [(0, 12), (12, 30), (30, 35)]


def test_chunks_made_alone_are_joined_to_what_they_would_be_in_one(
    tmp_path: Path, plain: Path
) -> None:
    for start, stop in reversed(SPANS):
        job = chunked.job_of(plain, tmp_path / "out.mp4", start=start, stop=stop, chunk=True)
        summary = chunked.run(job)
        assert summary.frames == stop - start
        assert chunked.run(job) == summary  # it is there already
    assert {path.suffix for path in _parts(job).iterdir()} == {".nut", ".json"}
    whole = chunked.job_of(plain, tmp_path / "out.mp4")
    summary = chunked.encoder().join(whole, SPANS)
    assert (summary.frames, summary.path) == (35, str(tmp_path / "out.mp4"))
    assert clips.times(tmp_path / "out.mp4") == clips.times(plain)
    assert len(found(_parts(job))) == 3


def test_a_chunk_that_is_there_has_nothing_left_to_do(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", start=12, stop=30, chunk=True)
    chunked.run(job)
    encode = chunked.encoder()
    encode.begin(job)
    assert encode.kept == Place(18, 32 * 512)
    assert encode.finish(complete=True).frames == 18
    encode.close()


def test_a_chunk_that_was_stopped_leaves_nothing(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", start=12, stop=30, chunk=True)
    summary = chunked.run(job, stop_after=4)
    assert (summary.complete, summary.frames) == (False, 0)
    assert chunked.left(tmp_path) == ["in.mp4", "out.mp4.parts", "out.mp4.parts/checkpoint.json"]


@pytest.mark.parametrize(
    ("made", "asked", "named"),
    [
        ([(0, 12), (30, 35)], None, "missing.*: 12-30"),
        ([(0, 12), (12, 30)], SPANS, "missing.*: 30-35"),
        ([(12, 30)], None, "missing.*: 0-12"),
        ([], None, "missing.*: all"),
        ([(0, 12), (10, 35)], None, "two chunks .* have frame 10"),
    ],
)
def test_chunks_that_do_not_make_a_whole_are_named(
    tmp_path: Path,
    plain: Path,
    made: list[tuple[int, int]],
    asked: list[tuple[int, int]] | None,
    named: str,
) -> None:
    for start, stop in made:
        chunked.run(chunked.job_of(plain, tmp_path / "out.mp4", start=start, stop=stop, chunk=True))
    with pytest.raises(Refused, match=named):
        chunked.encoder().join(chunked.job_of(plain, tmp_path / "out.mp4"), asked)
    assert not list(tmp_path.glob("out*.mp4"))


def test_a_chunk_of_other_settings_is_named(tmp_path: Path, plain: Path) -> None:
    for start, stop in SPANS:
        job = chunked.job_of(plain, tmp_path / "out.mp4", start=start, stop=stop, chunk=True)
        chunked.run(job)
    strange = chunked.job_of(plain, tmp_path / "b.mp4", start=12, stop=30, chunk=True)
    chunked.run(strange, chunked.encoder(crf=40.0))
    for path in _parts(strange).glob("0*"):
        path.replace(_parts(job) / path.name)
    with pytest.raises(Refused, match=r"000000012-000000030.*other settings"):
        chunked.encoder().join(chunked.job_of(plain, tmp_path / "out.mp4"), SPANS)
    with pytest.raises(Refused, match=r"crf=18, now 40"):
        chunked.run(job, chunked.encoder(crf=40.0))
    assert not list(tmp_path.glob("out*.mp4"))


def _parts(job: Any) -> Path:
    return Path(job.spec.parts)
