"""An input that is analysed once: its chunks have the tracks, and the pictures, of one run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import clips
import msgspec
import numpy as np
import pytest
import yaml
from clips import Clip
from commands import LIMIT_S, Ran, command_line, environment

from mpflow.errors import EXIT_USAGE, Refused
from mpflow.farm.analyse import require_logs
from mpflow.farm.plan import load

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


RANGE = ("--frames", "5-")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Path:
    """What one run makes of it."""
    ends = ["-i", folder / "in.mkv", "-o", folder / "one.mkv"]
    ran = mpflow("run", *ends, *_preset(folder), *RANGE)
    assert ran.code == 0, ran.err
    return folder / "one.mkv"


@pytest.fixture(scope="module")
def analysed(folder: Path) -> Path:
    """The folder of parts of a plan that was analysed."""
    planned = _plan(folder, folder / "many.mkv", "--analyse", *RANGE)
    assert (planned.code, planned.out) == (0, "4\n"), planned.err
    assert "105 frames" in planned.err
    return folder / "many.mkv.parts"


def _preset(folder: Path) -> list[str]:
    return ["--preset", str(folder / "follow.yaml")]


def _plan(folder: Path, out: Path, *words: str) -> Ran:
    chunks = ["--chunk-frames", "27"]
    return mpflow("plan", folder / "in.mkv", "-o", out, *_preset(folder), *chunks, *words)


def test_a_damaged_analysis_is_refused(analysed: Path, tmp_path: Path) -> None:
    parts = Path(shutil.copytree(analysed, tmp_path / "parts"))
    plan = msgspec.structs.replace(load(analysed / "plan.json"), parts=str(parts))
    require_logs(plan, range(4))
    log = parts / "000000032-000000059.analysis"
    log.write_bytes(log.read_bytes()[:-40])
    require_logs(plan, [0, 2, 3])
    with pytest.raises(Refused, match="chunk 1 is not what was written"):
        require_logs(plan, range(4))
    log.unlink()
    with pytest.raises(Refused, match="chunk 1 is not what was written"):
        require_logs(plan, range(4))
    (parts / "analysis.json").unlink()
    with pytest.raises(Refused, match="is not whole") as caught:
        require_logs(plan, [0])
    assert "plan --analyse" in caught.value.cure


def test_the_chunks_of_an_analysed_plan_are_those_of_one_run(
    folder: Path, whole: Path, analysed: Path, tmp_path: Path
) -> None:
    plan, tokens = analysed / "plan.json", tmp_path / "tokens"
    rendered = mpflow("render", plan, "--chunks", "0-", "--tokens", f"{tokens}/")
    assert rendered.code == 0, rendered.err
    again = _plan(folder, folder / "many.mkv", "--analyse", *RANGE)
    assert again.code == 0 and "105 frames" not in again.err  # it is analysed already
    assert mpflow("concat", plan, "--remove-parts").code == 0
    assert not analysed.exists()
    pairs = zip(clips.planes(folder / "many.mkv"), clips.planes(whole), strict=True)
    for number, (here, there) in enumerate(pairs):
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True)), number
    lines = "\n".join(file.read_text() for file in tokens.iterdir()).splitlines()
    stages = {stage["stage"] for line in lines if line for stage in json.loads(line)["stages"]}
    assert stages == {"decode", "track", "redact", "encode"}  # nothing was looked for again


def test_another_plan_is_told_from_an_analysed_one(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    one = _plan(folder, out)
    assert one.code == 0 and "each chunk follows faces for itself" in one.err
    other = _plan(folder, out, "--analyse")
    assert other.code == EXIT_USAGE
    assert "it was made without --analyse, now with --analyse" in other.err


def test_a_preset_without_a_memory_has_nothing_to_analyse(folder: Path, tmp_path: Path) -> None:
    words = ["plan", folder / "in.mkv", "-o", tmp_path / "out.mkv", "--preset", "passthrough"]
    refused = mpflow(*words, "--analyse")
    assert refused.code == EXIT_USAGE
    assert "no stage that goes by what came before" in refused.err
