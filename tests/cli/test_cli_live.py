"""Whole live runs from the command line, between a synthetic camera and a synthetic screen."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import stat
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest
from commands import LIMIT_S, Ran, command_line, environment

NAME = f"test-of-live-{os.getpid()}"
"""Runs of others may be going on at the same time."""

PRESET = """
description: numbered pictures by the clock
live: true
stages:
  - stage: live_traps:Camera
    options: {{frames: {frames}, fps: 100}}
  - stage: live_traps:Screen
"""
ENDLESS = 1_000_000


class Going:
    """A live run that is going on."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self._lines: IO[str] = process.stdout
        self.events: list[dict[str, Any]] = []

    def next(self, name: str) -> dict[str, Any]:
        """Wait for the next event of a kind."""
        for line in self._lines:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no {name} has come: {self.events} {self.process.communicate()}")

    def end(self) -> tuple[int, str]:
        """Wait for its end: the exit status, and what it said."""
        self.events += [json.loads(line) for line in self._lines]
        _, told = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, told


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input that is there, and a runtime folder of this test's own."""
    runtime = here / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    (here / "camera.ts").touch()
    return here


def words(frames: int, *more: str) -> list[str]:
    Path("live.yaml").write_text(PRESET.format(frames=frames))
    ends = ("live", "-i", "camera.ts", "-o", "out.ts", "--preset", "live.yaml", "--name", NAME)
    return command_line(*ends, *more)


@pytest.fixture
def going(place: Path) -> Iterator[Callable[..., Going]]:
    """Starts a live run without an end, which is seen off."""
    started: list[subprocess.Popen[str]] = []

    def start(*more: str) -> Going:
        process = subprocess.Popen(
            words(ENDLESS, "--json", *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        started.append(process)
        run = Going(process)
        run.next("progress")
        return run

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def mpflow(*more: str) -> Ran:
    done = subprocess.run(
        command_line(*more),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        env=environment(),
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def shown(folder: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in (folder / "out.ts").read_text().splitlines()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_a_stream_that_ends_is_status_0_with_an_account_of_every_frame(place: Path) -> None:
    done = subprocess.run(
        words(100, "--json", "--tokens", "tokens.jsonl"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["start", "end"]
    progress = [event for event in events if event["event"] == "progress"]
    for key in ("backlog", "age_p99", "mode", "level", "dropped", "missed", "degraded"):
        assert progress[-1][key] is not None or key == "age_p99"
    report = events[-2]["report"]
    ledger = report["ledger"]
    assert report["live"]
    assert ledger["frames"] + report["missed"] == 100
    assert ledger["frames"] == ledger["delivered"] + ledger["dropped"]
    assert len(shown(place)) == ledger["delivered"]
    assert shown(place) == sorted(shown(place))


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_ends_a_stream_in_order_and_tells_what_was_made(
    going: Callable[..., Going], place: Path, number: signal.Signals, status: int
) -> None:
    run = going()
    run.process.send_signal(number)
    done = run.next("done")
    code, told = run.end()
    assert code == status
    assert "stopped by" in told
    assert "partial" not in told
    assert done["report"]["frames_written"] == len(shown(place))
    assert done["error"]["cure"] == ""


def test_top_and_ctl_see_it_and_stop_ends_it_with_status_0(
    going: Callable[..., Going], place: Path
) -> None:
    run = going()
    listed = [json.loads(line) for line in mpflow("ctl", "--json").out.splitlines()]
    (ours,) = [one for one in listed if one.get("name") == NAME]
    assert (ours["live"], ours["answers"], ours["state"]) == (True, True, "running")
    seen = json.loads(mpflow("top", NAME, "--once", "--json").out)
    assert [stage["name"] for stage in seen["stages"]] == ["camera", "screen"]
    assert all(worker["memory"] > 0 for worker in seen["workers"])
    asked = mpflow("ctl", NAME, "mode", "single")
    assert asked.code == 0, asked.err
    asked = mpflow("ctl", NAME, "set", "camera.fps", "5")
    assert (asked.code, "cure: " in asked.err) == (2, True)
    assert mpflow("ctl", NAME, "stop").code == 0
    code, told = run.end()
    assert code == 0, told
    modes = {json.loads(line)["mode"] for line in Path("out.ts").read_text().splitlines()}
    assert "single-frame" in modes
    assert NAME not in mpflow("ctl").out


def test_a_preview_is_a_picture_for_its_owner_alone(
    going: Callable[..., Going], place: Path
) -> None:
    run = going("--preview", "looks.png")
    for more, name in (((), "looks.png"), (("here.jpg",), "here.jpg")):
        asked = mpflow("ctl", NAME, "preview", *more)
        assert asked.code == 0, asked.err
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o600
        assert (place / name).stat().st_size > 100
    run.process.terminate()
    assert run.end()[0] == 143


def test_metrics_and_health_are_served_while_it_goes_on(going: Callable[..., Going]) -> None:
    address = f"127.0.0.1:{free_port()}"
    run = going("--metrics", address, "--alert-p99", "500")
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT_S) as answer:
        assert b"mpflow_" in answer.read()
    with urllib.request.urlopen(f"http://{address}/health", timeout=LIMIT_S) as answer:
        assert answer.status == 200
    run.process.terminate()
    assert run.end()[0] == 143


def test_a_terminal_shows_how_old_frames_are_and_no_total(place: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words(ENDLESS),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**environment(), "TERM": "xterm", "COLUMNS": "150"},
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    while b"waiting" not in seen or b"p99" not in seen:
        seen += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # EIO: the last process that had the terminal is gone
            break
    assert process.wait(LIMIT_S) == 130
    assert b"camera.ts -> out.ts: " in seen
    assert b"stopped by SIGINT" in seen
    os.close(ours)
