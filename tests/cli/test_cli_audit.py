"""The audit's command line: what is refused at once, and what it leaves when it has looked."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import av
import cv2
import numpy as np
import people
import pytest
from click.testing import Result
from commands import Command
from runs import nothing_left

from mpflow.models.store import ModelStore

Invoke = Callable[..., Result]


@pytest.fixture(scope="module")
def short(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty frames of a man who talks."""
    path = tmp_path_factory.mktemp("short") / "short.mp4"
    with av.open(str(model_store.path("carphone"))) as container:
        frames = list(islice(container.decode(video=0), 20))
    return people.film(path, (frame.to_ndarray(format="bgr24") for frame in frames))


@pytest.fixture
def two(here: Path, short: Path) -> tuple[str, str]:
    """A film with a face, and a copy of it."""
    for name in ("in.mp4", "out.mp4"):
        shutil.copy(short, name)
    return "in.mp4", "out.mp4"


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (["in.mp4"], 2, "missing argument"),
        (["nothing.mp4", "out.mp4"], 3, "there is no file 'nothing.mp4'"),
        (["in.mp4", "nothing.mp4"], 3, "there is no file 'nothing.mp4'"),
        (["in.mp4", "."], 3, "is a directory"),
        (["in.mp4", "text.mp4"], 3, "is not a media file"),
        (["in.mp4", "out.mp4", "--keep", ".", "--only", "."], 2, "contradict each other"),
        (["in.mp4", "out.mp4", "--keep", "nowhere"], 2, "there is no folder"),
        (["in.mp4", "out.mp4", "--frames", "9-3"], 2, "comes before the first"),
        (["in.mp4", "out.mp4", "--spans", "0:10-0:05"], 2, "ends before it begins"),
        (["in.mp4", "out.mp4", "--spans", "1:00-2:00"], 2, "is not within it"),
        (["in.mp4", "out.mp4", "--size", "100x100"], 2, "does not fit"),
        (["in.mp4", "out.mp4", "--sheet", "out.mp4"], 2, "name it out.png"),
        (["in.mp4", "out.mp4", "--sheet", "seen.jpg"], 2, "name it seen.png"),
        (["in.mp4", "out.mp4", "--sheet", "notes.txt"], 2, "does not end in .png"),
        (["in.mp4", "out.mp4", "--sheet", "anna.png"], 2, "no file of that kind"),
        (["in.mp4", "out.mp4", "--report", "notes.txt"], 2, "no file of that kind"),
        (["in.mp4", "out.mp4", "--report", "nowhere/r.json"], 2, "does not exist"),
        (["in.mp4", "out.mp4", "--score", "2"], 2, "not in the range"),
    ],
)
def test_what_cannot_be_audited_is_named_at_once(
    invoke: Invoke, two: tuple[str, str], words: list[str], status: int, what: str
) -> None:
    Path("notes.txt").write_text("mine")
    cv2.imwrite("anna.png", np.zeros((9, 9, 3), np.uint8))
    Path("text.mp4").write_text("no film")
    answer = invoke("audit", *words)
    assert answer.exit_code == status, answer.stderr
    assert what in answer.stderr
    assert Path("notes.txt").read_text() == "mine"


def test_a_gallery_without_anybody_is_refused_by_name(
    mpflow: Command, two: tuple[str, str]
) -> None:
    Path("people").mkdir()
    ran = mpflow("audit", *two, "--keep", "people")
    assert ran.code == 2, ran.err
    assert "people" in ran.err


def test_a_copy_ends_with_status_7_a_report_and_a_sheet(
    mpflow: Command, two: tuple[str, str], here: Path
) -> None:
    words = ("--frames", "0-19", "--every", "2")
    with nothing_left(here, but=["sheet.png", "report.json"]):
        ran = mpflow("audit", *two, *words, "--sheet", "sheet.png", "--report", "report.json")
    assert ran.code == 7, ran.err
    lines = ran.out.splitlines()
    assert lines[-1] == "FACES SHOW: 1 finding of 1 track"
    assert any("0-19" in line and "recognisable" in line for line in lines)
    assert any("the same file, byte for byte" in line for line in lines)
    report = json.loads(Path("report.json").read_text())
    assert report["exit_status"] == 7
    assert report["input"]["sha256"] == report["output"]["sha256"]
    assert [finding["frames"] for finding in report["findings"]] == ["0-19"]
    assert stat.S_IMODE(Path("sheet.png").stat().st_mode) == 0o600


def test_errors_and_reports_are_json_where_that_is_asked_for(
    invoke: Invoke, two: tuple[str, str]
) -> None:
    answer = invoke("audit", "in.mp4", "nothing.mp4", "--json")
    event = json.loads(answer.stdout)
    assert (event["event"], event["exit_status"]) == ("error", 3)
