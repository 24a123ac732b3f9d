"""Real runs of the command: what they say, what they leave, how they end."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import av
import pytest
from commands import LIMIT_S, Command, command_line
from runs import nothing_left

from mpflow.media.salvage import playable

PASS = ("--preset", "passthrough")


def frames_of(path: Path | str) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_a_run_delivers_every_frame_and_says_so_once(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    with nothing_left(here, but=["out.mp4"]):
        ran = mpflow("run", "-i", short_clip, "-o", "out.mp4", *PASS)
    assert ran.code == 0
    assert ran.out == ""
    done, age, limit = ran.err.splitlines()
    assert done.startswith("out.mp4: 30 frames in ")
    assert age.startswith("  age of a frame ") and " (p99); " in age
    assert limit.startswith("  ") and "limit" in limit
    assert frames_of("out.mp4") == 30


def test_json_lines_follow_their_schema(mpflow: Command, short_clip: Path) -> None:
    ran = mpflow("run", short_clip, "-o", "out.mp4", *PASS, "--json")
    names = [event["event"] for event in ran.events]
    assert (names[0], names[-2:]) == ("start", ["done", "end"])
    assert ran.events[0] == {
        "event": "start",
        "job": "1",
        "input": str(short_clip),
        "output": "out.mp4",
    }
    for event in ran.events_called("progress"):
        assert set(event) == {
            "event", "job", "frame", "total", "fps", "eta_s", "dropped", "stages",
            "backlog", "age_p99", "mode", "level", "missed", "degraded", "reconnects",
        }  # fmt: skip
        assert event["total"] == 30
        assert set(event["stages"]) == {"decode", "encode"}
        for stage in event["stages"].values():
            assert set(stage) == {"frames", "busy_ratio"}
            assert 0 <= stage["busy_ratio"] <= 1
    (done,) = ran.events_called("done")
    assert (done["status"], done["exit_status"], done["error"]) == ("done", 0, None)
    assert done["report"]["frames_written"] == 30
    assert ran.events[-1] == {"event": "end", "exit_status": 0, "jobs": {"done": 1}}


@pytest.mark.parametrize(
    "name", ["a b.mp4", 'it\'s "so".mp4', "100%d.mp4", "видео 日本.mp4", "-x.mp4"]
)
def test_any_name_works_for_input_and_output(
    mpflow: Command, here: Path, short_clip: Path, name: str
) -> None:
    shutil.copy(short_clip, here / name)
    output = f"out {name}"
    ran = mpflow("run", "-i", name, "-o", output, *PASS)
    assert ran.code == 0, ran.err
    assert frames_of(here / output) == 30


def test_one_bad_file_does_not_stop_a_batch(mpflow: Command, here: Path, short_clip: Path) -> None:
    for name in ("a.mp4", "c.mp4"):
        shutil.copy(short_clip, here / name)
    Path("b.mp4").write_text("no video")
    ran = mpflow("run", "a.mp4", "b.mp4", "c.mp4", "gone.mp4", "-o", "out", *PASS, "--json")
    assert ran.code == 3, "all failures agree"
    statuses = [event["status"] for event in ran.events_called("done")]
    assert statuses == ["done", "failed", "done", "failed"]
    assert sorted(path.name for path in Path("out").iterdir()) == ["a.mp4", "c.mp4"]


def test_batch_ends_with_a_table(mpflow: Command, here: Path, short_clip: Path) -> None:
    (here / "in").mkdir()
    for name in ("a.mp4", "b.mp4"):
        shutil.copy(short_clip, here / "in" / name)
    Path("in/x.mp4").touch()
    ran = mpflow("run", "in", "-o", "out", *PASS)
    table = ran.err.splitlines()[-4:]
    assert [line.split()[0] for line in table[:3]] == ["done", "done", "FAILED"]
    assert table[3] == "3 inputs: 2 done, 1 failed"
    assert ran.code == 3


def test_two_folders_with_the_same_name_inside_make_two_outputs(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    for folder in ("x", "y"):
        (here / folder).mkdir()
        shutil.copy(short_clip, here / folder / "a.mp4")
    ran = mpflow("run", "x", "y", "-o", "out", *PASS)
    assert ran.code == 0, ran.err
    assert frames_of("out/x/a.mp4") == frames_of("out/y/a.mp4") == 30


def test_two_runs_with_one_output_do_not_clobber_each_other(here: Path, long_clip: Path) -> None:
    command = command_line("run", long_clip, "-o", "out.mp4", *PASS)
    both = [subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True) for _ in "ab"]
    errors = [run.communicate(timeout=LIMIT_S)[1] for run in both]
    assert sorted(run.returncode for run in both) == [0, 2], errors
    assert frames_of("out.mp4") == 1500


def test_faces_go_to_standard_output(mpflow: Command, short_clip: Path) -> None:
    ran = mpflow("run", short_clip, "--preset", "detect-only", "-o", "-")
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["frame"] for line in lines] == list(range(30))


def test_log_file_is_json_lines(mpflow: Command, here: Path, short_clip: Path) -> None:
    ran = mpflow(
        "run", short_clip, "-o", "out.mp4", *PASS, "--log-file", "log.jsonl", "--log-level", "debug"
    )
    assert ran.code == 0
    records = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert records
    assert {"time", "run", "level", "stage", "worker", "frame", "text"} <= set(records[0])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_leaves_a_playable_partial_file_and_a_checkpoint(
    mpflow: Command, here: Path, long_clip: Path, number: signal.Signals, code: int
) -> None:
    command = command_line("run", long_clip, "short-after.mp4", "-o", "out", *PASS, "--json")
    shutil.copy(long_clip, here / "short-after.mp4")
    with nothing_left(here, but=["out"]):
        run = subprocess.Popen(
            command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert run.stdout is not None
        for line in run.stdout:
            if json.loads(line).get("frame", 0) > 50:
                break
        run.send_signal(number)
        rest, err = run.communicate(timeout=LIMIT_S)
    assert run.returncode == code, err
    partial = here / "out" / "long.partial.mp4"
    assert {path.name for path in (here / "out").iterdir()} <= {partial.name, "long.mp4.parts"}
    assert str(partial.name) in err
    assert "playable" in err
    assert 50 < playable(partial) < 1500
    ended = [json.loads(line) for line in rest.splitlines()]
    assert [e["status"] for e in ended if e["event"] == "done"] == ["stopped", "not run"]
    assert mpflow("run", long_clip, "-o", "out", *PASS, "--resume").code == 0
    assert [path.name for path in (here / "out").iterdir()] == ["long.mp4"]
    assert playable(here / "out" / "long.mp4") == playable(long_clip)


def test_a_killed_supervisor_is_status_1_and_keeps_only_what_plays(
    here: Path, long_clip: Path
) -> None:
    import psutil

    with nothing_left(here, but=["out.partial.mp4", "out.mp4.parts"]):
        run = subprocess.Popen(
            command_line("run", long_clip, "-o", "out.mp4", *PASS, "--json"),
            cwd=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert run.stdout is not None
        for line in run.stdout:
            if json.loads(line).get("frame", 0) > 50:
                break
        supervisor = psutil.Process(run.pid).children()[0]
        supervisor.kill()
        _, err = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 1
    assert "supervisor" in err
    partial = here / "out.partial.mp4"
    assert partial.exists() == (str(partial.name) in err)
    assert not partial.exists() or playable(partial)


def test_a_reader_that_leaves_standard_output_is_status_141(here: Path, long_clip: Path) -> None:
    command = command_line("run", long_clip, "-o", "-", "--preset", "detect-only", "--offline")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(LIMIT_S) == 141, told
    assert "standard output" in told
