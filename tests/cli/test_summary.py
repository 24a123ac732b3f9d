"""The last lines of a run: what was made, what was not delivered as asked, and why."""

from __future__ import annotations

from typing import Any

import pytest

from mpflow.accounts import Latency, LedgerSummary, LostFrame, Spread
from mpflow.console import text
from mpflow.errors import Degraded
from mpflow.jobs.batch import Outcome, Status
from mpflow.report import Report, StageReport
from mpflow.spec import JobSpec


def report(**values: Any) -> Report:
    return Report("1", "in.mp4", "out.mp4", **{"seconds": 2.0, "complete": True, **values})


def ledger(*rows: tuple[int, str, str], more: int = 0, **counts: int) -> LedgerSummary:
    lost = tuple(LostFrame(frame, frame, state, "bad", why) for frame, state, why in rows)
    told = [row.state for row in lost]
    by_state = {state: told.count(state) for state in ("masked", "passed", "dropped")}
    return LedgerSummary(frames=100, rows=lost, more=more, **{**by_state, **counts})


def shown(capsys: pytest.CaptureFixture[str], outcome: Outcome) -> list[str]:
    text.show_outcome(outcome, text.Log(30), alone=True)
    return capsys.readouterr().err.splitlines()


def done(made: Report) -> Outcome:
    return Outcome(JobSpec("1", "in.mp4", "out.mp4"), Status.DONE, made)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"frames_written": 100}, "out.mp4: 100 frames in 2.0 s (50.0 frames/s)"),
        ({"frames_written": 1}, "out.mp4: 1 frame in 2.0 s (0.5 frames/s)"),
        (
            {"frames_written": 100, "resumed_at": 40},
            "out.mp4: 100 frames (40 from an earlier run) in 2.0 s (30.0 frames/s)",
        ),
        (
            {"frames_written": 2, "faces": 1, "frames_with_faces": 1},
            "out.mp4: 2 frames in 2.0 s (1.0 frames/s), 1 face in 1 of them",
        ),
        (
            {
                "frames_written": 2,
                "faces": 3,
                "frames_with_faces": 2,
                "ledger": LedgerSummary(frames=2, delivered=2, covered=1, open=2),
            },
            "out.mp4: 2 frames in 2.0 s (1.0 frames/s), 3 faces found in 2 of them, 1 covered",
        ),
        (
            {
                "frames_written": 2,
                "faces": 3,
                "frames_with_faces": 2,
                "stages": (StageReport("faces", facts={"tracks": 2, "people": 1}),),
            },
            "out.mp4: 2 frames in 2.0 s (1.0 frames/s), 3 faces in 2 of them: 2 tracks of 1 person",
        ),
        (
            {"frames_written": 2, "damaged": 1},
            "out.mp4: 2 frames in 2.0 s (1.0 frames/s), 1 damaged frame or packet skipped",
        ),
        (
            {"frames_written": 2, "ledger": LedgerSummary(frames=2, delivered=2, left=1)},
            "out.mp4: 2 frames in 2.0 s (1.0 frames/s), 1 frame outside of the spans left as they"
            " are",
        ),
    ],
)
def test_a_summary_counts_in_words_that_fit(values: dict[str, Any], says: str) -> None:
    assert text.summary(report(**values)) == says


def test_frames_that_were_not_delivered_as_asked_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [(n, "masked", "ValueError: no luck") for n in (3, 4, 5, 12)]
    made = report(frames_written=99, ledger=ledger(*rows, (40, "dropped", "it died")))
    first, *rest = shown(capsys, done(made))
    assert first.endswith("4 frames masked, 1 dropped")
    assert rest == [
        "  masked: 3-5,12 (bad: ValueError: no luck)",
        "  dropped: 40 (bad: it died)",
        "  --report has a line about each of them, --tokens one about every frame",
    ]


def test_many_lost_frames_are_named_by_the_first_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [(n, "passed", f"ValueError: {n}\nand more") for n in range(0, 40, 2)]
    made = report(frames_written=100, ledger=ledger(*rows, passed=5000, more=4980))
    _, named, where = shown(capsys, done(made))
    assert named == "  passed: 0,2,4,6,8,10,12,14 and 4992 more (bad: ValueError: 0, and others)"
    assert "--tokens" in where


def test_degraded_frames_are_named_with_what_was_given_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = LostFrame(7, 7, "degraded", "", "detect.every=2")
    made = report(frames_written=100, ledger=LedgerSummary(100, 100, degraded=1, rows=(row,)))
    first, named, *_ = shown(capsys, done(made))
    assert first.endswith("1 frame degraded")
    assert named == "  degraded: 7 (detect.every=2)"


def test_nothing_more_is_said_of_frames_that_were_all_delivered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(shown(capsys, done(report(frames_written=100, ledger=ledger())))) == 1


def test_ages_and_what_would_help_are_told_below_the_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = report(
        frames_written=100,
        stages=(StageReport("encode", busy=9.2, waiting=0.8),),
        latency=Latency(Spread(100, 0.2, p50=0.21, p95=0.4, p99=1.25), 0.634),
        advice="encode is the limit: 92 % busy; a faster preset would help",
    )
    assert shown(capsys, done(made)) == [
        "out.mp4: 100 frames in 2.0 s (50.0 frames/s)",
        "  age of a frame 210 ms (p50), 400 ms (p95), 1.25 s (p99); 63 % of it waiting",
        "  encode is the limit: 92 % busy; a faster preset would help",
    ]


def test_one_of_many_jobs_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    made = report(
        frames_written=100, stages=(StageReport("encode", busy=9.2),), advice="encode is the limit"
    )
    text.show_outcome(done(made), text.Log(30), alone=False)
    assert capsys.readouterr().err == (
        "out.mp4: 100 frames in 2.0 s (50.0 frames/s), slowest stage encode\n"
    )


def test_a_strict_run_that_is_whole_has_its_summary_before_the_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = report(frames_written=100, ledger=ledger((7, "masked", "no luck")))
    job = JobSpec("1", "in.mp4", "out.mp4")
    error = Degraded("1 frame masked of 'in.mp4'", cure="leave out --strict to accept that")
    lines = shown(capsys, Outcome(job, Status.FAILED, made, error))
    assert lines[0].startswith("out.mp4: 100 frames in 2.0 s")
    assert lines[1] == "  masked: 7 (bad: no luck)"
    assert lines[3].startswith("mpflow: error: 1 frame masked")


def test_a_table_counts_what_it_is_about() -> None:
    one = done(report(frames_written=1))
    assert text.batch_table([one, one])[-1] == "2 inputs: 2 done"
    assert text.batch_table([one, one], "chunks")[-1] == "2 chunks: 2 done"
    assert "  1 frame  " in text.batch_table([one])[0]
