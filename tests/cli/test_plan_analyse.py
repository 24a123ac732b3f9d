"""An input that is analysed once: its chunks have the tracks, and the pictures, of one run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import clips
import numpy as np
import pytest
import yaml
from clips import Clip
from commands import LIMIT_S, Ran, command_line, environment

from mpflow.errors import EXIT_REFUSED, EXIT_USAGE
from mpflow.farm.keep import read_analysed

FRAMES = 110
"""Long enough for two cuts in what is found; see walked_stages."""

STAGES = [
    {"stage": "decode"},
    {"stage": "walked_stages:Find"},
    {"stage": "track"},
    {"stage": "redact", "options": {"method": "solid"}},
    {"stage": "encode", "options": {"codec": "ffv1", "threads": 1}},
]


def mpflow(*words: str | Path) -> Ran:
    """Run a command as a process of its own that finds the stages of these tests."""
    done = subprocess.run(
        command_line(*words),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip, a preset that follows faces, and the output of one run."""
    made = tmp_path_factory.mktemp("analyse")
    clips.make(made / "in.mkv", Clip(size=(480, 270), pts=range(FRAMES)))
    (made / "follow.yaml").write_text(yaml.safe_dump({"stages": STAGES}))
    return made


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    ran = mpflow("run", "-i", folder / "in.mkv", "-o", folder / "one.mkv", *_preset(folder))
    assert ran.code == 0, ran.err
    return folder / "one.mkv"


def _preset(folder: Path) -> list[str]:
    return ["--preset", str(folder / "follow.yaml")]


def _plan(folder: Path, out: Path, *words: str) -> Ran:
    chunks = ["--chunk-frames", "27"]
    return mpflow("plan", folder / "in.mkv", "-o", out, *_preset(folder), *chunks, *words)


def test_the_chunks_of_an_analysed_plan_are_those_of_one_run(
    folder: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "many.mkv"
    planned = _plan(folder, out, "--analyse")
    assert (planned.code, planned.out) == (0, "5\n"), planned.err
    plan = tmp_path / "many.mkv.parts" / "plan.json"
    assert "110 frames" in planned.err
    again = _plan(folder, out, "--analyse")
    assert again.code == 0 and "110 frames" not in again.err
    tokens = tmp_path / "tokens"
    rendered = mpflow("render", plan, "--chunks", "0-", "--tokens", tokens)
    assert rendered.code == 0, rendered.err
    assert mpflow("concat", plan, "--remove-parts").code == 0
    assert not plan.parent.exists()
    pairs = zip(clips.planes(out), clips.planes(whole), strict=True)
    for number, (here, there) in enumerate(pairs):
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True)), number
    lines = [json.loads(line) for file in tokens.iterdir() for line in file.open()]
    stages = {stamp["stage"] for line in lines for stamp in line["stamps"]}
    assert stages == {"decode", "track", "redact", "encode"}  # nothing was looked for again


def test_an_analysis_that_is_not_whole_or_not_as_written_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.mkv"
    assert _plan(folder, out, "--analyse", "--frames", "20-70").code == 0
    parts = tmp_path / "out.mkv.parts"
    log = parts / "000000047-000000071.analysis"
    log.write_bytes(log.read_bytes()[:-40])
    refused = mpflow("render", parts / "plan.json", "--chunks", "0-")
    assert refused.code == EXIT_REFUSED
    assert "chunk 1 is not what was written" in refused.err
    assert mpflow("render", parts / "plan.json", "--chunk", "0").code == 0
    (parts / "analysis.json").unlink()
    refused = mpflow("render", parts / "plan.json", "--chunks", "0-")
    assert refused.code == EXIT_REFUSED
    assert "is not whole" in refused.err
    assert _plan(folder, out, "--analyse", "--frames", "20-70").code == 0
    assert mpflow("render", parts / "plan.json", "--chunks", "0-").code == 0
    assert read_analysed(parts / "analysis.json").whole


def test_another_plan_is_told_from_an_analysed_one(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    assert _plan(folder, out).code == 0
    other = _plan(folder, out, "--analyse")
    assert other.code == EXIT_USAGE
    assert "it was made without --analyse, now with --analyse" in other.err


def test_a_preset_without_a_memory_has_nothing_to_analyse(folder: Path, tmp_path: Path) -> None:
    words = ["plan", folder / "in.mkv", "-o", tmp_path / "out.mkv", "--preset", "passthrough"]
    refused = mpflow(*words, "--analyse")
    assert refused.code == EXIT_USAGE
    assert "no stage that goes by what came before" in refused.err
