"""Files beside the output: ours are written anew, others are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpflow.errors import OutputError
from mpflow.jobs import Request, draw_plan
from mpflow.jobs.runreport import RunReport
from mpflow.tokenlines import token_line
from mpflow.tokens import Stamp, Token
from mpflow.trace import Trace

STAMP = Stamp("decode", 0, 1, 2, 3)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a film, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.mp4").write_bytes(b"a film")
    return tmp_path


def plan(overwrite: str = "ask", **files: str) -> None:
    draw_plan(Request(["in.mp4"], "out.mp4", "redact", overwrite, **files))


FOREIGN = [
    "a shopping list\n",
    "[1, 2]",
    '{"frame": "of a door"}',
    '{"frame":0,"pts":0,"time":0.0,"state":"live","faces":[]}',
]


@pytest.mark.parametrize("kind", ["tokens", "trace"])
@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("overwrite", ["ask", "no"])
def test_a_foreign_file_is_left_alone_unless_asked(kind: str, content: str, overwrite: str) -> None:
    Path("notes.txt").write_text(content)
    with pytest.raises(OutputError, match=rf"--{kind} 'notes\.txt' exists") as caught:
        plan(overwrite, **{kind: "notes.txt"})
    assert caught.value.cure == "choose another name; -y overwrites it"
    plan("yes", **{kind: "notes.txt"})


def test_a_foreign_file_in_a_folder_of_ours_is_left_alone() -> None:
    Path("t").mkdir()
    Path("t/out.mp4.tokens.jsonl").write_text("mine")
    with pytest.raises(OutputError, match=r"out\.mp4\.tokens\.jsonl' exists"):
        plan(tokens="t/")


def test_files_of_an_earlier_run_are_written_anew() -> None:
    Path("tokens").write_bytes(token_line(Token("job", 7, pts=3, time_base=(1, 30)), 0) + b"rest")
    trace = Trace(Path("trace"), 5)
    trace.note(0, 0, (STAMP,))
    trace.close()
    plan(tokens="tokens", trace="trace")


@pytest.mark.parametrize("begun", [b"", b"[\n"])
def test_a_file_that_nothing_came_into_may_be_written(begun: bytes) -> None:
    Path("trace").write_bytes(begun)
    Path("tokens").touch()
    plan(tokens="tokens", trace="trace")


def test_a_tokens_file_is_no_trace_and_a_trace_no_tokens_file() -> None:
    Path("tokens").write_bytes(token_line(Token("job", 0), 0))
    with pytest.raises(OutputError, match="exists"):
        plan(trace="tokens")


@pytest.mark.parametrize("content", FOREIGN)
def test_a_report_replaces_nothing_but_a_report(content: str) -> None:
    path = Path("report.json")
    path.write_text(content)
    with pytest.raises(OutputError, match=r"--report 'report\.json' exists") as caught:
        RunReport(path).check()
    assert caught.value.cure == "choose another name, or remove it"
    assert path.read_text() == content
    path.write_text('{\n  "format": 1,\n  "mpflow": "0.1",\n  "command": []\n}\n')
    RunReport(path).check()
    path.write_text("")
    RunReport(path).check()
