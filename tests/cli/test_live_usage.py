"""What `mpflow live` says of its ends and flags before anything is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

PRESET = """
description: a stream of numbers
live: true
stages:
  - stage: live_ends:Spring
  - stage: live_ends:Drain
"""


@pytest.fixture
def dry(invoke: Invoke, here: Path) -> Invoke:
    """A live run of synthetic ends that is only planned."""
    Path("mine.yaml").write_text(PRESET)
    Path("clip.mp4").write_bytes(b"not looked at")
    return lambda *words: invoke("live", "--preset", "mine.yaml", "--dry-run", *words)


@pytest.mark.parametrize(
    ("source", "status", "says"),
    [
        ("srt://host:9000", 3, "srt-live-transmit"),
        ("rtps://host/1", 3, "did you mean rtsp"),
        ("file:///clip.mp4", 3, "without file://"),
        ("udp://127.0.0.1", 3, "names no port"),
        ("rtsp:///1", 3, "names no host"),
        ("tcp://127.0.0.1:99999", 3, "is no URL"),
        ("gone.mp4", 3, "there is no file"),
        (".", 3, "is a folder"),
        ("-", 3, "standard input"),
        ("", 2, "is empty"),
        ("/dev/video99", 3, "there is no device"),
        ("v4l2:/dev/null", 3, "is no video device"),
    ],
)
def test_an_input_that_cannot_be_is_named_with_its_cure(
    dry: Invoke, source: str, status: int, says: str
) -> None:
    answer = dry("-i", source, "-o", "udp://127.0.0.1:5000")
    assert answer.exit_code == status, answer.output
    assert says in answer.stderr
    assert "cure: " in answer.stderr


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("srt://host:9000", "srt-live-transmit"),
        ("rtpm://host/app/key", "did you mean"),
        ("udp://127.0.0.1", "names no port"),
        ("gone/out.ts", "does not exist"),
        ("out", "which container"),
        (".", "is a folder"),
        ("/dev/video99", "there is no device"),
        ("v4l2:/dev/null", "is no video device"),
        ("clip.mp4", "both the input and the output"),
        ("./clip.mp4", "same file"),
        ("old.ts", "exists already"),
        ("", "there is no output"),
    ],
)
def test_an_output_that_cannot_be_is_named_with_its_cure(
    dry: Invoke, output: str, says: str
) -> None:
    Path("old.ts").write_bytes(b"precious")
    answer = dry("-i", "clip.mp4", "-o", output)
    assert answer.exit_code == 2, answer.output
    assert says in answer.stderr
    assert "cure: " in answer.stderr
    assert Path("old.ts").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--json", "-o", "-"], "standard output"),
        (["--preview", "look.gif"], "--preview"),
        (["--preview", "gone/look.png"], "the folder of 'gone/look.png' does not exist"),
        (["--listen"], "cannot be listened for"),
        (["--listen", "-i", "https://host/a"], "cannot be listened for"),
        (["--name", "a b/c"], "it takes text like front-door"),
        (["--retry", "soon"], "neither a number of seconds nor inf"),
        (["--preset", "redact"], "is not for live runs"),
        (["--crf", "20"], "has an option for --crf"),
        (["--listen", "--loop"], "has an option for --loop"),
        (["--max-latency", "0"], "max-latency"),
    ],
)
def test_a_flag_that_cannot_be_is_named(dry: Invoke, words: list[str], says: str) -> None:
    output = () if "-o" in words else ("-o", "-")
    answer = dry("-i", "clip.mp4", *output, *words)
    assert answer.exit_code == 2, answer.output
    assert says in answer.stderr


def test_flags_go_to_whichever_stage_has_the_option(dry: Invoke) -> None:
    answer = dry(
        *("-i", "tcp://:5000", "-o", "-", "--retry", "inf", "--insecure"),
        *("--listen", "--format", "nut", "--max-latency", "0.5", "--alert-p99", "300"),
        *("--name", "door", "--metrics", "127.0.0.1:9100", "--degrade", "never"),
        *("--ladder", "skip enhance", "--ladder", "detect.every=2"),
    )
    assert answer.exit_code == 0, answer.output
    rows = {line.split(" = ")[0].strip(): line for line in answer.output.splitlines()}
    for key, value, flag in [
        ("spring.retry", "inf", "--retry"),
        ("drain.retry", "inf", "--retry"),
        ("spring.insecure", "true", "--insecure"),
        ("spring.listen", "true", "--listen"),
        ("drain.format", "nut", "--format"),
        ("max_latency", "0.5", "--max-latency"),
        ("alert_p99", "300.0", "--alert-p99"),
        ("name", "door", "--name"),
        ("metrics", "127.0.0.1:9100", "--metrics"),
        ("degrade", "never", "--degrade"),
    ]:
        assert rows[key].split(" = ")[1].split() == [value, "#", "flag", flag]
    assert "skip enhance" in rows["ladder"]
    assert "flag" not in rows["drain.listen"]


def test_the_job_of_a_live_run_has_no_partial_name_and_hides_what_lets_somebody_in(
    dry: Invoke, here: Path
) -> None:
    answer = dry(
        *("-i", "rtsp://bob:s3cret@cam/1", "-o", "rtmp://host/app/k3y", "--preview", "look.png"),
        "--json",
    )
    assert answer.exit_code == 0, answer.output
    for word in ("bob", "s3cret", "k3y"):
        assert word not in answer.output
    (job,) = json.loads(answer.stdout)["jobs"]
    assert job["live"]
    assert (job["partial"], job["parts"]) == ("", "")
    assert job["preview"] == str(here / "look.png")


def test_an_output_file_is_replaced_when_that_is_asked_for(dry: Invoke) -> None:
    Path("old.ts").write_bytes(b"old")
    answer = dry("-i", "clip.mp4", "-o", "old.ts", "-y")
    assert answer.exit_code == 0, answer.output
    assert "overwritten" in answer.output


def test_the_cure_for_an_output_that_exists_is_one_that_there_is(dry: Invoke) -> None:
    Path("old.ts").write_bytes(b"old")
    answer = dry("-i", "clip.mp4", "-o", "old.ts")
    assert "cure: -y replaces it, or choose another name" in answer.stderr


def test_pictures_are_not_written_to_a_terminal(
    dry: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpflow.console.live_arguments.is_terminal", lambda: True)
    answer = dry("-i", "clip.mp4", "-o", "-")
    assert answer.exit_code == 2
    assert "standard output is a terminal" in answer.stderr


def test_standard_output_is_called_so_in_a_plan(dry: Invoke) -> None:
    assert "clip.mp4 -> standard output" in dry("-i", "clip.mp4", "-o", "-").output


def test_lines_of_a_stream_go_to_standard_output_only(invoke: Invoke, here: Path) -> None:
    Path("clip.mp4").write_bytes(b"not looked at")
    Path("faces.yaml").write_text(
        "live: true\nstages: [{stage: receive}, {stage: detect}, {stage: faces-json}]"
    )
    words = ("live", "-i", "clip.mp4", "--preset", "faces.yaml", "--dry-run")
    assert invoke(*words, "-o", "-").exit_code == 0
    answer = invoke(*words, "-o", "out.ts")
    assert answer.exit_code == 2
    assert "standard output only" in answer.stderr


def test_a_network_end_is_refused_under_offline(dry: Invoke) -> None:
    answer = dry("-i", "clip.mp4", "-o", "udp://127.0.0.1:5000", "--offline")
    assert answer.exit_code == 4
    assert "leave out --offline" in answer.stderr


def test_run_points_a_live_preset_to_live(invoke: Invoke, here: Path) -> None:
    Path("mine.yaml").write_text(PRESET)
    Path("clip.mp4").write_bytes(b"not looked at")
    answer = invoke("run", "clip.mp4", "-o", "out.mp4", "--preset", "mine.yaml", "--dry-run")
    assert answer.exit_code == 2
    assert "mpflow live" in answer.stderr


def test_run_takes_what_a_run_is_called_and_watched_by(invoke: Invoke, here: Path) -> None:
    Path("in.mp4").write_bytes(b"not looked at")
    words = ["--name", "film", "--metrics", "127.0.0.1:0", "--alert-p99", "250", "--degrade"]
    more = ["always", "--ladder", "detect.every=2", "--workers", "auto"]
    answer = invoke("run", "in.mp4", *words, *more, "--dry-run", "--json")
    values = {key: one["value"] for key, one in json.loads(answer.stdout)["values"].items()}
    assert (values["name"], values["degrade"], values["alert_p99"]) == ("film", "always", 250.0)
    assert values["ladder"] == ["detect.every=2"]
    assert values["detect.workers"] == "auto"


@pytest.mark.parametrize("count", ["0", "33", "many", "-1"])
def test_workers_are_a_number_or_auto(invoke: Invoke, here: Path, count: str) -> None:
    answer = invoke("run", "in.mp4", f"--workers={count}", "--dry-run")
    assert answer.exit_code == 2
    assert "neither auto nor a number" in answer.stderr
