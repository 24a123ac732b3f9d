"""Faces as JSON lines, to a file or to standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mpflow.errors import OutputError, Refused
from mpflow.frame import Frame, PictureLayout
from mpflow.spec import BEGINNING, JobSpec, MediaInfo, Place, VideoInfo
from mpflow.stage import Job, StageContext
from mpflow.stages.faces_json import FacesJson, FacesJsonOptions
from mpflow.tokens import Face, Token

VIDEO = VideoInfo(0, "h264", 64, 48, "yuv420p", "yuv420p", (1, 1000))
FACE = Face(
    (1.00049, 2.0, 11.0, 12.0),
    0.91234,
    ((3.0, 4.0), (5.0, 6.0)),
    track=7,
    identity="p0",
    pose=(-20.00049, 3.0, 0.5),
)


class NoLease:
    def view(self, *_: object) -> None:
        raise AssertionError("the sink looked at pixels")


def sink(output: str, **spec: Any) -> FacesJson:
    stage = FacesJson(FacesJsonOptions(), StageContext("faces_json"))
    source = Path(output).with_name("in.mp4")
    if output != "-":
        source.write_bytes(b"a film")
    stage.begin(
        Job(JobSpec("job", str(source), output, **spec), MediaInfo(str(source), "mov", VIDEO))
    )
    return stage


def frame() -> Frame:
    return Frame(PictureLayout.of("yuv420p", 64, 48), NoLease(), None)


def test_one_line_a_frame_with_time_box_points_and_score(tmp_path: Path) -> None:
    stage = sink(str(tmp_path / "faces.jsonl"))
    stage.write(Token("job", 0, pts=0, time_base=(1, 1000)), frame())
    stage.write(Token("job", 1, pts=40, time_base=(1, 1000), faces=(FACE,)), frame())
    summary = stage.finish(complete=True)
    lines = [json.loads(line) for line in (tmp_path / "faces.jsonl").read_text().splitlines()]
    assert lines[0] == {"frame": 0, "pts": 0, "time": 0.0, "state": "live", "faces": []}
    assert lines[1]["time"] == 0.04
    assert lines[1]["faces"] == [
        {
            "box": [1.0, 2.0, 11.0, 12.0],
            "score": 0.912,
            "points": [[3, 4], [5, 6]],
            "track": 7,
            "identity": "p0",
            "pose": [-20.0, 3.0, 0.5],
        }
    ]
    assert (summary.frames, summary.complete) == (2, True)
    assert summary.path == str(tmp_path / "faces.jsonl")


def test_unfinished_file_stays_under_its_partial_name(tmp_path: Path) -> None:
    stage = sink(str(tmp_path / "faces.jsonl"))
    stage.write(Token("job", 0), frame())
    assert not (tmp_path / "faces.jsonl").exists()
    summary = stage.finish(complete=False)
    assert summary.path == str(tmp_path / "faces.partial.jsonl")
    assert len(Path(summary.path).read_text().splitlines()) == 1
    assert not (tmp_path / "faces.jsonl").exists()


def test_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    stage = sink("-")
    stage.write(Token("job", 0, pts=5), frame())
    assert stage.finish(complete=True).path == "-"
    assert json.loads(capfdbinary.readouterr().out)["pts"] == 5


def test_existing_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "faces.jsonl").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        sink(str(tmp_path / "faces.jsonl"))


def written(stage: FacesJson, start: int, stop: int) -> None:
    for number in range(start, stop):
        stage.write(Token("job", number, pts=number * 40, time_base=(1, 1000)), frame())


def test_a_run_goes_on_behind_the_last_whole_line(tmp_path: Path) -> None:
    output = str(tmp_path / "faces.jsonl")
    first = sink(output)
    written(first, 0, 100)
    first.finish(complete=False)
    partial = tmp_path / "faces.partial.jsonl"
    partial.write_bytes(partial.read_bytes()[:-9])
    second = sink(output, resume=True)
    assert second.kept == Place(99, 98 * 40)
    written(second, 99, 130)
    summary = second.finish(complete=True)
    lines = (tmp_path / "faces.jsonl").read_text().splitlines()
    assert [json.loads(line)["frame"] for line in lines] == list(range(130))
    assert (summary.frames, summary.complete) == (130, True)
    second.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["faces.jsonl", "in.mp4"]


def test_lines_count_as_kept_only_after_it_was_told(tmp_path: Path) -> None:
    stage = sink(str(tmp_path / "faces.jsonl"))
    told: list[tuple[int, int]] = []
    partial = tmp_path / "faces.partial.jsonl"
    stage.before_keeping = lambda stop: told.append((stop, partial.read_bytes().count(b"\n")))
    written(stage, 0, 70)
    assert stage.kept == Place(64, 63 * 40)
    stage.finish(complete=True)
    assert told == [(64, 0), (70, 64)]
    stage.close()


def test_lines_of_an_earlier_run_are_not_thrown_away(tmp_path: Path) -> None:
    output = str(tmp_path / "faces.jsonl")
    first = sink(output)
    written(first, 0, 3)
    first.finish(complete=False)
    with pytest.raises(OutputError, match="3 frames of an earlier run"):
        sink(output)
    anew = sink(output, overwrite=True)
    assert anew.kept == BEGINNING
    anew.finish(complete=False)


@pytest.mark.parametrize("spec", [{}, {"overwrite": True}, {"resume": True}])
def test_a_run_beside_a_live_one_says_so_and_harms_nothing(
    tmp_path: Path, spec: dict[str, bool]
) -> None:
    output = str(tmp_path / "faces.jsonl")
    live = sink(output)
    written(live, 0, 70)
    key = (tmp_path / "faces.jsonl.parts" / "checkpoint.json").read_bytes()
    with pytest.raises(OutputError, match="another run is writing"):
        sink(output, **spec)
    assert (tmp_path / "faces.jsonl.parts" / "checkpoint.json").read_bytes() == key
    written(live, 70, 80)
    assert live.finish(complete=True).frames == 80
    assert len((tmp_path / "faces.jsonl").read_text().splitlines()) == 80
    live.close()


def test_lines_made_with_other_settings_are_refused(tmp_path: Path) -> None:
    output = str(tmp_path / "faces.jsonl")
    first = sink(output, settings={"detect": {"score": 0.5}})
    written(first, 0, 3)
    first.finish(complete=False)
    with pytest.raises(Refused, match=r"detect\.score=0\.5, now 0\.7"):
        sink(output, settings={"detect": {"score": 0.7}}, resume=True)
    assert len((tmp_path / "faces.partial.jsonl").read_bytes().splitlines()) == 3


def test_a_sink_that_died_behind_the_rename_says_that_it_had_finished(tmp_path: Path) -> None:
    output = str(tmp_path / "faces.jsonl")
    first = sink(output)
    written(first, 0, 3)
    summary = first.finish(complete=True)
    second = sink(output, resume=True)
    assert second.kept == Place(3, 80)
    assert second.finish(complete=True) == summary
    second.close()


def test_nobody_goes_on_with_standard_output() -> None:
    with pytest.raises(Refused, match="standard output"):
        sink("-", resume=True)
