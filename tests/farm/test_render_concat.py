"""Chunks joined are what one run makes: the same pictures, time stamps and sound."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import clips
import numpy as np
import pytest
from clips import Clip
from farmed import make, make_chunk, make_whole, passthrough, planned
from runs import run_once

from mpflow.errors import (
    ConfigError,
    InputError,
    OutputError,
    Refused,
    Terminated,
    interruption,
)
from mpflow.farm.concat import Concat, concat
from mpflow.farm.draw import Drawn
from mpflow.farm.folder import chunks_in
from mpflow.farm.plan import Plan, load
from mpflow.farm.render import MADE, chunk_job, jobs
from mpflow.media.assembly import Assembly
from mpflow.media.chunks import Chunk

REORDERED = {"x264-params": "keyint=7:min-keyint=7:scenecut=0:bframes=3"}


def silent(suffix: str, **changes: Any) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        made = {"pts": range(14), "options": REORDERED, **changes}
        return clips.make(folder / f"in.{suffix}", Clip(**made))

    return build


def with_sound(suffix: str, **changes: Any) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        path = folder / f"in.{suffix}"
        clip = Clip(**{"pts": range(14), "options": REORDERED, **changes})
        with av.open(str(path), "w") as container:
            picture = clips.add_video(container, clip)
            sound = container.add_stream("aac" if suffix != "mpg" else "mp2", rate=48000)
            clips.fill_sound(container, sound, 1, blocks=22)
            clips.fill_video(container, picture, clip)
        return path

    return build


MPEG2 = {"codec": "mpeg2video", "options": {"g": "5", "bf": "2"}, "rate": 25}
KINDS = {
    "mp4": with_sound("mp4"),
    "mp4 without sound": silent("mp4"),
    "29.97": with_sound(
        "mp4",
        pts=[n * 1001 for n in range(14)],
        time_base=Fraction(1, 30000),
        rate=Fraction(30000, 1001),
    ),
    "variable rate": with_sound(
        "mkv",
        pts=[0, 40, 80, 81, 200, 233, 266, 300, 500, 510, 520, 900, 940, 980],
        time_base=Fraction(1, 1000),
    ),
    "ts": with_sound("ts"),
    "mpg": with_sound("mpg", time_base=Fraction(1, 25), **MPEG2),
    "10 bit": silent("mkv", pixel_format="yuv420p10le"),
}


def render_all(plan: Plan) -> None:
    """Every chunk, the last one first."""
    for number in reversed(range(len(plan.chunks))):
        make_chunk(plan, number)


def join(drawn: Drawn, **asked: Any) -> Any:
    return concat(drawn.plan, drawn.file, Concat(**asked), lambda text: None)


def assert_same(one: Path, other: Path) -> None:
    assert clips.times(one) == clips.times(other)
    for left, right in zip(clips.planes(one), clips.planes(other), strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)
    with av.open(str(one)) as container:
        sounds = [stream.index for stream in container.streams.audio]
    for index in sounds:
        assert clips.packets(one, index) == clips.packets(other, index)


def in_milliseconds(path: Path) -> list[int]:
    """Presentation times as Matroska keeps them."""
    return [round(time * 1000) for time in clips.times(path)]


@pytest.fixture
def drawn(tmp_path: Path) -> Drawn:
    """Fourteen frames in chunks of four."""
    return planned(KINDS["mp4"](tmp_path), tmp_path / "out.mkv", passthrough())


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_joined_are_what_one_run_makes(tmp_path: Path, kind: str) -> None:
    source = KINDS[kind](tmp_path)
    drawn = planned(source, tmp_path / "out.mkv", passthrough())
    assert [stop - start for start, stop in drawn.plan.chunks] == [4, 4, 4, 2]
    render_all(drawn.plan)
    assert join(drawn).frames == 14
    make_whole(source, tmp_path / "whole.mkv", passthrough())
    assert_same(tmp_path / "out.mkv", tmp_path / "whole.mkv")


@pytest.mark.parametrize("suffix", ["mp4", "mov", "ts"])
def test_every_container_gets_what_one_run_gives_it(tmp_path: Path, suffix: str) -> None:
    source = KINDS["29.97"](tmp_path)
    spec = passthrough(**{"encode.codec": "libx264", "encode.encoder_options": {"qp": "0"}})
    drawn = planned(source, tmp_path / f"out.{suffix}", spec, frames=5)
    render_all(drawn.plan)
    join(drawn)
    make_whole(source, tmp_path / f"whole.{suffix}", spec)
    assert_same(tmp_path / f"out.{suffix}", tmp_path / f"whole.{suffix}")


def test_a_range_is_what_one_run_makes_of_it(tmp_path: Path) -> None:
    source = KINDS["mp4"](tmp_path)
    drawn = planned(source, tmp_path / "out.mkv", passthrough(), start=3, stop=12)
    assert drawn.plan.chunks == ((3, 7), (7, 11), (11, 12))
    render_all(drawn.plan)
    join(drawn)
    make_whole(source, tmp_path / "whole.mkv", passthrough(), start=3, stop=12)
    assert_same(tmp_path / "out.mkv", tmp_path / "whole.mkv")
    assert clips.times(tmp_path / "out.mkv")[0] == 0


def test_ten_frames_in_chunks_of_four_have_no_frame_beyond_and_none_twice(
    tmp_path: Path,
) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(10)))
    drawn = planned(source, tmp_path / "out.mkv", passthrough())
    assert drawn.plan.chunks == ((0, 4), (4, 8), (8, 10))
    counts = [make_chunk(drawn.plan, number).frames for number in range(3)]
    assert counts == [4, 4, 2]
    assert join(drawn).frames == 10
    assert in_milliseconds(tmp_path / "out.mkv") == in_milliseconds(source)
    for ours, theirs in zip(clips.planes(tmp_path / "out.mkv"), clips.planes(source), strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])


def test_one_frame_a_chunk_and_one_chunk_for_all_both_go(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "in.mp4", Clip(pts=range(3)))
    for frames, name in ((1, "single.mkv"), (100, "all.mkv")):
        drawn = planned(source, tmp_path / name, passthrough(), frames=frames)
        render_all(drawn.plan)
        join(drawn)
    assert_same(tmp_path / "single.mkv", tmp_path / "all.mkv")


def test_a_chunk_that_is_made_is_skipped_the_others_are_not(drawn: Drawn) -> None:
    make_chunk(drawn.plan, 2)
    skipped = [job.skipped for job in jobs(drawn.plan, [1, 2, 3], print)]
    assert skipped == ["", MADE, ""]


def test_a_chunk_made_twice_counts_once(drawn: Drawn) -> None:
    render_all(drawn.plan)
    before = {path.name for path in Path(drawn.plan.parts).iterdir()}
    make_chunk(drawn.plan, 1)
    assert {path.name for path in Path(drawn.plan.parts).iterdir()} == before
    assert join(drawn).frames == 14


def test_a_run_whose_chunk_is_there_when_it_begins_has_nothing_to_do(drawn: Drawn) -> None:
    make_chunk(drawn.plan, 1)
    (chunk,) = Path(drawn.plan.parts).glob("*.nut")
    ledger = chunk.with_suffix(".ledger")
    ledger.write_text('{"start":0,"stop":4,"delivered":4}\n')
    before = chunk.stat().st_mtime_ns
    result = run_once(drawn.plan.pipeline, chunk_job(drawn.plan, 1))
    assert result.error is None
    assert (result.report.frames_written, result.report.complete) == (4, True)
    assert chunk.stat().st_mtime_ns == before


def test_an_unfinished_chunk_counts_as_nothing(drawn: Drawn) -> None:
    make(chunk_job(drawn.plan, 0), drawn.plan.pipeline, stop_after=2)
    assert chunks_in(drawn.plan).made == frozenset()
    assert drawn.plan.missing(chunks_in(drawn.plan).made) == [0, 1, 2, 3]
    make_chunk(drawn.plan, 0)
    assert chunks_in(drawn.plan).made == {(0, 4)}


def test_missing_chunks_are_all_named_with_the_command_that_makes_them(drawn: Drawn) -> None:
    make_chunk(drawn.plan, 1)
    with pytest.raises(Refused, match=r"chunks 0,2-3 .* are missing \(3 of 4\)") as caught:
        join(drawn)
    assert f"mpflow render {drawn.file} --chunks 0,2-3" in caught.value.cure
    assert not Path(drawn.plan.output).exists()


def test_a_damaged_chunk_is_missing_and_made_again(drawn: Drawn) -> None:
    render_all(drawn.plan)
    (chunk,) = Path(drawn.plan.parts).glob("000000004-000000008.nut")
    chunk.write_bytes(chunk.read_bytes()[:-10])
    with pytest.raises(Refused, match=r"chunk 1 .* is missing"):
        join(drawn)
    make_chunk(drawn.plan, 1)
    assert join(drawn).frames == 14


def test_a_foreign_chunk_is_named_and_made_again(drawn: Drawn, tmp_path: Path) -> None:
    render_all(drawn.plan)
    other = planned(
        Path(drawn.plan.input), tmp_path / "other.mkv", passthrough(**{"encode.threads": 2})
    )
    make_chunk(other.plan, 1)
    for path in Path(other.plan.parts).glob("000000004-*"):
        shutil.copy(path, drawn.plan.parts)
    with pytest.raises(Refused, match=r"other settings: 000000004-000000008\.nut") as caught:
        join(drawn)
    assert "--chunks 1" in caught.value.cure
    assert [job.skipped for job in jobs(drawn.plan, [1], print)] == [""]
    make_chunk(drawn.plan, 1)
    assert join(drawn).frames == 14


def test_an_input_that_changed_since_the_plan_is_refused(drawn: Drawn, tmp_path: Path) -> None:
    make_chunk(drawn.plan, 0)
    clips.make(Path(drawn.plan.input), Clip(pts=range(20), size=(32, 32)))
    for attempt in (lambda: jobs(drawn.plan, [1], print), lambda: join(drawn)):
        with pytest.raises(Refused, match="from another input") as caught:
            attempt()
        assert "plan -y" in caught.value.cure


def test_an_input_that_is_gone_asks_about_the_mount(drawn: Drawn) -> None:
    Path(drawn.plan.input).unlink()
    with pytest.raises(InputError) as caught:
        jobs(drawn.plan, [0], print)
    assert "mounted" in caught.value.cure


def test_parts_without_a_checkpoint_are_refused(drawn: Drawn) -> None:
    (Path(drawn.plan.parts) / "checkpoint.json").unlink()
    with pytest.raises(Refused, match="no checkpoint"):
        jobs(drawn.plan, [0], print)


def test_another_version_of_the_libraries_is_refused(drawn: Drawn) -> None:
    path = Path(drawn.plan.parts) / "checkpoint.json"
    stored = json.loads(path.read_text())
    stored["key"]["version.libavcodec"] = "1.2.3"
    path.write_text(json.dumps(stored))
    with pytest.raises(Refused, match=r"version\.libavcodec=1\.2\.3"):
        jobs(drawn.plan, [0], print)


def test_an_output_that_exists_is_not_overwritten_unasked(drawn: Drawn) -> None:
    render_all(drawn.plan)
    output = Path(drawn.plan.output)
    output.write_bytes(b"precious")
    with pytest.raises(OutputError, match="exists already"):
        join(drawn)
    assert output.read_bytes() == b"precious"
    assert join(drawn, overwrite=True).frames == 14


def test_joining_again_does_nothing_until_the_output_changes(drawn: Drawn) -> None:
    render_all(drawn.plan)
    join(drawn)
    output = Path(drawn.plan.output)
    before = output.stat()
    assert join(drawn) is None
    assert output.stat().st_mtime_ns == before.st_mtime_ns
    output.write_bytes(b"changed by hand")
    with pytest.raises(OutputError, match="exists already"):
        join(drawn)


def test_a_join_that_is_stopped_leaves_the_chunks_and_nothing_else(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render_all(drawn.plan)
    before = {path.name for path in tmp_path.iterdir()}

    def stopped(self: Assembly, path: Path, chunk: Chunk) -> None:
        raise interruption(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(Assembly, "append", stopped)
        with pytest.raises(Terminated):
            join(drawn)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert join(drawn).frames == 14


def test_parts_are_removed_only_when_asked_and_other_files_stay(drawn: Drawn) -> None:
    render_all(drawn.plan)
    join(drawn)
    parts = Path(drawn.plan.parts)
    assert len(list(parts.glob("*.nut"))) == 4
    note = parts / "notes.txt"
    note.write_text("mine")
    assert join(drawn, remove_parts=True) is None
    assert [path.name for path in parts.iterdir()] == ["notes.txt"]


def test_planning_the_same_again_keeps_the_chunks(drawn: Drawn) -> None:
    make_chunk(drawn.plan, 0)
    source, output = Path(drawn.plan.input), Path(drawn.plan.output)
    again = planned(source, output, passthrough(**{"encode.threads": 0}))
    assert again.repeated
    assert again.plan == drawn.plan
    assert chunks_in(again.plan).made == {(0, 4)}


def test_a_relative_plan_goes_on_where_its_share_is_mounted_elsewhere(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    drawn = planned(KINDS["mp4"](here), here / "out.mkv", passthrough(), relative=True)
    make_chunk(drawn.plan, 0)
    there = here.rename(tmp_path / "there")
    file = there / "out.mkv.parts" / "plan.json"
    plan = load(file)
    assert [job.skipped for job in jobs(plan, [0, 1], print)] == [MADE, ""]
    for number in (1, 2, 3):
        make_chunk(plan, number)
    assert concat(plan, file, Concat(), print) is not None
    assert len(clips.times(there / "out.mkv")) == 14


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"frames": 5}, "4 chunks of 4 frames, now 3 chunks of 5"),
        ({"stop": 8}, "its frames are 0-13, now 0-7"),
        (
            {"spec": passthrough(**{"encode.encoder_options": {"level": "3"}})},
            "level=nothing, now 3",
        ),
    ],
)
def test_another_plan_is_not_laid_over_one_unasked(
    drawn: Drawn, change: dict[str, Any], says: str
) -> None:
    make_chunk(drawn.plan, 0)
    source, output = Path(drawn.plan.input), Path(drawn.plan.output)
    asked = {"spec": passthrough(), **change}
    with pytest.raises(OutputError, match=says):
        planned(source, output, **asked)
    assert chunks_in(drawn.plan).made == {(0, 4)}
    fresh = planned(source, output, **asked, fresh=True)
    assert not fresh.repeated
    assert chunks_in(fresh.plan).made == frozenset()


@pytest.mark.parametrize(("start", "stop"), [(0, 15), (14, None), (20, 30)])
def test_an_impossible_range_names_the_frames_there_are(
    tmp_path: Path, start: int, stop: int | None
) -> None:
    source = KINDS["mp4"](tmp_path)
    with pytest.raises(ConfigError, match="14 frames"):
        planned(source, tmp_path / "out.mkv", passthrough(), start=start, stop=stop)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
