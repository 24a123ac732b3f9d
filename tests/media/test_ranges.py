"""Ranges of frames: exactly those, in every kind of input, and no others in its chunks."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import clips
import numbered
import pytest
from clips import Clip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpflow.errors import ConfigError, InputError
from mpflow.media.passes import checked_index
from mpflow.media.probe import probe
from mpflow.media.ranges import Frames
from mpflow.media.span import span_of
from mpflow.spec import BEGINNING, JobSpec, Place
from mpflow.stage import Job, StageContext
from mpflow.stages.decode import Decode, DecodeOptions

ALL = {**numbered.KINDS, **numbered.COUNTED}


def numbers(path: Path, wanted: Frames, place: Place = BEGINNING) -> list[int]:
    """The numbers burnt into what a range gives."""
    reader = numbered.reader(path, wanted)
    try:
        return [numbered.number_of(picture) for picture in reader.pictures(place)]
    finally:
        reader.close()


@pytest.mark.parametrize("kind", ALL)
def test_frames_37_to_41_are_those_in_every_kind_of_input(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    linear = numbered.read(path)
    wanted = Frames(37, 42)
    assert numbered.read(path, wanted=wanted) == linear[37:42]
    assert numbered.read(path, Place(2), wanted) == linear[39:42]
    assert numbered.read(path, Place(2, linear[38][0]), wanted) == linear[39:42]
    assert numbered.read(path, Place(2, counted=True), wanted) == linear[39:42]
    assert numbered.read(path, Place(5), wanted) == []
    assert numbered.read(path, Place(5, linear[41][0]), wanted) == []


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts", "mpg", "mpeg2 ts", "avi with B-frames"])
def test_a_range_that_does_not_divide_has_no_frame_past_its_end_and_none_twice(
    tmp_path: Path, kind: str
) -> None:
    path = ALL[kind](tmp_path)
    chunks = [Frames(start, min(start + 4, 10)) for start in range(0, 10, 4)]
    assert [numbers(path, chunk) for chunk in chunks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize("kind", ["mp4", "ts", "mpg", "open gop ts", "mkv that starts before 0"])
def test_chunks_of_any_size_make_the_whole(tmp_path: Path, kind: str) -> None:
    path = ALL[kind](tmp_path)
    linear = numbered.read(path)
    for size in (7, 25, 59):
        parts: list[numbered.Row] = []
        for start in range(0, 60, size):
            parts += numbered.read(path, wanted=Frames(start, min(start + size, 60)))
        assert parts == linear


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts", "mpg"])
def test_chunks_of_a_damaged_input_share_no_frame_and_lose_none(
    tmp_path: Path, suffix: str
) -> None:
    options = {"g": "18", "bf": "2"}
    codec = "mpeg2video" if suffix == "mpg" else "libx264"
    clip = Clip(pts=range(120), options=options, codec=codec, **numbered.PAL)
    path = numbered.make(tmp_path / f"a.{suffix}", clip)
    data = bytearray(path.read_bytes())
    for share in (0.41, 0.66):
        at = int(len(data) * share)
        data[at : at + 80] = bytes(range(80))
    path.write_bytes(data)
    linear = numbered.read(path)
    frames = checked_index(str(path), probe(str(path))).frames
    parts: list[numbered.Row] = []
    for start in range(0, frames, 25):
        parts += numbered.read(path, wanted=Frames(start, min(start + 25, frames)))
    assert [stamp for stamp, *_ in parts] == [stamp for stamp, *_ in linear]


def test_a_range_says_how_many_frames_it_has(tmp_path: Path) -> None:
    path = numbered.KINDS["mkv"](tmp_path)
    for wanted, expected in ((Frames(10, 15), 5), (Frames(50), 10), (Frames(0, 60), 60)):
        reader = numbered.reader(path, wanted)
        assert len(list(reader)) == expected
        summary = reader.summary()
        assert (summary.frames, summary.expected, summary.damaged) == (expected, expected, 0)
        assert summary.warnings == ()
        reader.close()


def test_a_range_read_on_after_a_death_counts_each_frame_once(tmp_path: Path) -> None:
    path = numbered.KINDS["ts"](tmp_path)
    reader = numbered.reader(path, Frames(20, 50))
    pictures = reader.pictures()
    for _ in range(12):
        next(pictures)
    assert [numbered.number_of(p) for p in reader.pictures(Place(7))] == list(range(27, 50))
    assert reader.summary().frames == reader.summary().expected == 30


@pytest.mark.parametrize(
    ("start", "stop"), [(5, 5), (7, 3), (60, None), (80, 90), (-1, None), (0, 61), (-4, -2), (0, 0)]
)
@pytest.mark.parametrize("kind", ["mkv", "raw h264"])
def test_an_impossible_range_is_refused_and_the_frames_there_are_named(
    tmp_path: Path, kind: str, start: int, stop: int | None
) -> None:
    path = ALL[kind](tmp_path)
    stage = Decode(DecodeOptions(), StageContext("decode"))
    with pytest.raises(ConfigError, match="has 60 frames") as caught:
        stage.probe(JobSpec("job", str(path), start=start, stop=stop))
    assert caught.value.cure
    with pytest.raises(ConfigError, match="has 60 frames"):
        numbered.reader(path, Frames(start, stop))
    with pytest.raises(ConfigError, match="has 60 frames"):
        span_of(str(path), probe(str(path)), Frames(start, stop))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Frames(300, 311), "it does not have frames 300-310"),
        (Frames(60, 61), "it does not have frame 60"),
        (Frames(70), "it does not have frames 70-"),
        (Frames(5, 5), "it does not have frames from 5 up to 5"),
    ],
)
def test_a_range_is_named_as_it_was_typed(wanted: Frames, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        wanted.check("a.mp4", 60)
    assert caught.value.what == f"'a.mp4' has 60 frames, 0-59; {said}"
    with pytest.raises(ConfigError, match=r"1 frame, 0; it does not have frame 1 \(ask for some"):
        Frames(1, 2).check("a.mp4", 1)


def test_a_range_of_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    path = numbered.make(tmp_path / "a.mp4", Clip(pts=range(60), options={"g": "20", "bf": "0"}))
    reader = numbered.reader(path)
    next(reader.pictures(Place(59)))
    reader.close()
    data = path.read_bytes()
    found = clips.packets(path, 0)
    for _, _, payload in found[40:]:
        data = data.replace(payload, b"\0" * len(payload))
    path.write_bytes(data)
    with pytest.raises(InputError, match="no picture that can be read"):
        numbers(path, Frames(45, 50))


def test_the_decode_stage_gives_the_range_and_reads_on_in_it(tmp_path: Path) -> None:
    path = numbered.KINDS["open gop ts"](tmp_path)
    truth = numbered.read(path)
    busy: list[str] = []
    stage = Decode(DecodeOptions(), StageContext("decode", threads=2))
    spec = JobSpec("job", str(path), start=21, stop=34)
    job = Job(spec, stage.probe(spec))
    stage.begin(job)
    pictures = stage.pictures()
    assert [next(pictures).pts for _ in range(5)] == [stamp for stamp, *_ in truth[21:26]]
    after = truth[23][0]
    again = [picture.pts for picture in stage.pictures(Place(3, after))]
    assert again == [stamp for stamp, *_ in truth[24:34]]
    assert (stage.end().frames, busy) == (13, [])


@pytest.mark.parametrize("kind", ["mp4", "ts", "mkv", "avi with B-frames"])
def test_a_range_takes_the_time_from_its_first_frame_to_the_one_behind_its_last(
    tmp_path: Path, kind: str
) -> None:
    path = ALL[kind](tmp_path)
    media = probe(str(path))
    base = Fraction(*media.video.time_base)
    stamps = [(stamp or 0) * base for stamp, *_ in numbered.read(path)]
    for start, stop in ((0, 10), (37, 42), (59, 60), (12, None), (3, 4)):
        end = None if stop in (None, 60) else stamps[stop]
        assert span_of(str(path), media, Frames(start, stop)) == (stamps[start], end)


@pytest.fixture(scope="module")
def hard_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return numbered.KINDS["mpg"](tmp_path_factory.mktemp("hard"))


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cuts=st.sets(st.integers(1, 59), max_size=5))
def test_any_partition_gives_every_frame_once(hard_clip: Path, cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), 60]
    given_on: list[int] = []
    for start, stop in pairwise(edges):
        given_on += numbers(hard_clip, Frames(start, stop))
    assert given_on == list(range(60))
