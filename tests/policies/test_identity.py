"""Who a face is taken for, and who is covered: tables. Nobody unsure is ever left open."""

from __future__ import annotations

import math

import pytest

from mpflow.policies.identity import OTHER, Mark, People, Thresholds, covered, decide
from mpflow.tokens import Face

LIMITS = Thresholds(same=0.42, other=0.30)


@pytest.mark.parametrize(
    ("similarities", "mark"),
    [
        ([0.42], "p0"),
        ([0.4199], None),
        ([0.30], None),
        ([0.2999], OTHER),
        ([-1.0, -0.2], OTHER),
        ([0.1, 0.8, 0.5], "p1"),
        ([0.8, 0.8], "p0"),
        ([0.1, 0.35], None),
        ([], None),
        ([math.nan], None),
        ([0.1, math.nan], None),
    ],
)
def test_a_face_is_a_person_another_or_unsure(similarities: list[float], mark: Mark) -> None:
    assert decide(similarities, LIMITS) == mark


@pytest.mark.parametrize(
    ("mark", "people", "hidden"),
    [
        ("p0", "all", True),
        (OTHER, "all", True),
        (None, "all", True),
        ("p0", "except", False),
        ("p12", "except", False),
        (OTHER, "except", True),
        (None, "except", True),
        ("p0", "only", True),
        (OTHER, "only", False),
        (None, "only", True),
    ],
)
def test_whoever_is_unsure_is_covered(mark: Mark, people: People, hidden: bool) -> None:
    assert covered(Face((0, 0, 9, 9), 0.9, identity=mark), people) is hidden
