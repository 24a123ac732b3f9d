"""Faces as JSON lines, to a file or to standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpflow.errors import OutputError
from mpflow.frame import Frame, PictureLayout
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job, StageContext
from mpflow.stages.faces_json import FacesJson, FacesJsonOptions
from mpflow.tokens import Face, Token

VIDEO = VideoInfo(0, "h264", 64, 48, "yuv420p", "yuv420p", (1, 1000))
FACE = Face((1.00049, 2.0, 11.0, 12.0), 0.91234, ((3.0, 4.0), (5.0, 6.0)), track=7)


class NoLease:
    def view(self, *_: object) -> None:
        raise AssertionError("the sink looked at pixels")


def sink(output: str) -> FacesJson:
    stage = FacesJson(FacesJsonOptions(), StageContext("faces_json"))
    source = Path(output).with_name("in.mp4")
    if output != "-":
        source.write_bytes(b"a film")
    stage.begin(Job(JobSpec("job", str(source), output), MediaInfo(str(source), "mov", VIDEO)))
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
        {"box": [1.0, 2.0, 11.0, 12.0], "score": 0.912, "points": [[3, 4], [5, 6]], "track": 7}
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
