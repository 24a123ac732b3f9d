"""`mpflow ctl` finds the runs of this user, and asks one for something."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from steered import SteeredRun, going_on

from mpflow import control
from mpflow.console.namesake import warn_of_namesake
from mpflow.requests import Preview, Request, Set, SetMode, Skip, Stop, Unskip

Invoke = Callable[..., Result]


pytestmark = pytest.mark.usefixtures("place")


def test_without_a_run_nothing_is_listed_and_nothing_can_be_asked(invoke: Invoke) -> None:
    answer = invoke("ctl")
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "no run is going on" in answer.stderr
    for words in (["ctl", "door", "stats"], ["top"], ["top", "door"]):
        answer = invoke(*words)
        assert answer.exit_code == 2
        assert "cure: " in answer.stderr


def test_runs_are_listed_with_what_they_are_called(invoke: Invoke, door: SteeredRun) -> None:
    with going_on(SteeredRun(snapshot=None), "5cff0000"):
        lines = invoke("ctl").stdout.splitlines()
        told = [json.loads(line) for line in invoke("ctl", "--json").stdout.splitlines()]
    assert [line.split()[:2] for line in lines[:2]] == [["RUN", "NAME"], ["5c1f09ab", "door"]]
    assert "live, running" in lines[1]
    assert lines[2].split()[0] == "5cff0000"
    assert lines[2].split()[-3:-1] == ["starting", "0"]
    assert [one["run"] for one in told] == ["5c1f09ab", "5cff0000"]
    assert told[0]["pid"] == os.getpid()


def test_a_run_is_found_by_its_process_and_by_the_one_that_started_it(
    invoke: Invoke, door: SteeredRun
) -> None:
    for pid in (os.getpid(), os.getppid()):
        assert invoke("ctl", str(pid), "skip", "enhance").exit_code == 0
    assert door.asked == [Skip("enhance")] * 2


@pytest.mark.parametrize("word", ["door", "5c1f09ab", "5c1f"])
def test_a_run_is_found_by_name_by_id_and_by_its_beginning(
    invoke: Invoke, door: SteeredRun, word: str
) -> None:
    assert invoke("ctl", word, "skip", "enhance").exit_code == 0
    assert door.asked == [Skip("enhance")]


def test_a_word_that_could_mean_two_runs_is_refused_with_their_names(
    invoke: Invoke, door: SteeredRun
) -> None:
    with going_on(SteeredRun(), "5cff0000"):
        answer = invoke("ctl", "5c", "stop")
        assert answer.exit_code == 2
        assert "2 runs could be meant" in answer.stderr
        assert "door (5c1f09ab), 5cff0000" in answer.stderr
        assert invoke("ctl", "gate", "stop").exit_code == 2
    assert door.asked == []


@pytest.mark.parametrize(
    ("words", "request_", "says"),
    [
        (["set", "detect.every", "2"], Set("detect.every", "2"), "detect.every is 2 from now on"),
        (["set", "detect.score=-0.5"], Set("detect.score", "-0.5"), "from now on"),
        (["set", "detect.score", "-0.5"], Set("detect.score", "-0.5"), "from now on"),
        (["set", "max_latency", "0.5"], Set("max_latency", "0.5"), "from now on"),
        (["skip", "enhance"], Skip("enhance"), "skip is done"),
        (["unskip", "enhance"], Unskip("enhance"), "unskip is done"),
        (["mode", "single"], SetMode("single"), "done"),
        (["mode", "single-frame"], SetMode("single"), "done"),
        (["preview"], Preview(""), "/tmp/look.png"),
        (["stop"], Stop(), "stopping"),
    ],
)
def test_what_is_typed_becomes_a_request(
    invoke: Invoke, door: SteeredRun, words: list[str], request_: Request, says: str
) -> None:
    answer = invoke("ctl", "door", *words)
    assert answer.exit_code == 0, answer.output
    assert says in answer.stdout
    assert door.asked == [request_]


def test_a_preview_goes_below_the_folder_of_who_asks(
    invoke: Invoke, door: SteeredRun, here: Path
) -> None:
    answer = invoke("ctl", "door", "preview", "look.png", "--json")
    assert door.asked == [Preview(str(here / "look.png"))]
    assert json.loads(answer.stdout)["path"] == str(here / "look.png")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sett", "detect.every", "2"], "did you mean set"),
        (["set", "detect.every"], "set KEY VALUE"),
        (["set", "=2"], "set KEY VALUE"),
        (["set"], "set KEY VALUE"),
        (["set", "detect.evry", "2"], "did you mean detect.every?"),
        (["skip"], "skip STAGE"),
        (["mode", "fast"], "single, throughput, auto"),
        (["preview", "look.gif"], ".png or .jpg"),
        (["stop", "now"], "ctl RUN stop"),
    ],
)
def test_what_cannot_be_asked_for_says_how_it_is_written(
    invoke: Invoke, door: SteeredRun, words: list[str], says: str
) -> None:
    answer = invoke("ctl", "door", *words)
    assert answer.exit_code == 2, answer.output
    assert says in answer.stderr


def test_stats_are_a_text_or_the_snapshot_as_json(invoke: Invoke, door: SteeredRun) -> None:
    text = invoke("ctl", "door", "stats").stdout
    assert "detect is the limit" in text
    snapshot = json.loads(invoke("ctl", "door", "stats", "--json").stdout)["snapshot"]
    assert (snapshot["run"], snapshot["mode"]) == ("5c1f09ab", "single-frame")
    assert invoke("ctl", "door").stdout == text


def test_a_dead_run_is_neither_listed_nor_found(invoke: Invoke, place: Path) -> None:
    (place / "mpflow").mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(place / "mpflow" / "0dead000.sock"))
    assert invoke("ctl").stdout == ""
    assert invoke("ctl", "0dead000", "stop").exit_code == 2


def test_a_run_that_hangs_is_listed_as_one_that_does_not_answer(
    invoke: Invoke, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "HELLO_S", 0.1)
    monkeypatch.setattr(control.Control.ask, "__defaults__", (0.1,))
    (place / "mpflow").mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as mute:
        mute.bind(str(place / "mpflow" / "0aaaaaaa.sock"))
        mute.listen(4)
        assert "does not answer" in invoke("ctl").stdout
        answer = invoke("ctl", "0aaaaaaa", "stop")
    assert answer.exit_code == 1
    assert "does not answer" in answer.stderr


def test_a_namesake_is_told_before_a_run_begins(
    door: SteeredRun, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_namesake("gate")
    warn_of_namesake("")
    assert capsys.readouterr().err == ""
    warn_of_namesake("door")
    assert "another run is called door, too" in capsys.readouterr().err


def test_a_picture_is_not_asked_for_where_there_is_no_folder(
    invoke: Invoke, door: SteeredRun
) -> None:
    answer = invoke("ctl", "door", "preview", "/gone/look.png")
    assert answer.exit_code == 2
    assert "the folder of '/gone/look.png' does not exist" in answer.stderr
    assert "cure: create it" in answer.stderr
    assert door.asked == []
