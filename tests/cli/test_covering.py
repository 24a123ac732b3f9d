"""How faces are covered and when, as it is said on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from click.testing import Result
from commands import Command

Invoke = Callable[..., Result]


def planned(invoke: Invoke, *words: str) -> dict[str, Any]:
    """The values of a run that is only shown."""
    answer = invoke("run", "in.mp4", "-o", "out.mp4", "--dry-run", "--json", *words)
    assert answer.exit_code == 0, answer.output
    return {key: each["value"] for key, each in json.loads(answer.stdout)["values"].items()}


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--method", "mosaic"], {"method": "mosaic"}),
        (["--strength", "2"], {"strength": 2.0}),
        (["--shape", "box"], {"shape": "box"}),
        (["--cover-head"], {"region": "head"}),
        (["--no-cover-head"], {"region": "face"}),
        (["--spans", "1-2,f5-"], {"spans": "1-2,f5-"}),
        (["--shape", "mesh", "--cover-head"], {"shape": "mesh", "region": "head"}),
        (["--method", "mosaic", "--set", "redact.method=solid"], {"method": "solid"}),
    ],
)
def test_a_flag_is_a_key_of_the_stage_that_covers(
    here: Path, invoke: Invoke, words: list[str], values: dict[str, Any]
) -> None:
    (here / "in.mp4").touch()
    shown = planned(invoke, *words)
    assert {key: shown[f"redact.{key}"] for key in values} == values


def test_a_replacement_is_found_from_any_folder(here: Path, invoke: Invoke) -> None:
    (here / "in.mp4").touch()
    shown = planned(invoke, "--replacement", "mask.png")
    assert (shown["redact.method"], shown["redact.image"]) == ("image", str(here / "mask.png"))


def test_a_mesh_takes_the_preset_that_lays_one(here: Path, invoke: Invoke) -> None:
    (here / "in.mp4").touch()
    assert "landmarks.model" in planned(invoke, "--shape", "mesh")


@pytest.mark.parametrize(
    ("words", "says", "cure"),
    [
        (["--replacement", "a.png", "--method", "blur"], "contradict", "one of them"),
        (["--spans", ""], "--spans is empty", "0:05"),
        (["--spans", "2-1"], "the span '2-1' ends before it begins", "swap"),
        (["--spans", "1-2", "--preset", "passthrough"], "so --spans has no meaning", "redact"),
        (["--shape", "mesh", "--preset", "redact-except"], "needs meshes", "landmarks"),
        (["--method", "image"], "image", ""),
    ],
)
def test_flags_that_do_not_fit_are_wrong_usage(
    here: Path, invoke: Invoke, words: list[str], says: str, cure: str
) -> None:
    (here / "in.mp4").touch()
    answer = invoke("run", "in.mp4", *words)
    assert answer.exit_code == 2
    assert says in answer.output
    assert cure in answer.output
    assert [path.name for path in here.iterdir()] == ["in.mp4"]


def test_a_stream_is_not_asked_for_spans(invoke: Invoke) -> None:
    assert "--spans" not in invoke("live", "--help").output
    assert "--cover-head" in invoke("live", "--help").output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--spans", "0:30-0:40"], "1.00 s of picture; the span 0:30-0:40 is not within it"),
        (["--spans", "f0-f9,f30-f31"], "has 30 frames, f0-f29; the span f30-f31"),
        (["--replacement", "nothing.png"], "there is no picture"),
    ],
)
def test_what_the_input_or_the_disk_does_not_have_is_refused_before_a_frame(
    mpflow: Command, here: Path, short_clip: Path, words: list[str], says: str
) -> None:
    done = mpflow("run", "-i", short_clip, "-o", "out.mp4", *words)
    assert done.code == 2
    assert says in done.err
    assert not list(here.iterdir())


@pytest.mark.parametrize(("frames", "left"), [("0-29", 22), ("5-19", 10)])
def test_frames_outside_of_the_spans_are_as_they_were_and_counted(
    mpflow: Command, here: Path, short_clip: Path, frames: str, left: int
) -> None:
    """Spans count from the input's first frame, whichever frames are wanted."""
    words = ["-o", "out.mp4", "--spans", "f10-f14,0:00.9-", "--frames", frames]
    done = mpflow("run", "-i", short_clip, *words, "--report", "report.json")
    assert done.code == 0, done.err
    assert f"{left} frames outside of the spans left as they are" in done.err
    report = json.loads((here / "report.json").read_text())
    assert report["jobs"][0]["report"]["ledger"]["left"] == left


def test_a_plan_refuses_spans_that_the_input_does_not_have(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    done = mpflow("plan", "-i", short_clip, "-o", "out.mp4", "--spans", "f40-")
    assert (done.code, "f0-f29" in done.err) == (2, True), done.err
    assert not list(here.iterdir())


def test_a_plan_notes_where_a_picture_is(mpflow: Command, here: Path, short_clip: Path) -> None:
    (here / "mask.png").write_bytes(cv2.imencode(".png", np.full((9, 9), 90, np.uint8))[1])
    done = mpflow("plan", "-i", short_clip, "-o", "out.mp4", "--replacement", "mask.png")
    assert done.code == 0, done.err
    stages = json.loads((here / "out.mp4.parts" / "plan.json").read_text())["pipeline"]["stages"]
    (redact,) = [each for each in stages if each["name"] == "redact"]
    assert redact["options"]["image"] == str(here / "mask.png")
