"""How the command line ends when something is wrong: one voice, one status, one line of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from commands import LIMIT_S, Command, command_line

from mpflow.console import show
from mpflow.console.bar import Bar
from mpflow.console.show import Plain

Invoke = Callable[..., Result]

STAGE = """
import os, sys
from mpflow.stage import Options, Stage

class Trap(Stage[Options]):
    Options = Options

    def process(self, batch):
        for work in batch:
            if work.token.seq == 5:
                %s
            yield work.token
"""
PRESET = "stages: [{stage: decode}, {stage: 'trap_%s:Trap'}, {stage: encode}]"
RAISES = "raise ValueError('caught in the trap')"
DIES = "os.write(2, b'these are my last words\\n'); os._exit(7)"


@pytest.fixture
def trap(here: Path, short_clip: Path) -> Callable[..., list[str]]:
    """The words for a run through a stage of one's own that does something bad."""

    def words(name: str, habit: str) -> list[str]:
        (here / f"trap_{name}.py").write_text(STAGE % habit)
        (here / "mine.yaml").write_text(PRESET % name)
        return ["run", str(short_clip), "-o", "out.mp4", "--preset", "mine.yaml"]

    return words


@pytest.mark.parametrize("words", [["doctor"], ["models", "list"], ["run", "--help"], ["--help"]])
def test_a_reader_that_leaves_ends_the_command_quietly(here: Path, words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command_line(*words),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    ("words", "says", "helps"),
    [
        (["run", "--blur"], "--blur", "mpflow run --help"),
        (["run", "a.mp4", "--crf", "low"], "--crf", "mpflow run --help"),
        (["runn"], "runn", "mpflow --help"),
        (["models", "path"], "missing argument 'NAME'", "mpflow models path --help"),
    ],
)
def test_wrong_words_are_refused_in_the_same_voice_as_wrong_values(
    invoke: Invoke, words: list[str], says: str, helps: str
) -> None:
    answer = invoke(*words)
    assert answer.exit_code == 2
    first, second = answer.stderr.splitlines()
    assert first.startswith("mpflow: error: ")
    assert says in first
    assert second.startswith("  cure: ")
    assert helps in second


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_error_shows_no_password_of_a_url(invoke: Invoke, more: list[str]) -> None:
    answer = invoke("run", "in.mp4", "--preset", "http://me:secret@host/x", *more)
    assert answer.exit_code == 2
    assert "http://***@host/x" in answer.output
    assert "secret" not in answer.output


def test_a_group_without_a_command_shows_its_help(invoke: Invoke) -> None:
    answer = invoke("models")
    assert answer.exit_code == 2
    assert "Usage: " in answer.output
    assert "error" not in answer.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "--json"], "no input"),
        (["run", "in.mp4", "--json", "--crf", "low"], "--crf"),
        (["run", "in.mp4", "--json", "--set", "detect.scoore=1"], "scoore"),
        (["run", "in.mp4", "-o", "out", "--json"], "container"),
    ],
)
def test_errors_under_json_are_one_line_of_json_too(
    invoke: Invoke, here: Path, words: list[str], says: str
) -> None:
    (here / "in.mp4").touch()
    answer = invoke(*words)
    (line,) = answer.stdout.splitlines()
    event = json.loads(line)
    assert set(event) == {"event", "exit_status", "what", "cure"}
    assert (event["event"], event["exit_status"]) == ("error", answer.exit_code)
    assert says in event["what"]
    assert event["what"] in answer.stderr
    assert event["cure"] in answer.stderr


@pytest.mark.parametrize("more", [[], ["--log-level", "debug"]])
def test_a_failing_stage_shows_its_traceback_once(
    mpflow: Command, trap: Callable[..., list[str]], more: list[str]
) -> None:
    ran = mpflow(*trap("raises", RAISES), *more)
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert ran.err.count('trap_raises.py"') == 1


@pytest.mark.parametrize("more", [[], ["--log-level", "debug"]])
def test_a_dead_stage_shows_its_last_words_once(
    mpflow: Command, trap: Callable[..., list[str]], more: list[str]
) -> None:
    """The second to die on the same frame ends the run; of the first only the log tells."""
    ran = mpflow(*trap("dies", DIES), *more)
    assert ran.code == 1
    assert ran.err.count("these are my last words") == (2 if more else 1)


def test_a_long_traceback_is_shortened_without_debug(capsys: pytest.CaptureFixture[str]) -> None:
    from mpflow.console.text import show_error
    from mpflow.errors import InputError, InternalError

    error = InternalError("something")
    lines = [f"line {number} of http://me:secret@host/" for number in range(100)]
    error.remote_traceback = "\n".join(lines)
    show_error(error)
    told = capsys.readouterr().err
    assert "line 69 " not in told
    assert "line 70 " in told
    assert "line 99 " in told
    assert "secret" not in told
    show_error(error, debug=True)
    assert "line 0 " in capsys.readouterr().err
    wrong = InputError("not a video")
    wrong.remote_traceback = "Traceback"
    show_error(wrong)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("term", "kind"), [("dumb", Plain), ("xterm", Bar)])
def test_a_terminal_that_cannot_move_its_cursor_gets_no_bar(
    monkeypatch: pytest.MonkeyPatch, term: str, kind: type
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", term)
    assert isinstance(show.display_for(1, as_json=False, level=30), kind)
