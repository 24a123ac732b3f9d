"""What hurts users of farms, each fault by its small reproduction, with the real commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import av
import numbered
from clips import Clip
from commands import LIMIT_S, command_line
from runs import nothing_left


def numbers_in(path: Path) -> list[int]:
    """The numbers that the pictures of a numbered clip show, in order."""
    with av.open(str(path)) as container:
        return [numbered.number_of(picture) for picture in container.decode(video=0)]


def mpflow(folder: Path, *words: str) -> str:
    """Standard output of a command that succeeds."""
    done = subprocess.run(
        command_line(*words),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_chunks_end_never_overshoots_ten_frames_in_chunks_of_four(tmp_path: Path) -> None:
    numbered.make(tmp_path / "in.mp4", Clip(pts=range(10)))
    how = ("--preset", "passthrough", "--codec", "ffv1", "--chunk-frames", "4", "--json")
    plan = json.loads(mpflow(tmp_path, "plan", "in.mp4", "-o", "out.mkv", *how))
    assert plan["ranges"] == ["0-3", "4-7", "8-9"]
    with nothing_left(tmp_path, but=["out.mkv"]):
        lines = mpflow(tmp_path, "render", plan["plan"], "--chunks", "0-", "--json").splitlines()
        done = [event for event in map(json.loads, lines) if event["event"] == "done"]
        assert [event["report"]["frames_written"] for event in done] == [4, 4, 2]
        joined = json.loads(mpflow(tmp_path, "concat", plan["plan"], "--json"))
    assert joined["frames"] == joined["ledger"]["delivered"] == 10
    assert numbers_in(tmp_path / "out.mkv") == list(range(10))
