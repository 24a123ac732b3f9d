"""What is said of frames that a stage fails on: in words, as JSON, in reports, by exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Command

STAGE = """
from mpflow.stage import Options, Stage

class Stumble(Stage[Options]):
    Options = Options

    def process(self, batch):
        for work in batch:
            if work.token.seq in (5, 6, 20):
                raise ValueError("too dark")
            yield work.token
"""
PRESET = """
stages: [{stage: decode}, {stage: 'stumble:Stumble'}, {stage: encode}]
retries: 0
"""

Words = Callable[..., list[str]]


@pytest.fixture
def stumbling(here: Path, short_clip: Path) -> Words:
    """The words for a run through a stage that fails on frames 5, 6 and 20."""
    (here / "stumble.py").write_text(STAGE)
    (here / "mine.yaml").write_text(PRESET)
    return lambda *more: [
        *("run", str(short_clip), "-o", "out.mp4", "--preset", "mine.yaml"),
        *more,
    ]


def rows(report: dict[str, Any]) -> list[tuple[int, str, str, str]]:
    ledger = report["ledger"]
    return [(row["frame"], row["state"], row["stage"], row["reason"]) for row in ledger["rows"]]


@pytest.mark.parametrize(
    ("policy", "state", "written"), [("mask", "masked", 30), ("pass", "passed", 30)]
)
def test_frames_that_a_stage_fails_on_are_told_of(
    mpflow: Command, stumbling: Words, policy: str, state: str, written: int
) -> None:
    ran = mpflow(*stumbling("--on-failure", policy, "--json"))
    assert ran.code == 0, ran.err
    (done,) = ran.events_called("done")
    report = done["report"]
    assert report["frames_written"] == written
    assert rows(report) == [
        (frame, state, "stumble", "ValueError: too dark") for frame in (5, 6, 20)
    ]
    assert report["ledger"]["delivered"] == 27
    assert report["ledger"][state] == 3


def test_the_summary_names_them_and_strict_makes_it_status_5(
    mpflow: Command, stumbling: Words
) -> None:
    ran = mpflow(*stumbling("--on-failure", "pass"))
    assert ran.code == 0
    *others, named, where = ran.err.splitlines()
    (summary,) = [line for line in others if line.startswith("out.mp4: 30 frames in ")]
    assert "3 frames passed" in summary
    assert named == "  passed: 5-6,20 (stumble: ValueError: too dark)"
    assert "--tokens" in where
    ran = mpflow(*stumbling("--on-failure", "pass", "--strict", "-y"))
    assert ran.code == 5
    assert "3 frames passed of" in ran.err
    assert "(frames 5, 6, 20; the first: ValueError: too dark)" in ran.err
    assert ran.err.index("out.mp4: 30 frames in ") < ran.err.index("mpflow: error: ")
    assert Path("out.mp4").exists()


def test_tokens_and_report_and_an_alert_tell_the_same(
    mpflow: Command, here: Path, stumbling: Words
) -> None:
    command = f"{sys.executable} -c \"import sys; open('alerts', 'a').write(sys.stdin.read())\""
    ran = mpflow(
        *stumbling("--on-failure", "mask", "--on-alert", command),
        *("--tokens", "tokens.jsonl", "--report", "run.json"),
    )
    assert ran.code == 0, ran.err
    tokens = [json.loads(line) for line in Path("tokens.jsonl").read_text().splitlines()]
    assert [token["frame"] for token in tokens] == list(range(30))
    changed = {t["frame"]: t["changes"][-1] for t in tokens if t["state"] == "masked"}
    assert changed == {
        frame: {"stage": "stumble", "what": "state:live>masked", "reason": "ValueError: too dark"}
        for frame in (5, 6, 20)
    }
    (job,) = json.loads(Path("run.json").read_text())["jobs"]
    assert [row[0] for row in rows(job["report"])] == [5, 6, 20]
    assert job["report"]["alerts"] == {"failures": 1}
    assert "alert: stage stumble has failed 3 times" in ran.err
    (alert,) = [json.loads(line) for line in Path("alerts").read_text().splitlines()]
    assert (alert["kind"], alert["stage"], alert["frame"]) == ("failures", "stumble", 20)


def test_a_frame_that_is_skipped_is_in_the_ledger_though_not_in_the_output(
    mpflow: Command, stumbling: Words
) -> None:
    ran = mpflow(*stumbling("--on-failure", "skip", "--json", "--tokens", "tokens.jsonl"))
    assert ran.code == 0, ran.err
    (done,) = ran.events_called("done")
    ledger = done["report"]["ledger"]
    assert (ledger["frames"], ledger["delivered"], ledger["dropped"]) == (30, 27, 3)
    assert len(Path("tokens.jsonl").read_text().splitlines()) == 30


def test_fail_ends_the_run(mpflow: Command, stumbling: Words) -> None:
    ran = mpflow(*stumbling("--on-failure", "fail"))
    assert ran.code == 1
    assert "too dark" in ran.err
