"""The farm's commands as a farm manager calls them: output, exit status, kills, repetition."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from clips import planes, times
from commands import LIMIT_S, Command, command_line
from runs import nothing_left

Invoke = Callable[..., Result]

PASS = ("--preset", "passthrough", "--codec", "ffv1")
PLAN = Path("out.mkv.parts/plan.json")


MARK = """
from mpflow.stage import Stage

class Mark(Stage):
    def process(self, batch):
        for work in batch:
            yield work.token.with_field("marking.here", True)
"""


def make_plan(invoke: Invoke, source: Path, *words: str | Path) -> Result:
    answer = invoke("plan", source, "-o", "out.mkv", *PASS, *words)
    assert answer.exit_code == 0, answer.stderr
    return answer


def in_milliseconds(path: Path) -> list[int]:
    """Presentation times as Matroska keeps them."""
    return [round(time * 1000) for time in times(path)]


def chunk_files() -> list[str]:
    return sorted(path.name for path in PLAN.parent.glob("*.nut*"))


def test_plan_render_concat_make_the_video(
    invoke: Invoke, mpflow: Command, here: Path, short_clip: Path
) -> None:
    answer = make_plan(invoke, short_clip, "--chunk-frames", "12")
    assert answer.stdout == "3\n"
    assert "3 chunks of 12 frames, the last one 6, for frames 0-29" in answer.stderr
    with nothing_left(here):
        first = mpflow("render", PLAN, "--chunk", "2")
        rest = mpflow("render", PLAN, "--chunks", "0-")
    assert (first.code, first.out) == (0, "")
    assert "chunk 2 (frames 24-29): 6 frames in" in first.err
    assert rest.code == 0
    assert rest.err.splitlines()[-1] == "3 chunks: 2 done, 1 skipped"
    joined = mpflow("concat", PLAN)
    assert joined.code == 0, joined.err
    assert "out.mkv: 30 frames from 3 chunks" in joined.err
    assert in_milliseconds(here / "out.mkv") == in_milliseconds(short_clip)
    pairs = zip(planes(here / "out.mkv"), planes(short_clip), strict=True)
    assert all((ours[0] == theirs[0]).all() for ours, theirs in pairs)
    again = mpflow("concat", PLAN, "--remove-parts")
    assert again.code == 0
    assert "joined already" in again.err
    assert not PLAN.parent.exists()


def test_plan_as_json_has_what_a_submitter_needs(
    invoke: Invoke, here: Path, short_clip: Path
) -> None:
    data = json.loads(
        make_plan(invoke, short_clip, "--chunks", "4", "--frames", "10-19", "--json").stdout
    )
    assert data == {
        "event": "plan",
        "plan": str(here / PLAN),
        "input": str(short_clip),
        "output": str(here / "out.mkv"),
        "parts": str(here / PLAN.parent),
        "frames": "10-19",
        "chunks": 4,
        "ranges": ["10-11", "12-14", "15-16", "17-19"],
        "repeated": False,
    }
    again = make_plan(invoke, short_clip, "--chunks", "4", "--frames", "10-19", "--json")
    assert json.loads(again.stdout) == {**data, "repeated": True}


def test_render_as_json_names_the_chunk_and_skips_what_is_made(
    invoke: Invoke, mpflow: Command, here: Path, short_clip: Path
) -> None:
    make_plan(invoke, short_clip, "--chunk-frames", "10", "--relative")
    ran = mpflow("render", PLAN, "--frames", "10-19", "--json")
    assert ran.code == 0, ran.err
    (done,) = ran.events_called("done")
    assert (done["job"], done["status"], done["report"]["frames_written"]) == ("1", "done", 10)
    ran = mpflow("render", PLAN, "--chunk", "0001", "--json")
    (done,) = ran.events_called("done")
    assert (ran.code, done["status"], done["note"]) == (0, "skipped", "it is made already")
    assert ran.events[-1]["jobs"] == {"skipped": 1}


def test_files_of_a_render_are_named_after_their_chunks(
    invoke: Invoke, mpflow: Command, here: Path, short_clip: Path
) -> None:
    make_plan(invoke, short_clip, "--chunk-frames", "20")
    side = ("--tokens", "logs/", "--report", "report.json", "--log-file", "log.jsonl")
    (here / "logs").mkdir()
    ran = mpflow("render", PLAN, "--chunks", "0-1", *side)
    assert ran.code == 0, ran.err
    tokens = sorted((here / "logs").iterdir())
    assert [path.name for path in tokens] == [
        "out.mkv.chunk-000000.tokens.jsonl",
        "out.mkv.chunk-000001.tokens.jsonl",
    ]
    assert [len(path.read_text().splitlines()) for path in tokens] == [20, 10]
    report = json.loads((here / "report.json").read_text())
    assert [job["frames"] for job in report["jobs"]] == [
        {"start": 0, "stop": 20},
        {"start": 20, "stop": 30},
    ]


def test_a_preset_with_a_stage_of_ones_own_renders_from_anywhere(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    presets = here / "presets"
    presets.mkdir()
    (presets / "marking.py").write_text(MARK)
    stages = "[{stage: decode}, {stage: 'marking:Mark'}, {stage: encode}]"
    (presets / "mine.yaml").write_text(f"stages: {stages}\n")
    ran = mpflow("plan", short_clip, "-o", "out.mkv", "--preset", "presets/mine.yaml")
    assert (ran.code, ran.out) == (0, "1\n"), ran.err
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    command = command_line("render", here / PLAN, "--chunk", "0", "--tokens", "tokens.jsonl")
    done = subprocess.run(
        command, cwd=elsewhere, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "marking.here" in (elsewhere / "tokens.jsonl").read_text()


def test_a_killed_render_leaves_nothing_that_counts_and_can_be_repeated(
    invoke: Invoke, mpflow: Command, here: Path, long_clip: Path
) -> None:
    make_plan(invoke, long_clip, "--chunk-frames", "500", "--frames", "0-599")
    with nothing_left(here):
        render = subprocess.Popen(
            command_line("render", PLAN, "--chunk", "0", "--json"),
            cwd=here,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert render.stdout is not None
        for line in render.stdout:
            if json.loads(line).get("frame", 0) > 50:
                break
        os.killpg(render.pid, signal.SIGKILL)
        render.stdout.close()
        assert render.wait(LIMIT_S) == -signal.SIGKILL
    answer = invoke("concat", PLAN)
    assert answer.exit_code == 4
    assert "chunks 0-1 " in answer.stderr
    ran = mpflow("render", PLAN, "--chunks", "0-")
    assert ran.code == 0, ran.err
    assert [name for name in chunk_files() if name.endswith(".nut")] == [
        "000000000-000000500.nut",
        "000000500-000000600.nut",
    ]
    joined = mpflow("concat", PLAN, "--json")
    assert joined.code == 0, joined.err
    assert json.loads(joined.out)["ledger"]["delivered"] == 600
    assert in_milliseconds(here / "out.mkv") == [round(n * 1000 / 30) for n in range(600)]


def test_sigterm_ends_a_render_with_143_and_nothing_counts(
    invoke: Invoke, here: Path, long_clip: Path
) -> None:
    make_plan(invoke, long_clip, "--chunk-frames", "1000")
    with nothing_left(here):
        render = subprocess.Popen(
            command_line("render", PLAN, "--chunks", "0-1", "--json"),
            cwd=here,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert render.stdout is not None
        for line in render.stdout:
            if json.loads(line).get("frame", 0) > 50:
                break
        render.send_signal(signal.SIGTERM)
        rest, _ = render.communicate(timeout=LIMIT_S)
    assert render.returncode == 143
    ended = [json.loads(line) for line in rest.splitlines()]
    done = [event for event in ended if event["event"] == "done"]
    assert [event["status"] for event in done] == ["stopped", "not run"]
    assert "render it again" in done[0]["error"]["cure"]
    assert chunk_files() == []


def test_two_renders_of_one_chunk_do_not_clobber_each_other(
    invoke: Invoke, here: Path, short_clip: Path
) -> None:
    make_plan(invoke, short_clip, "--chunks", "1")
    command = command_line("render", PLAN, "--chunk", "0")
    both = [subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True) for _ in "ab"]
    errors = [render.communicate(timeout=LIMIT_S)[1] for render in both]
    assert [render.returncode for render in both] == [0, 0], errors
    assert chunk_files() == ["000000000-000000030.nut"]
    assert invoke("concat", PLAN).exit_code == 0
    assert in_milliseconds(here / "out.mkv") == in_milliseconds(short_clip)


def test_a_run_that_fails_leaves_a_farms_parts_alone(
    invoke: Invoke, mpflow: Command, short_clip: Path
) -> None:
    make_plan(invoke, short_clip, "--chunk-frames", "10")
    before = sorted(path.name for path in PLAN.parent.iterdir())
    Path("text.mp4").write_text("this is no video\n" * 100)
    assert mpflow("run", "text.mp4", "-o", "out.mkv", *PASS).code == 3
    assert sorted(path.name for path in PLAN.parent.iterdir()) == before


@pytest.mark.parametrize("words", [[], ["--resume"]])
def test_a_run_does_not_take_a_farms_parts_unasked(
    invoke: Invoke, mpflow: Command, short_clip: Path, words: list[str]
) -> None:
    make_plan(invoke, short_clip, "--chunk-frames", "10")
    assert mpflow("render", PLAN, "--chunks", "0-1").code == 0
    ran = mpflow("run", short_clip, "-o", "out.mkv", *PASS, *words)
    assert ran.code == 4, ran.err
    assert "is planned for a farm" in ran.err
    assert "-y without --resume removes them" in ran.err
    assert "000000010-000000020.nut" in chunk_files()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "which chunks?"),
        (["--chunk", "0", "--frames", "0-9"], "two ways"),
        (["--chunk", "3"], "numbered from 0 to 2"),
        (["--chunk", "-1"], "--chunk"),
        (["--chunk", ""], "--chunk"),
        (["--chunk", "abc"], "write for example --chunk 3"),
        (["--chunk", "0-3"], "--chunks 0-3,7 for several"),
        (["--chunks", "0,x"], "not a list"),
        (["--frames", "0-8"], "--frames 0-9 are whole chunks"),
        (["--frames", "20-35"], "--frames 20-29 are whole chunks"),
        (["--chunk", "0", "--workers", "2"], "--workers is about detect"),
        (["--chunk", "0", "--tokens", "gone/x.jsonl"], "does not exist"),
    ],
)
def test_wrong_wishes_of_render_are_status_2(
    invoke: Invoke, here: Path, short_clip: Path, words: list[str], says: str
) -> None:
    make_plan(invoke, short_clip, "--chunk-frames", "10")
    answer = invoke("render", PLAN, *words)
    assert answer.exit_code == 2
    assert says in answer.stderr
    assert "cure: " in answer.stderr
    assert chunk_files() == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", [["render", "--chunk", "0"], ["concat"]])
@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (None, 2, "there is no plan"),
        (b"{", 2, "damaged"),
        (b"{}", 2, "is no plan"),
        (b'{"kind": "mpflow plan", "format": 1, "mpflow": "0.0"}', 4, "was made by mpflow 0.0"),
    ],
)
def test_a_bad_plan_is_named(
    invoke: Invoke, command: list[str], content: bytes | None, code: int, says: str
) -> None:
    if content is not None:
        Path("plan.json").write_bytes(content)
    answer = invoke(*command, "plan.json")
    assert answer.exit_code == code
    assert says in answer.stderr
    assert "plan.json" in answer.stderr
    assert "cure: " in answer.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["gone.mp4", "-o", "out.mkv"], 3, "no file"),
        (["text.mp4", "-o", "out.mkv"], 3, "text.mp4"),
        (["https://host.example/x.mp4", "-o", "out.mkv"], 2, "a URL cannot be planned"),
        (["in.mp4", "-o", "out.mkv", "--chunks", "31"], 2, "give --chunks from 1 to 30"),
        (["in.mp4", "-o", "out.mkv", "--chunks", "0"], 2, "--chunks"),
        (["in.mp4", "-o", "out.mkv", "--chunk-seconds", "0"], 2, "--chunk-seconds"),
        (["in.mp4", "-o", "out.mkv", "--chunks", "3", "--chunk-frames", "3"], 2, "contradict"),
        (["in.mp4", "-o", "out.mkv", "--frames", "20-99"], 2, "30 frames"),
        (["in.mp4", "-o", "out.mkv", "--frames", "9-3"], 2, "--frames"),
        (["in.mp4", "text.mp4", "-o", "out/"], 2, "a plan is for one input"),
        (["in.mp4", "-o", "there.mkv"], 2, "exists already"),
        (["in.mp4", "-o", "in.mp4"], 2, "same file as input"),
        (["in.mp4", "-o", "faces.jsonl", "--preset", "detect-only"], 2, "made in chunks"),
        (["in.mp4", "-o", "out.mkv", "--plan", "gone/plan.json"], 2, "gone"),
        (["in.mp4", "-o", "out.mkv", "--set", "encode.codecc=x"], 2, "did you mean encode.codec"),
    ],
)
def test_what_cannot_be_planned_is_named_and_leaves_nothing(
    invoke: Invoke, short_clip: Path, words: list[str], code: int, says: str
) -> None:
    Path("in.mp4").write_bytes(short_clip.read_bytes())
    Path("text.mp4").write_text("this is no video\n" * 100)
    Path("there.mkv").write_bytes(b"precious")
    before = sorted(Path().iterdir())
    preset = () if "--preset" in words else PASS
    answer = invoke("plan", *words, *preset)
    assert answer.exit_code == code, answer.stderr
    assert says in answer.stderr
    assert "cure: " in answer.stderr
    assert sorted(Path().iterdir()) == before
    assert Path("there.mkv").read_bytes() == b"precious"


@pytest.mark.parametrize("command", ["plan", "render", "concat"])
def test_help_lists_every_exit_status(invoke: Invoke, command: str) -> None:
    text = invoke(command, "--help").output
    table = text[text.index("Exit status:") :]
    first = [line.split()[0] for line in table.splitlines()[1:] if line.split()]
    assert [int(word) for word in first if word.isdigit()] == [0, 1, 2, 3, 4, 5, 6, 130]
    assert "143 by SIGTERM" in table
