"""What --strict makes of a job that is done."""

from __future__ import annotations

import pytest

from mpflow.errors import Degraded
from mpflow.jobs.settle import settle
from mpflow.report import Report
from mpflow.session import JobResult
from mpflow.spec import JobSpec


def settled(*, strict: bool = True, **facts: int | None) -> JobResult:
    report = Report(job="1", input="in.mkv", output="out.mkv", complete=True, **facts)
    return settle(JobSpec("1", "in.mkv", "out.mkv"), JobResult(report, None), strict=strict)


@pytest.mark.parametrize(
    ("read", "expected", "damaged", "named"),
    [
        (40, 40, 2, "2 damaged"),
        (27, 40, 0, "27 of 40 frames"),
        (27, 40, 3, "27 of 40 frames"),
    ],
)
def test_strict_makes_an_error_of_lost_frames(
    read: int, expected: int, damaged: int, named: str
) -> None:
    facts = {"frames_read": read, "frames_expected": expected, "damaged": damaged}
    result = settled(**facts)
    assert isinstance(result.error, Degraded)
    assert named in str(result.error)
    assert settled(strict=False, **facts).error is None


@pytest.mark.parametrize("expected", [None, 40, 39])
def test_strict_says_nothing_of_a_whole_file(expected: int | None) -> None:
    assert settled(frames_read=40, frames_expected=expected).error is None
