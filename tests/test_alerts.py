"""An alert is a line, a count, and JSON for a command that nobody waits for."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mpflow import alertcommand
from mpflow.alertcommand import command_words
from mpflow.alerts import EVERY_S, MOST_KINDS, Alerts
from mpflow.diskwatch import LOOK_EVERY_S, DiskWatch, free_mib_in, is_news
from mpflow.errors import ConfigError


class Told:
    """The log."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, int]] = []

    def __call__(self, level: str, text: str, frame: int) -> None:
        self.lines.append((level, text, frame))


def writer(folder: Path, then: str = "") -> str:
    """A command that appends what it gets to a file, then does something more."""
    script = folder / "it's me.py"
    script.write_text(
        "import os, sys, time\n"
        "text = sys.stdin.read()\n"
        f"with open({str(folder / 'got')!r}, 'a') as got: got.write(text)\n"
        f"{then}\n"
    )
    return f'{sys.executable} "{script}"'


def got(folder: Path) -> list[dict[str, Any]]:
    path = folder / "got"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def alerts_with(command: str, told: Callable[[str, str, int], None]) -> Iterator[Alerts]:
    alerts = Alerts(command, "run-1", told)
    try:
        yield alerts
    finally:
        alerts.close()


def wait_until_idle(alerts: Alerts, now: float) -> None:
    """Tick, as the supervisor does, until no command runs."""
    commands = alerts._commands
    assert commands is not None
    for running in list(commands._running.values()):
        running.process.wait(60)
    alerts.tick(now)


def test_an_alert_is_a_line_a_count_and_json_for_the_command(tmp_path: Path) -> None:
    told = Told()
    with alerts_with(writer(tmp_path), told) as alerts:
        alerts.raise_(
            "quarantine", "frame 12 kills detect", job="1", stage="detect", frame=12, deaths=2
        )
        assert alerts.take_counts() == {"quarantine": 1}
        assert alerts.take_counts() == {}
    assert told.lines == [("warning", "alert: frame 12 kills detect", 12)]
    (alert,) = got(tmp_path)
    assert abs(alert.pop("time") - time.time()) < 3600
    assert alert == {
        "kind": "quarantine",
        "text": "frame 12 kills detect",
        "run": "run-1",
        "job": "1",
        "stage": "detect",
        "frame": 12,
        "deaths": 2,
        "suppressed": 0,
    }


def test_a_kind_comes_once_in_ten_seconds_and_then_the_latest_with_a_count(tmp_path: Path) -> None:
    told = Told()
    with alerts_with(writer(tmp_path), told) as alerts:
        for number in range(5):
            alerts.raise_("failures", f"failure {number}", now=100.0 + number)
        alerts.raise_("storm", "another kind", now=104.0)
        wait_until_idle(alerts, 105.0)
        assert sorted(alert["text"] for alert in got(tmp_path)) == ["another kind", "failure 0"]
        alerts.tick(100.0 + EVERY_S)
        wait_until_idle(alerts, 112.0)
    last = got(tmp_path)[-1]
    assert (last["text"], last["suppressed"]) == ("failure 4", 3)
    assert len(got(tmp_path)) == 3
    assert len(told.lines) == 6


def test_what_is_held_back_is_sent_at_the_end(tmp_path: Path) -> None:
    with alerts_with(writer(tmp_path), Told()) as alerts:
        alerts.raise_("failures", "the first", now=1.0)
        alerts.raise_("failures", "the last", now=2.0)
        wait_until_idle(alerts, 3.0)
    assert [alert["text"] for alert in got(tmp_path)] == ["the first", "the last"]


def test_a_command_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    told = Told()
    started = "import subprocess; subprocess.run(['sleep', '1000'])"
    with alerts_with(writer(tmp_path, started), told) as alerts:
        alerts.raise_("storm", "a storm", now=0.0)
        commands = alerts._commands
        assert commands is not None
        pid = commands._running["storm"].process.pid
        alerts.tick(alertcommand.LIMIT_S - 1)
        assert commands.runs("storm")
        alerts.tick(alertcommand.LIMIT_S)
        assert not commands.runs("storm")
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
    assert told.lines[-1][1] == "the command for alerts was killed: it ran for 30 s"


def test_a_command_that_hangs_at_the_end_is_killed_after_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alertcommand, "LEAVE_S", 0.0)
    with alerts_with("sleep 1000", Told()) as alerts:
        alerts.raise_("storm", "a storm")
        commands = alerts._commands
        assert commands is not None
        process = commands._running["storm"].process
    assert process.returncode == -9


