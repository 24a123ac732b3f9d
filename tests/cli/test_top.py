"""`mpflow top` shows a running pipeline from another shell, with and without a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from commands import LIMIT_S, command_line
from rich.console import Console
from snapshots import snapshot_of, spread, stage_view
from steered import SteeredRun, going_on

from mpflow.console.durations import clock, duration
from mpflow.console.top import is_enough
from mpflow.console.topview import screen
from mpflow.snapshot import Snapshot
from mpflow.tokens import Mode

Invoke = Callable[..., Result]


pytestmark = pytest.mark.usefixtures("place")


def drawn(snapshot: Snapshot | None, width: int = 132) -> list[str]:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(screen(snapshot))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_screen_has_the_header_every_stage_and_every_worker() -> None:
    lines = drawn(snapshot_of())
    text = "\n".join(lines)
    assert lines[0] == (
        "mpflow front door (5c1f09ab)  live-redact  live  running  up 0:12  pid 4711"
    )
    assert "300 frames  29.5/s  age p50 100 ms, p95 300 ms, p99 400 ms" in lines[1]
    assert "mode single-frame, level 1: detect.every=2 (backlog)" in lines[1]
    assert "dropped 7  missed 1  degraded 30  damaged 0  restarts 1  reconnects 2" in lines[2]
    assert "idle 58%  ring 5/16 in use" in lines[3]
    assert lines[4] == "detect is the limit"
    (stages, workers) = (text.index("STAGE"), text.index("WORKER "))
    assert 0 < stages < workers
    (detect,) = [line.split() for line in lines if line.startswith("detect  ")]
    assert detect == [
        *("detect", "1/2", "auto", "29.5", "3", "9", "250", "ms", "50%", "60%", "4.0"),
        *("10", "ms", "30", "ms", "40", "ms", "15", "ms", "2", "0"),
    ]
    (worker,) = [line.split() for line in lines if line.startswith("detect/0")]
    assert worker == [
        *("detect/0", "4242", "busy", "working", "120", "85%", "80%", "123.5", "MB", "4", "1"),
    ]


def test_a_file_run_says_how_many_frames_there_are_and_no_ladder() -> None:
    lines = drawn(
        snapshot_of(live=False, total=900, mode=Mode.THROUGHPUT, level=0, notes=(), reason="")
    )
    assert lines[1].startswith("300 of 900 frames")
    assert lines[1].endswith("mode throughput")


def test_trouble_is_told_and_a_run_that_is_starting_says_so() -> None:
    assert "trouble: no frame for 5 s" in drawn(snapshot_of(trouble="no frame for 5 s"))
    assert drawn(None) == ["the run is starting: no figures yet"]


def test_a_stage_that_has_done_nothing_has_no_times() -> None:
    idle = stage_view("detect", 0.0, service=spread(0, 0), waited=spread(0, 0), oldest=0.0)
    (line,) = [each for each in drawn(snapshot_of(stages=(idle,))) if each.startswith("detect  ")]
    assert line.split().count("-") == 5


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120])
def test_a_narrow_window_has_fewer_columns_but_whole_figures(width: int) -> None:
    lines = drawn(snapshot_of(), width)
    assert not any("\u2026" in line for line in lines)
    (titles,) = [line.split() for line in lines if line.startswith("STAGE")]
    (detect,) = [line for line in lines if line.startswith("detect  ")]
    assert {"STAGE", "RATE", "WAIT"} <= set(titles)
    assert "29.5" in detect
    assert any(line.startswith("WORKER ") and "STATE" in line for line in lines)


@pytest.mark.parametrize(("height", "shown"), [(12, False), (40, True)])
def test_a_low_window_says_that_it_does_not_show_the_workers(height: int, shown: bool) -> None:
    console = Console(width=132)
    options = console.options.update(height=height)
    rows = console.render_lines(screen(snapshot_of()), options, pad=False)
    text = "\n".join("".join(part.text for part in row) for row in rows[:height])
    assert ("WORKER " in text) is shown
    assert ("a higher window shows the workers" in text) is not shown


@pytest.mark.parametrize(
    ("keys", "leaves"), [(b"q", True), (b"xQ", True), (b"xy", False), (b"", True)]
)
def test_q_among_other_keys_leaves_and_so_does_the_end_of_the_terminal(
    keys: bytes, leaves: bool
) -> None:
    reading, writing = os.pipe()
    os.write(writing, keys)
    os.close(writing)
    assert is_enough(reading) is leaves
    os.close(reading)


def test_a_terminal_that_was_hung_up_leaves() -> None:
    ours, theirs = pty.openpty()
    os.close(ours)
    assert is_enough(theirs)
    os.close(theirs)


def test_no_sentence_is_broken_where_there_is_no_terminal(invoke: Invoke, door: SteeredRun) -> None:
    sentence = "word " * 60
    door.snapshot = snapshot_of(trouble=sentence.strip())
    assert f"trouble: {sentence.strip()}\n" in invoke("top", "door", "--once").stdout


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "-"), (0.0042, "4.2 ms"), (0.25, "250 ms"), (1.25, "1.25 s")]
)
def test_a_duration_is_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "0:05"), (65, "1:05"), (3600 + 61, "1:01:01"), (90000, "1 d 1 h")],
)
def test_a_clock_grows_with_the_time(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_once_is_one_text_and_json_one_snapshot_a_line(invoke: Invoke, door: SteeredRun) -> None:
    answer = invoke("top", "door", "--once")
    assert answer.exit_code == 0
    assert answer.stdout.count("STAGE") == 1
    (line,) = invoke("top", "--once", "--json").stdout.splitlines()
    assert json.loads(line)["workers"][0]["memory"] == 123456789


def test_it_goes_on_until_the_run_is_over(invoke: Invoke) -> None:
    with going_on(SteeredRun(lasts=4), "5c1f09ab", "door"):
        answer = invoke("top", "door", "--json", "--interval", "0.1")
    assert answer.exit_code == 0, answer.output
    assert 2 <= len(answer.stdout.splitlines()) <= 4
    assert "run door is over" in answer.stderr


def test_a_terminal_gets_a_screen_that_q_leaves(place: Path) -> None:
    name = f"screen-{os.getpid()}"  # other runs of the tester's are seen from a process of its own
    with going_on(SteeredRun(), f"{os.getpid():08x}", name):
        _watch_and_leave(name)


def _watch_and_leave(name: str) -> None:
    ours, theirs = pty.openpty()
    watcher = subprocess.Popen(
        command_line("top", name, "--interval", "0.2"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "132", "LINES": "40"},
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    while seen.count(b"detect is the limit") < 2:
        seen += os.read(ours, 65536)
    os.write(ours, b"q")
    assert watcher.wait(LIMIT_S) == 0
    assert b"\x1b[?1049h" in seen  # the alternate screen: what was there before comes back
    os.close(ours)
