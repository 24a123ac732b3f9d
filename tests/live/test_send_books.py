"""What the books of a live run say of an output that nobody took, and how such a run ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from catchers import Catcher, free_port
from clips import Clip, make
from commands import command_line, environment

FRAMES = 40


@pytest.fixture
def silent() -> Iterator[str]:
    """Where somebody takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        yield f"rtmp://127.0.0.1:{server.getsockname()[1]}/live/key"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "in.mp4"
    make(path, Clip(pts=tuple(range(FRAMES))))
    return path


def live(*words: str | Path) -> subprocess.Popen[str]:
    """A live run that only passes pictures on; its messages are JSON lines."""
    fixed = ("--preset", "live-passthrough", "--set", "send.timeout=40", "--json")
    return subprocess.Popen(
        command_line("live", *fixed, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_frames_that_nobody_got_are_dropped_in_the_report_and_in_the_tokens(
    silent: str, clip: Path, tmp_path: Path
) -> None:
    report, tokens = tmp_path / "report.json", tmp_path / "tokens.jsonl"
    files = ("--report", report, "--tokens", tokens)
    with live("-i", clip, "-o", silent, *files) as run:
        run.communicate()
    assert run.returncode == 2  # not one frame was delivered
    ledger = json.loads(report.read_text())["jobs"][0]["report"]["ledger"]
    assert (ledger["delivered"], ledger["dropped"]) == (0, ledger["frames"])
    assert ledger["frames"] > 0
    told = [json.loads(line) for line in tokens.read_text().splitlines()]
    last = {line["frame"]: line["state"] for line in told}
    assert set(last.values()) == {"dropped"}
    assert len(last) == ledger["frames"]


def test_frames_under_way_in_a_connection_that_breaks_are_dropped(
    clip: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    port = free_port()
    where = f"tcp://127.0.0.1:{port}"
    with Catcher(f"{where}?listen=1", port) as catcher:
        words = ("-i", clip, "--loop", "-o", where, "--retry", "2", "--report", report)
        with live(*words) as run:
            assert run.stdout is not None
            for line in run.stdout:
                if (json.loads(line).get("frame") or 0) > FRAMES:
                    break
            catcher.kill()
            run.communicate()
    ledger = json.loads(report.read_text())["jobs"][0]["report"]["ledger"]
    assert run.returncode == 2
    assert ledger["delivered"] + ledger["dropped"] == ledger["frames"]
    assert any("broke before it arrived" in row["reason"] for row in ledger["rows"])


def test_a_run_that_is_stopped_ends_in_order_however_silent_the_other_end_is(
    silent: str, clip: Path
) -> None:
    words = ("-i", clip, "--loop", "-o", silent, "--log-level", "debug")
    with live(*words) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if json.loads(line)["event"] == "progress":
                break
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate()
    assert run.returncode == 143
    assert "SIGKILL" not in said
    assert "did not come to its end" not in said
