"""How a job ended is always told, however much there is to tell."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from mpflow.accounts import LedgerSummary, LostFrame
from mpflow.channel import MAX_MESSAGE, Channel
from mpflow.errors import InternalError, describe, to_wire
from mpflow.notices import Notices
from mpflow.report import Move, Report, StageReport, WorkerHistory, fitting

REASON = "stage receive (pid 123456) reads no further and has shown no sign of life for 60.1 s"


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    ours, theirs = Channel.pair()
    yield ours, theirs
    ours.close()
    theirs.close()


def told(ends: tuple[Channel, Channel], report: Report, error: Exception | None = None) -> Report:
    """The report as it comes to the caller."""
    ours, theirs = ends
    notices = Notices(ours)
    notices.say_done(report, None if error is None else to_wire(error))
    notices.post()
    received = theirs.receive(wait=False)
    assert received is not None
    message = received[0]
    assert (message["error"] is None) == (error is None)
    return msgspec.convert(message["report"], Report)


def worker(moves: int) -> WorkerHistory:
    kept = tuple(Move(float(at), "backoff", REASON) for at in range(moves))
    return WorkerHistory("receive", tuple(range(moves)), kept, more=7)


def lost(rows: int) -> LedgerSummary:
    frames = tuple(
        LostFrame(at, at, "dropped", "detect", "too old: 2010 ms old") for at in range(rows)
    )
    return LedgerSummary(frames=10**6, dropped=rows + 5, rows=frames, more=5)


def test_a_report_that_fits_is_told_whole(ends: tuple[Channel, Channel]) -> None:
    report = Report("1", "in", "out", workers=(worker(200),), ledger=lost(800))
    assert told(ends, report) == report


def test_of_long_histories_the_last_moves_are_told_and_the_rest_is_counted(
    ends: tuple[Channel, Channel],
) -> None:
    report = Report("1", "in", "out", workers=(worker(200),) * 12, ledger=lost(800))
    got = told(ends, report)
    assert got.ledger == report.ledger
    assert len(got.workers) == 12
    for each in got.workers:
        assert each.moves == worker(200).moves[-len(each.moves) :]
        assert len(each.moves) + each.more == 207
        assert each.pids[-1] == 199


def test_a_line_is_told_however_long_it_is(ends: tuple[Channel, Channel]) -> None:
    ours, theirs = ends
    notices = Notices(ours)
    notices.open_log("run", "", "info")
    notices.note("warning", "x" * MAX_MESSAGE)
    received = theirs.receive(wait=False)
    assert received is not None and received[0]["record"]["text"].startswith("xxx")


def test_an_error_fits_into_a_message_however_much_it_says(ends: tuple[Channel, Channel]) -> None:
    ours, theirs = ends
    for error in (ValueError("x" * MAX_MESSAGE), InternalError("x" * MAX_MESSAGE)):
        ours.send("failed", error=to_wire(error))
        ours.send("stumbled", what=describe(error))
        for _ in range(2):
            assert theirs.receive(wait=False)


@pytest.mark.parametrize("words", [1, 50_000])
def test_the_outcome_is_told_however_long_everything_is(
    ends: tuple[Channel, Channel], words: int
) -> None:
    stages = tuple(StageReport(f"s{at}", facts={"x": "y" * 4000}) for at in range(20))
    report = Report(
        "1",
        "in" * 2000,
        "out" * 1000,
        frames_read=10**6,
        stages=stages,
        warnings=("w" * 3000,) * 500,
        workers=(worker(200),) * 64,
        ledger=lost(1000),
    )
    error = InternalError("e" * words, cure="c" * words, facts={"f": "f" * words})
    got = told(ends, report, error)
    assert (got.job, got.frames_read, got.restarts) == ("1", 10**6, 0)
    assert got.ledger is not None and got.ledger.dropped == 1005
    assert got.ledger.more + len(got.ledger.rows) == 1005
    assert [stage.name for stage in got.stages] == [stage.name for stage in stages]


def test_no_more_is_left_out_than_has_to_be() -> None:
    report = Report("1", "in", workers=(worker(200),) * 12, ledger=lost(800))
    size = len(msgspec.msgpack.encode(report))
    assert fitting(report, size) is report
    assert len(fitting(report, size - 1).workers[0].moves) == 50
    assert len(msgspec.msgpack.encode(fitting(report, MAX_MESSAGE))) < MAX_MESSAGE
