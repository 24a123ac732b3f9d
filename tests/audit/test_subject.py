"""What is kept of one face over time: strands of marks, and few pictures."""

from __future__ import annotations

import numpy as np

from mpflow.audit.findings import Mark
from mpflow.audit.subject import Shot, Subject
from mpflow.audit.verdicts import Verdict

BOX = (1.0, 2.0, 3.0, 4.0)


def add(subject: Subject, frame: int, verdict: Verdict, score: float = 0.5) -> None:
    time = frame / 10
    mark = Mark(frame, time, BOX, verdict, score)
    subject.add(mark, lambda: Shot(time, None, np.zeros((1, 1, 3), np.uint8)))


def test_exposures_doubts_and_what_is_kept_are_findings_of_their_own() -> None:
    subject = Subject(3, gap=0.5)
    add(subject, 0, Verdict.VISIBLE)
    add(subject, 1, Verdict.DOUBTFUL)
    add(subject, 2, Verdict.UNCHANGED)
    add(subject, 3, Verdict.KEPT)
    found = {finding.verdict: finding.frames for finding, _ in subject.findings()}
    assert found == {Verdict.VISIBLE: "0,2", Verdict.DOUBTFUL: "1", Verdict.KEPT: "3"}
    assert subject.verdict() is Verdict.VISIBLE


def test_each_stretch_has_one_shot_where_it_is_worst() -> None:
    subject = Subject(3, gap=0.5)
    for frame, verdict, score in (
        (0, Verdict.UNCHANGED, 0.0),
        (1, Verdict.VISIBLE, 0.3),
        (2, Verdict.VISIBLE, 0.8),
        (3, Verdict.VISIBLE, 0.82),
        (20, Verdict.VISIBLE, 0.4),
    ):
        add(subject, frame, verdict, score)
    times = [shot.time for _, shot in subject.findings() if shot is not None]
    assert times == [0.2, 2.0]


def test_it_is_looked_at_now_and_then_and_where_an_exposure_begins() -> None:
    subject = Subject(3, gap=0.5)
    assert subject.is_due(0.0, 0.5, exposed=False)
    subject.looked(0.0, 0.2)
    assert not subject.is_due(0.4, 0.5, exposed=False)
    assert subject.is_due(0.4, 0.5, exposed=True)
    add(subject, 4, Verdict.VISIBLE)
    assert not subject.is_due(0.45, 0.5, exposed=True)
    assert subject.is_due(0.5, 0.5, exposed=False)


def test_the_largest_cover_is_shown() -> None:
    subject = Subject(3, gap=0.5)
    taken = []
    for area in (4.0, 4.0, 8.0, 2.0, 0.0):

        def shoot(area: float = area) -> Shot:
            taken.append(area)
            return Shot(area, None, np.zeros((1, 1, 3), np.uint8))

        subject.covered(area, shoot)
    assert taken == [4.0, 8.0]
    assert subject.cover is not None
    assert subject.cover.time == 8.0
    assert subject.verdict() is Verdict.COVERED