def test_a_command_that_fails_is_told_of(tmp_path: Path) -> None:
    told = Told()
    with alerts_with(writer(tmp_path, "sys.exit(3)"), told) as alerts:
        alerts.raise_("storm", "a storm")
        wait_until_idle(alerts, time.monotonic())
    assert told.lines[-1][1] == "the command for alerts ended with exit code 3"


def test_a_command_that_does_not_read_is_not_waited_for() -> None:
    with alerts_with("true", Told()) as alerts:
        alerts.raise_("storm", "a storm", much="x" * 1_000_000)


@pytest.mark.parametrize(
    ("command", "says"),
    [("no-such-command-here -x", "no command 'no-such-command-here'"), ("sh -c 'x", "quotes")],
)
def test_a_command_that_cannot_be_run_is_wrong_usage(command: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Alerts(command, "run-1", Told())


def test_a_command_is_split_as_a_shell_would_and_run_without_one() -> None:
    assert command_words("sh -c 'echo \"$HOME\"; exit'") == ["sh", "-c", 'echo "$HOME"; exit']
    assert command_words("") == []


def test_one_failure_is_no_alert_and_three_in_a_minute_are() -> None:
    told = Told()
    with alerts_with("", told) as alerts:
        for now in (0, 70, 140, 150, 199, 206, 230, 265):
            alerts.failed("detect", "ValueError: a habit", job="1", frame=int(now), now=now)
        alerts.failed("redact", "ValueError", job="1", frame=1, now=265)
        assert alerts.take_counts() == {"failures": 2}
    assert [frame for _, _, frame in told.lines] == [199, 265]
    assert "stage detect has failed 5 times" in told.lines[0][1]
    assert "ValueError: a habit" in told.lines[0][1]


@pytest.mark.parametrize(
    ("free", "told", "news"),
    [
        (600, False, False),
        (400, False, True),
        (400, True, False),
        (550, True, False),
        (700, True, None),
    ],
)
def test_little_disk_is_news_until_there_is_clearly_more(
    free: float, told: bool, news: bool | None
) -> None:
    assert is_news(free, 512, told=told) is news


def test_the_disk_is_looked_at_now_and_then(tmp_path: Path) -> None:
    told = Told()
    with alerts_with("", told) as alerts:
        alerts.watch_disk(tmp_path, 1 << 40)
        alerts.tick(0.0)
        alerts.tick(LOOK_EVERY_S)
        alerts.watch_disk(tmp_path / "missing", 1 << 40)
        alerts.tick(20.0)
        alerts.watch_disk(None, 1 << 40)
        alerts.watch_disk(tmp_path, 0)
        alerts.tick(40.0)
        assert alerts.take_counts() == {"low_disk": 1}
    assert str(tmp_path) in told.lines[0][1]


def test_little_disk_is_news_again_after_there_was_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([400.0, 300.0, 900.0, 100.0])
    monkeypatch.setattr("mpflow.diskwatch.free_mib_in", lambda folder: next(free))
    watch = DiskWatch(tmp_path, 512)
    said = [watch.look(now) for now in (0.0, 5.0, 10.0, 15.0)]
    assert [bool(text) for text in said] == [True, False, False, True]


def test_a_stage_that_names_ever_new_kinds_fills_no_memory(tmp_path: Path) -> None:
    with alerts_with("true", Told()) as alerts:
        for number in range(3 * MOST_KINDS):
            alerts.raise_(f"kind {number}", "a text", now=0.0)
        counts = alerts.take_counts()
        assert len(counts) == len(alerts._kinds) == MOST_KINDS + 1
        assert counts["other"] == 2 * MOST_KINDS


def test_an_alert_tells_nobody_what_lets_somebody_in(tmp_path: Path) -> None:
    told = Told()
    with alerts_with(writer(tmp_path), told) as alerts:
        alerts.raise_("reconnect", "'rtsp://bob:pw x@cam/1' is away", now=0.0)
        wait_until_idle(alerts, 0.0)
    assert got(tmp_path)[0]["text"] == "'rtsp://***@cam/1' is away"
    assert told.lines[0][1] == "alert: 'rtsp://***@cam/1' is away"


def test_a_file_system_without_room_of_its_own_is_never_full() -> None:
    assert free_mib_in(Path("/proc")) is None
