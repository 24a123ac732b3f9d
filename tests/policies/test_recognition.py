"""When a track is looked at and what a look changes: tables, and no mark that outlives a slip."""

from __future__ import annotations

import pytest

from mpflow.policies.identity import OTHER, Mark
from mpflow.policies.recognition import (
    CLEAR,
    NEW,
    USABLE,
    Known,
    Look,
    doubt,
    due,
    looked,
    meeting,
    sighted,
)
from mpflow.tokens import Box

BOX = (100.0, 100.0, 140.0, 150.0)
GOOD, POOR = 0.8, 0.2


def after(*looks: tuple[Mark, float], start: Known = NEW) -> Known:
    """What is known after looks that are a second apart."""
    known = start
    for number, (mark, quality) in enumerate(looks):
        known = looked(known, Look(mark, quality, float(number)))
    return known


@pytest.mark.parametrize(
    ("looks", "mark"),
    [
        ([("p0", GOOD)], "p0"),
        ([("p0", POOR)], "p0"),
        ([(None, GOOD)], None),
        ([(OTHER, GOOD)], None),
        ([(OTHER, GOOD), (OTHER, GOOD)], OTHER),
        ([(OTHER, GOOD), (None, GOOD), (OTHER, GOOD)], None),
        ([(OTHER, POOR)] * 5, None),
        ([(OTHER, POOR), (OTHER, GOOD)], None),
        ([(OTHER, GOOD), (OTHER, GOOD), (OTHER, POOR)], OTHER),
        ([(OTHER, GOOD), (OTHER, GOOD), (None, POOR)], OTHER),
        ([(OTHER, GOOD), (OTHER, GOOD), (None, GOOD)], None),
        ([(OTHER, GOOD), (OTHER, GOOD), ("p0", GOOD)], "p0"),
        ([(OTHER, GOOD), (OTHER, GOOD), ("p0", POOR)], None),
        ([("p0", GOOD), (None, POOR)], "p0"),
        ([("p0", GOOD), (None, GOOD)], None),
        ([("p0", GOOD), (OTHER, GOOD)], None),
        ([("p0", GOOD), (OTHER, GOOD), (OTHER, GOOD)], OTHER),
        ([("p0", GOOD), (OTHER, POOR)], None),
        ([("p0", GOOD), ("p1", GOOD)], "p1"),
        ([("p0", GOOD), ("p1", POOR)], None),
    ],
)
def test_a_clear_look_decides_and_a_poor_one_only_helps(
    looks: list[tuple[Mark, float]], mark: Mark
) -> None:
    assert after(*looks).mark == mark


def test_a_doubt_takes_the_mark_and_what_was_said_before_counts_no_more() -> None:
    assert doubt(after(("p0", GOOD))).mark is None
    assert after((OTHER, GOOD), start=doubt(after((OTHER, GOOD)))).mark is None


@pytest.mark.parametrize(
    ("known", "quality", "time", "is_due"),
    [
        (NEW, USABLE, 0.0, True),
        (NEW, USABLE - 0.01, 0.0, False),
        (after(("p0", GOOD)), GOOD, 1.9, False),
        (after(("p0", GOOD)), GOOD, 2.0, True),
        (after(("p0", 0.4)), 0.55, 0.3, True),
        (after(("p0", 0.4)), 0.55, 0.1, False),
        (after(("p0", 0.4)), 0.54, 0.3, False),
        (after(("p0", GOOD)), USABLE - 0.01, 90.0, False),
        (after((None, GOOD)), GOOD, 0.5, True),
        (after((None, GOOD)), GOOD, 0.4, False),
        (after((None, GOOD), (None, GOOD)), GOOD, 1.9, False),
        (after((None, GOOD), (None, GOOD)), GOOD, 2.0, True),
        (after(*[(None, GOOD)] * 9), GOOD, 10.0, True),
        (after((OTHER, GOOD)), GOOD, 0.25, True),
        (after((OTHER, POOR)), POOR, 0.25, False),
        (doubt(after(("p0", GOOD))), USABLE, 0.01, True),
        (doubt(after(("p0", GOOD))), USABLE - 0.01, 9.0, False),
    ],
)
def test_a_track_is_looked_at_when_it_may_help(
    known: Known, quality: float, time: float, is_due: bool
) -> None:
    assert due(known, quality, time, again=2.0) is is_due


@pytest.mark.parametrize(
    ("box", "time", "keeps"),
    [
        (BOX, 0.5, True),
        (BOX, 0.51, False),
        ((140.0, 100.0, 180.0, 150.0), 0.04, True),
        ((160.0, 100.0, 200.0, 150.0), 0.04, False),
        ((100.0, 160.0, 140.0, 210.0), 0.04, False),
        ((100.0, 100.0, 300.0, 350.0), 0.04, True),
    ],
)
def test_a_gap_or_a_jump_casts_doubt(box: Box, time: float, keeps: bool) -> None:
    known = sighted(after(("p0", GOOD)), BOX, 0.0)
    assert (sighted(known, box, time).mark == "p0") is keeps
    assert sighted(known, box, time).doubted is not keeps


@pytest.mark.parametrize(
    ("other", "meets"),
    [
        ((128.0, 100.0, 168.0, 150.0), True),
        ((129.0, 100.0, 169.0, 150.0), False),
        ((110.0, 110.0, 115.0, 115.0), True),
        ((140.0, 100.0, 180.0, 150.0), False),
        ((100.0, 150.0, 140.0, 200.0), False),
        ((500.0, 500.0, 540.0, 550.0), False),
    ],
)
def test_faces_meet_when_they_cover_much_of_each_other(other: Box, meets: bool) -> None:
    assert meeting(BOX, other) is meets
    assert meeting(other, BOX) is meets


def test_what_is_clear_is_usable() -> None:
    assert USABLE < CLEAR
