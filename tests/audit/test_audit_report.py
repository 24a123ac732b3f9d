"""The report: its exit status, its JSON, and its words."""

from __future__ import annotations

import json

import msgspec
import pytest
from audited import OUTPUT, finding, report

from mpflow.audit.order import Order
from mpflow.audit.report import Asked, AuditReport, Timing
from mpflow.audit.verdicts import Verdict
from mpflow.audit.words import clock, span
from mpflow.console.audit_text import MOST_ROWS, report_lines

EXPOSED = finding([3, 4, 5, 9], score=0.93, detail=0.8)
DOUBTFUL = finding([7], Verdict.DOUBTFUL, None, score=0.3)
KEPT = finding([8], Verdict.KEPT, 2, score=0.9)
DAMAGED = msgspec.structs.replace(OUTPUT, damaged=2)
TWO_VIEWS = msgspec.structs.replace(OUTPUT, beside=1)


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (report(), 0),
        (report(doubtful=(DOUBTFUL,), kept=(KEPT,)), 0),
        (report(findings=(EXPOSED,)), 7),
        (report(output=DAMAGED), 5),
        (report(output=TWO_VIEWS), 5),
        (report(findings=(EXPOSED,), output=DAMAGED), 7),
        (report(timing=Timing(50, 0, 1)), 5),  # frames that only the output has
        (report(timing=Timing(50, 0, 0, order=Order.SHIFTED, lag=-3)), 5),
        (report(timing=Timing(50, 0, 0, order=Order.UNRELATED)), 5),
        (report(timing=Timing(50, 9, 0, tail=9)), 5),  # which ones are lacking?
        (report(timing=Timing(50, 9, 0, shift=0.3)), 5),
        (report(timing=Timing(50, 9, 0, tail=9, order=Order.IN_ORDER)), 0),
        (report(timing=Timing(50, 9, 0)), 0),  # gaps: the others have their time stamps
        (report(timing=Timing(50, 0, 0, shift=0.3)), 0),
        (report(mistaken=("swapped?",)), 5),
        (report(findings=(EXPOSED,), mistaken=("swapped?",)), 7),
    ],
)
def test_the_exit_status_says_whether_a_face_shows(made: AuditReport, status: int) -> None:
    assert made.exit_status == status


def test_the_report_as_data_is_json_and_begins_with_its_format() -> None:
    data = json.loads(json.dumps(report(findings=(EXPOSED,)).as_data()))
    assert next(iter(data)) == "mpflow_audit"
    assert data["exit_status"] == 7
    assert data["findings"][0]["frames"] == "3-5,9"
    assert data["findings"][0]["verdict"] == "visible"
    assert data["tracks"][0]["likeness"] == 0.21


def test_the_words_begin_with_what_was_checked_with_what() -> None:
    lines = list(report_lines(report(remarks=("something is odd",))))
    text = "\n".join(lines)
    for fact in ("a" * 64, "b" * 64, "c" * 64, "50 frames of both", "something is odd"):
        assert fact in text
    assert lines[-1] == "no face shows in the output"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (Asked(), "allowed to show: nobody"),
        (Asked("except", 1, 2), "the one person of a gallery (2 photos), by --keep"),
        (Asked("only", 3, 4), "surely none of the 3 people of a gallery (4 photos), by --only"),
        (Asked(spans="1-2,f9-"), "everybody outside of --spans 1-2,f9-"),
        (Asked("except", 2, 2, replaced=True), "by --keep; other faces over those of the input"),
    ],
)
def test_whoever_signs_sees_what_was_allowed(asked: Asked, says: str) -> None:
    made = report(asked=asked, kept=(KEPT,))
    (line,) = [line for line in report_lines(made) if "allowed to show" in line]
    assert says in line
    assert made.as_data()["asked"]["spans"] == asked.spans
    assert not any("gallery" in line for line in report_lines(report(kept=(KEPT,))))


def test_every_finding_is_a_row_and_every_verdict_is_explained() -> None:
    made = report(findings=(EXPOSED,), doubtful=(DOUBTFUL,), kept=(KEPT,))
    lines = list(report_lines(made))
    (row,) = [line for line in lines if "3-5,9" in line]
    assert row.split() == ["0:00.12-0:00.36", "3-5,9", "0", "visible", "0.93", "-", "0.80"]
    for word in ("visible:", "doubtful:", "kept:"):
        assert any(line.startswith(word) for line in lines)
    assert lines[-1] == "FACES SHOW: 1 finding of 1 track"


def test_what_is_kept_or_damaged_is_part_of_the_last_word() -> None:
    *_, kept = report_lines(report(kept=(KEPT,)))
    assert kept == "no face shows in the output but those that were allowed"
    *_, damaged = report_lines(report(output=DAMAGED))
    assert damaged == "no face shows in the output; what is damaged was not seen"
    *_, views = report_lines(report(output=TWO_VIEWS))
    *_, mistaken = report_lines(report(mistaken=("swapped?",)))
    assert mistaken.endswith("; but these may not be the files that were meant")
    assert views == "no face shows in the output; 1 more picture stream of it went unseen"
    *_, longer = report_lines(report(timing=Timing(50, 0, 2)))
    assert longer == "no face shows in the output; 2 frames could not be compared"
    *_, shifted = report_lines(report(timing=Timing(50, 0, 0, order=Order.SHIFTED, lag=2)))
    assert shifted.endswith("may have been compared with other frames than they were made of")


def test_many_rows_and_many_frames_are_cut_and_counted() -> None:
    scattered = finding(list(range(0, 200, 2)))
    lines = list(report_lines(report(findings=(scattered,) * (MOST_ROWS + 3))))
    assert any("(100)" in line for line in lines)
    assert any("and 3 more" in line for line in lines)
    assert max(len(line) for line in lines) < 130


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00.00"), (59.999, "1:00.00"), (3723.456, "1:02:03.46")]
)
def test_times_are_read_as_clocks(seconds: float, text: str) -> None:
    assert clock(seconds) == text
    assert span(seconds, seconds) == text
