"""What each kind of evidence comes to, as tables."""

from __future__ import annotations

import pytest

from mpflow.audit.verdicts import (
    EXPOSED,
    Detail,
    Evidence,
    Kind,
    Likeness,
    Limits,
    Verdict,
    judge,
    judge_find,
    kind_of,
    worst,
)

LIMITS = Limits()
SAME = Likeness(0.8, 0.1)
NOBODY = Likeness(0.2, 0.1)
WHOLE, GONE = Detail(0.9, 0.9), Detail(0.1, 0.1)


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (Evidence(), Verdict.COVERED),
        (Evidence(0.1, None, GONE, NOBODY), Verdict.COVERED),
        (Evidence(0.0, None, GONE, SAME), Verdict.RECOGNISABLE),
        (Evidence(0.9, None, WHOLE, SAME), Verdict.RECOGNISABLE),
        (Evidence(0.9, None, GONE, NOBODY), Verdict.VISIBLE),
        (Evidence(0.3, None, WHOLE), Verdict.VISIBLE),
        (Evidence(0.3, 0.3, GONE), Verdict.VISIBLE),
        (Evidence(0.3, 0.0, GONE), Verdict.DOUBTFUL),
        (Evidence(0.3, None, GONE), Verdict.DOUBTFUL),
        (Evidence(0.3, 0.17, GONE, fits=0.27), Verdict.DOUBTFUL),  # hair around a cover
        (Evidence(0.3, 0.6, GONE, fits=0.27), Verdict.VISIBLE),  # half of a face
        (Evidence(0.7, 0.0, GONE, fits=0.27), Verdict.VISIBLE),
        (Evidence(0.3, 0.16, GONE, fits=0.42), Verdict.VISIBLE),  # a weak blur
        (Evidence(0.0, None, WHOLE, NOBODY), Verdict.UNCHANGED),
    ],
)
def test_the_worst_that_the_evidence_shows_is_the_verdict(
    evidence: Evidence, verdict: Verdict
) -> None:
    assert judge(evidence, LIMITS) is verdict


def test_a_cover_that_is_like_any_face_without_detail_recognises_nobody() -> None:
    assert judge(Evidence(likeness=Likeness(0.5, 0.45)), LIMITS) is Verdict.COVERED
    assert judge(Evidence(likeness=Likeness(0.5, 0.35)), LIMITS) is Verdict.RECOGNISABLE


def test_detail_that_fits_but_has_hardly_any_contrast_left_is_no_open_face() -> None:
    assert judge(Evidence(detail=Detail(0.9, 0.2)), LIMITS) is Verdict.COVERED


@pytest.mark.parametrize(
    ("score", "closer", "verdict"),
    [
        (0.1, 0.9, Verdict.COVERED),
        (0.3, 0.9, Verdict.UNEXPLAINED),
        (0.3, 0.3, Verdict.DOUBTFUL),
        (0.9, 0.3, Verdict.DOUBTFUL),
    ],
)
def test_a_find_without_a_track_takes_an_enlarged_look(
    score: float, closer: float, verdict: Verdict
) -> None:
    assert judge_find(score, closer, LIMITS) is verdict


def test_every_verdict_but_covered_has_a_kind_and_four_are_failures() -> None:
    kinds = {verdict: kind_of(verdict) for verdict in Verdict if verdict is not Verdict.COVERED}
    assert {verdict for verdict, kind in kinds.items() if kind is Kind.EXPOSURE} == EXPOSED
    assert len(EXPOSED) == 4
    with pytest.raises(KeyError):
        kind_of(Verdict.COVERED)


def test_the_worst_of_nothing_is_covered() -> None:
    assert worst([]) is Verdict.COVERED
    assert worst([Verdict.DOUBTFUL, Verdict.UNCHANGED, Verdict.KEPT]) is Verdict.UNCHANGED
