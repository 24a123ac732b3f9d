"""Marks of single frames become one row for each stretch, with its exact frames."""

from __future__ import annotations

from mpflow.audit.findings import Mark, finding_of, lasting, stretches
from mpflow.audit.verdicts import Verdict

BOX = (1.0, 2.0, 3.0, 4.0)


def mark(frame: int, verdict: Verdict = Verdict.VISIBLE, **values: object) -> Mark:
    return Mark(frame, frame / 25, values.pop("box", BOX), verdict, **values)


def test_a_stretch_ends_where_nothing_was_found_for_long() -> None:
    marks = [mark(frame) for frame in (0, 1, 5, 40, 41)]
    parts = list(stretches(marks, gap=0.5))
    assert [[each.frame for each in part] for part in parts] == [[0, 1, 5], [40, 41]]
    assert list(stretches([], 0.5)) == []


def test_frames_that_only_the_output_has_are_a_stretch_of_their_own() -> None:
    parts = list(stretches([mark(0), mark(1, extra=True), mark(2)], 0.5))
    assert [[each.extra for each in part] for part in parts] == [[False], [True], [False]]


def test_a_finding_has_the_worst_verdict_the_exact_frames_and_the_highest_values() -> None:
    marks = [
        mark(10, score=0.9),
        mark(11, Verdict.RECOGNISABLE, score=0.5, likeness=0.7, box=(5.0, 6.0, 7.0, 8.0)),
        mark(13, Verdict.UNCHANGED, detail=0.95),
    ]
    finding = finding_of(4, marks)
    assert finding.verdict is Verdict.RECOGNISABLE
    assert (finding.track, finding.frames, finding.count) == (4, "10-11,13", 3)
    assert (finding.start, finding.end) == (10 / 25, 13 / 25)
    assert finding.verdicts == {"visible": 1, "recognisable": 1, "unchanged": 1}
    assert (finding.score, finding.likeness, finding.detail) == (0.9, 0.7, 0.95)
    assert (finding.worst_frame, finding.box) == (11, (5.0, 6.0, 7.0, 8.0))


def test_faint_marks_alone_must_last() -> None:
    faint, sure = mark(1, faint=True), mark(2)
    assert {each.verdict for each in lasting([faint, faint], 3)} == {Verdict.DOUBTFUL}
    assert {each.verdict for each in lasting([faint] * 3, 3)} == {Verdict.VISIBLE}
    assert {each.verdict for each in lasting([faint, sure], 3)} == {Verdict.VISIBLE}
    kept = mark(1, Verdict.KEPT, faint=True)
    assert lasting([kept], 3) == [kept]
