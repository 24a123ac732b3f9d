"""What a run leaves in files beside its output: report, tokens, timeline; and flags for ranges."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import Result
from commands import LIMIT_S, Command, command_line
from runs import GONE_S, family

from mpflow import __version__
from mpflow.config import resolve
from mpflow.console.frames import wanted_frames
from mpflow.errors import ConfigError, OutputError
from mpflow.jobs.batch import Outcome, Status
from mpflow.jobs.runreport import RunReport
from mpflow.report import Report
from mpflow.spec import JobSpec

PASS = ("--preset", "passthrough")

Invoke = Callable[..., Result]


def planned(invoke: Invoke, *words: str) -> list[dict[str, Any]]:
    """The jobs that a run would do."""
    answer = invoke("run", *words, "--dry-run", "--json")
    assert answer.exit_code == 0, answer.stderr
    jobs: list[dict[str, Any]] = json.loads(answer.stdout)["jobs"]
    return jobs


@pytest.fixture
def clips(here: Path) -> Path:
    """A folder of files that nobody looks into."""
    for name in ("d/a.mp4", "d/sub/b.mov", "e/a.mp4"):
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"not looked at")
    return here


def test_report_tokens_and_trace_of_a_run(mpflow: Command, here: Path, short_clip: Path) -> None:
    ran = mpflow(
        "run", short_clip, "-o", "out.mp4", *PASS, "--crf", "23",
        "--report", "run.json", "--tokens", "tokens.jsonl", "--trace", "trace.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    report = json.loads(Path("run.json").read_text())
    assert (report["mpflow"], report["exit_status"]) == (__version__, 0)
    assert report["command"][:2] == ["mpflow", "run"]
    assert report["configuration"]["values"]["encode.crf"] == {
        "value": 23.0,
        "origin": "flag --crf",
    }
    assert report["machine"]["cores"]["used"] >= 1
    assert {"av", "numpy"} <= set(report["machine"]["packages"])
    (job,) = report["jobs"]
    told = job["report"]
    assert (job["status"], told["frames_written"], told["restarts"]) == ("done", 30, 0)
    assert told["ledger"]["frames"] == told["ledger"]["delivered"] == 30
    assert told["bottleneck"] in ("decode", "encode")
    assert told["bottleneck"] in told["advice"]
    assert 0 <= told["idle_ratio"] <= 1
    assert [stage["name"] for stage in told["stages"]] == ["decode", "encode"]
    for stage in told["stages"]:
        service = stage["latency"]["service"]
        assert service["count"] == 30
        assert 0 < service["p50"] <= service["p90"] <= service["p99"] <= service["max"]
        assert 0 <= stage["idle_ratio"] <= 1
    assert [worker["label"] for worker in told["workers"]] == ["decode", "encode"]
    assert "busy" in [move["state"] for move in told["workers"][0]["moves"]]
    tokens = [json.loads(line) for line in Path("tokens.jsonl").read_text().splitlines()]
    assert [token["frame"] for token in tokens] == list(range(30))
    for token in tokens:
        assert [stage["stage"] for stage in token["stages"]] == ["decode", "encode"]
        assert token["ops"] == []
    slices = [event for event in json.loads(Path("trace.json").read_text()) if event["ph"] == "X"]
    worked = [event["args"]["frame"] for event in slices if event["cat"] == "stage"]
    assert sorted(worked) == sorted([*range(30), *range(30)])


def test_a_batch_has_a_report_of_good_and_bad_and_a_trace_each(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    shutil.copy(short_clip, here / "a.mp4")
    Path("b.mp4").write_text("no video")
    ran = mpflow(
        "run", "a.mp4", "b.mp4", "-o", "out", *PASS, "--report", "run.json", "--trace", "traces/"
    )
    assert ran.code == 3
    report = json.loads(Path("run.json").read_text())
    assert report["exit_status"] == 3
    good, bad = report["jobs"]
    assert (good["status"], good["error"]) == ("done", None)
    assert (bad["status"], bad["exit_status"], bad["error"]["type"]) == ("failed", 3, "InputError")
    assert [path.name for path in Path("traces").iterdir()] == ["a.mp4.trace.json"]
    assert not list(here.glob(".run.json*"))


def test_a_report_that_cannot_be_written_is_refused_before_anything_starts(
    invoke: Invoke, here: Path, short_clip: Path
) -> None:
    (here / "file").touch()
    for path, says in (
        ("missing/run.json", "does not exist"),
        ("file/run.json", "Not a directory"),
        (str(here), "is a directory"),
        ("run.mp4", "named as a video"),
    ):
        answer = invoke("run", str(short_clip), "-o", "out.mp4", *PASS, "--report", path)
        assert answer.exit_code == 2, path
        assert says in answer.stderr
    assert sorted(path.name for path in here.iterdir()) == ["file"]


def test_a_report_names_no_password_and_survives_a_full_disk(tmp_path: Path) -> None:
    resolved = resolve("passthrough", environ={})
    job = JobSpec("1", "http://bob:secret@host/a.mp4", "out.mp4")
    outcome = Outcome(job, Status.DONE, Report("1", job.input, warnings=("x http://bob:secret@h",)))
    report = RunReport(tmp_path / "run.json", ["mpflow", "run", job.input])
    report.check()
    report.write(resolved, [outcome], 0)
    text = (tmp_path / "run.json").read_text()
    assert "secret" not in text
    assert json.loads(text)["jobs"][0]["input"] == "http://***@host/a.mp4"
    full = RunReport(Path("/dev/full/run.json"))
    with pytest.raises(OutputError, match=r"/dev/full/run\.json"):
        full.write(resolved, [outcome], 0)


@pytest.mark.parametrize(
    ("words", "span"),
    [
        (["--frames", "10-19"], (10, 20)),
        (["--frames", "10-"], (10, None)),
        (["--frames", "7"], (7, 8)),
        (["--frames", "0-0"], (0, 1)),
        (["--start-frame", "5"], (5, None)),
        (["--end-frame", "9"], (0, 10)),
        (["--start-frame", "5", "--end-frame", "9"], (5, 10)),
        ([], (0, None)),
    ],
)
def test_a_range_includes_both_its_ends(
    invoke: Invoke, clips: Path, words: list[str], span: tuple[int, int | None]
) -> None:
    (job,) = planned(invoke, "d/a.mp4", *words)
    assert (job["start"], job["stop"]) == span


def test_progress_of_a_range_counts_the_frames_of_the_range(
    mpflow: Command, short_clip: Path
) -> None:
    ran = mpflow("run", short_clip, "-o", "out.mp4", *PASS, "--frames", "10-19", "--json")
    assert ran.code == 0, ran.err
    assert {event["total"] for event in ran.events_called("progress")} == {10}
    (done,) = ran.events_called("done")
    assert done["report"]["frames_written"] == done["report"]["frames_expected"] == 10
    assert set(done["report"]["latency"]) == {"count", "mean", "p50", "p90", "p95", "p99", "max"}


def test_a_range_is_for_every_input(invoke: Invoke, clips: Path) -> None:
    jobs = planned(invoke, "d", "-r", "-o", "out", "--end-frame", "9")
    assert [job["stop"] for job in jobs] == [10, 10]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--frames", "9-3"], "--frames 9-3: the last frame comes before the first"),
        (["--frames", "a-b"], "is not FIRST-LAST"),
        (["--frames", "-5"], "is not FIRST-LAST"),
        (["--frames", "1-2", "--start-frame", "0"], "contradict"),
        (["--start-frame", "4", "--end-frame", "3"], "the last frame comes before the first"),
        (["--start-frame", "-1"], "-1 is not in the range"),
        (["--on-failure", "shrug"], "'shrug' is not one of"),
        (["--on-alert", "no-such-command-here"], "no command 'no-such-command-here'"),
        (["--on-alert", "sh -c 'x"], "quotes"),
        (["--trace", "no/such/folder/t.json"], "does not exist"),
        (["--trace", "t.mp4"], "named as a video"),
        (["--trace", "d/a.mp4"], "named as a video"),
        (["--tokens", "out.json", "--trace", "out.json"], "would both write 'out.json'"),
        (["--tokens", "out.json", "--report", "out.json"], "would both write 'out.json'"),
        (["--resume", "--preset", "detect-only", "-o", "-"], "leave out --resume"),
    ],
)
def test_wrong_flags_are_told_before_anything_starts(
    invoke: Invoke, clips: Path, words: list[str], says: str
) -> None:
    answer = invoke("run", "d/a.mp4", *words, "--dry-run")
    assert answer.exit_code == 2
    assert says in answer.stderr


def test_frames_are_counted_from_zero() -> None:
    assert wanted_frames("0-99", None, None) == (0, 100)
    with pytest.raises(ConfigError):
        wanted_frames("", None, None)


def test_one_file_for_several_inputs_is_refused(invoke: Invoke, clips: Path) -> None:
    answer = invoke("run", "d", "-r", "-o", "out", "--tokens", "t.jsonl", "--dry-run")
    assert answer.exit_code == 2
    assert "one file, and there are 2 inputs (give" not in answer.stderr
    assert "give a folder, as in --tokens t.jsonl/" in answer.stderr


def test_a_folder_gets_a_file_for_each_output_named_after_it(invoke: Invoke, clips: Path) -> None:
    jobs = planned(invoke, "d", "-r", "-o", "out", "--tokens", "t/", "--trace", "d")
    assert [job["tokens"] for job in jobs] == ["t/a.mp4.tokens.jsonl", "t/sub/b.mov.tokens.jsonl"]
    assert jobs[0]["trace"] == "d/a.mp4.trace.json"
    same = invoke("run", "d/a.mp4", "e/a.mp4", "--tokens", "t/", "--dry-run")
    assert same.exit_code == 2
    assert "would both write" in same.stderr


def test_on_failure_and_the_others_are_keys_of_the_configuration(
    invoke: Invoke, clips: Path
) -> None:
    words = ["--on-failure", "skip", "--on-alert", f"{sys.executable} -c pass", "--core-dumps"]
    answer = invoke("run", "d/a.mp4", *words, "--dry-run", "--json")
    values = json.loads(answer.stdout)["values"]
    assert values["on_failure"] == {"value": "skip", "origin": "flag --on-failure"}
    assert values["on_alert"]["value"] == f"{sys.executable} -c pass"
    assert values["core_dumps"]["value"] is True


def test_resume_skips_what_is_finished_and_goes_on_with_the_rest(
    invoke: Invoke, clips: Path
) -> None:
    (clips / "out/sub").mkdir(parents=True)
    (clips / "out/a.mp4").touch()
    first, second = planned(invoke, "d", "-r", "-o", "out", "--resume")
    assert first["skipped"] == "its output exists, and there is nothing left to go on with"
    assert (second["resume"], second["skipped"]) == (True, "")
    assert second["parts"] == "out/sub/b.mov.parts"
    (clips / "out/a.mp4.parts").mkdir()
    answer = invoke("run", "d/a.mp4", "-o", "out/a.mp4", "--resume", "--dry-run")
    assert (answer.exit_code, "exists already" in answer.stderr) == (2, True)
    (again,) = planned(invoke, "d/a.mp4", "-o", "out/a.mp4", "--resume", "-y")
    assert (again["resume"], again["overwrite"]) == (True, True)


@pytest.mark.slow
def test_a_run_that_was_killed_and_gone_on_with_has_whole_books(
    mpflow: Command, here: Path, long_clip: Path
) -> None:
    files = ("--tokens", "tokens.jsonl", "--trace", "trace.json", "--report", "run.json")
    words = ("run", str(long_clip), "-o", "out.mp4", *PASS, *files)
    run = subprocess.Popen(command_line(*words, "--json"), stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for line in run.stdout:
        if json.loads(line).get("frame", 0) > 200:
            break
    killed = family(run.pid)
    for process in killed:
        process.kill()
    run.communicate(timeout=LIMIT_S)
    psutil.wait_procs(killed, timeout=GONE_S)
    assert not Path("run.json").exists(), "a report is written when the run is over"
    kept = [
        json.loads(line) for line in Path("out.mp4.parts/ledger.jsonl").read_text().splitlines()
    ]
    assert [row["start"] for row in kept] == [0, *(row["stop"] for row in kept[:-1])]
    ran = mpflow(*words, "--resume", "--json")
    assert ran.code == 0, ran.err
    progress = [(event["frame"], event["total"]) for event in ran.events_called("progress")]
    assert progress[0][0] > kept[-1]["start"], "what was done is done"
    assert all(frame <= total == 1500 for frame, total in progress)
    (job,) = json.loads(Path("run.json").read_text())["jobs"]
    assert job["resumed"]
    told = job["report"]
    (done,) = ran.events_called("done")
    assert done["report"] == told, "one report, wherever it is told"
    assert (told["ledger"]["frames"], told["ledger"]["delivered"]) == (1500, 1500)
    assert told["latency"]["count"] == 1500 - told["resumed_at"]
    assert told["resumed_at"] in (kept[-1]["start"], kept[-1]["stop"])
    frames = [json.loads(line)["frame"] for line in Path("tokens.jsonl").read_text().splitlines()]
    assert frames == list(range(1500))
    assert json.loads(Path("trace.json").read_text())
