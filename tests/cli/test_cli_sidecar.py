"""Sidecars of real runs: alone, in batches, resumed, and joined from a farm's chunks."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import av
import psutil
from commands import LIMIT_S, Command, command_line, environment
from runs import family

from mpflow import RunSpec, run
from mpflow.spec import REDACTED

SMALL = ("--set", "detect.size=160x128", "--codec", "ffv1", "--encoder-option", "threads=1")


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def told(path: Path) -> dict[str, Any]:
    """A sidecar without the time it was written at."""
    return {key: value for key, value in read(path).items() if key != "time"}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_one_run_and_a_farm_tell_the_same(mpflow: Command, here: Path, short_clip: Path) -> None:
    assert mpflow("run", short_clip, "-o", "one.mkv", *SMALL).code == 0
    one = read(here / "one.mkv.mpflow.json")
    assert one["input"] == {"size": short_clip.stat().st_size, "sha256": sha256(short_clip)}
    assert one["output"]["sha256"] == sha256(here / "one.mkv")
    assert one["frames"]["written"] == one["frames"]["delivered"] == 30
    with av.open(str(here / "one.mkv")) as container:
        assert REDACTED in container.metadata.values()

    farm = ("plan", short_clip, "-o", "two.mkv", "--chunk-frames", "15", *SMALL)
    assert mpflow(*farm).code == 0
    assert mpflow("render", "two.mkv.parts/plan.json", "--chunks", "0-").code == 0
    assert not (here / "two.mkv.mpflow.json").exists()
    assert mpflow("concat", "two.mkv.parts/plan.json").code == 0
    two = told(here / "two.mkv.mpflow.json")
    assert two.pop("output")["sha256"] == sha256(here / "two.mkv")
    assert two == {
        key: value for key, value in told(here / "one.mkv.mpflow.json").items() if key != "output"
    }

    (here / "two.mkv.mpflow.json").unlink()
    assert mpflow("concat", "two.mkv.parts/plan.json").code == 0
    assert (here / "two.mkv.mpflow.json").exists()


def test_the_python_door_leaves_one_too(here: Path, short_clip: Path) -> None:
    small = {"detect.size": "160x128"}
    asked = RunSpec(input=short_clip, output=here / "out.mp4", set=small, stop=5)
    run(asked)
    assert read(here / "out.mp4.mpflow.json")["frames"]["written"] == 5


def test_each_output_of_a_batch_has_its_own_unless_none_is_wanted(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    (here / "in").mkdir()
    for name in ("a.mp4", "b.mp4"):
        (here / "in" / name).write_bytes(short_clip.read_bytes())
    assert mpflow("run", "in", "-o", "out", *SMALL[:2]).code == 0
    assert {path.name for path in (here / "out").iterdir()} == {
        "a.mp4", "a.mp4.mpflow.json", "b.mp4", "b.mp4.mpflow.json",
    }  # fmt: skip
    assert mpflow("run", "in", "-o", "out", "-y", "--no-sidecar", *SMALL[:2]).code == 0
    assert {path.name for path in (here / "out").iterdir()} == {"a.mp4", "b.mp4"}


def test_a_resumed_run_tells_the_same(here: Path, mpflow: Command, long_clip: Path) -> None:
    words = ("run", "-i", long_clip, "--frames", "0-149", *SMALL[:2])
    words = (*words, "--set", "encode.chunk_seconds=0.5", "--encoder-preset", "ultrafast")
    assert mpflow(*words, "-o", "whole.mkv").code == 0
    command = command_line(*words, "-o", "cut.mkv", "--json")
    with subprocess.Popen(
        command, cwd=here, stdout=subprocess.PIPE, text=True, env=environment()
    ) as cut_off:
        assert cut_off.stdout is not None
        for line in cut_off.stdout:
            if json.loads(line).get("frame", 0) >= 30:
                break
        everybody = family(cut_off.pid)
        cut_off.send_signal(signal.SIGKILL)
        cut_off.wait(LIMIT_S)
    psutil.wait_procs(everybody, timeout=LIMIT_S)
    assert not (here / "cut.mkv.mpflow.json").exists()
    assert mpflow(*words, "-o", "cut.mkv", "--resume", "-y").code == 0
    whole, cut = (told(here / f"{name}.mkv.mpflow.json") for name in ("whole", "cut"))
    assert cut == whole
