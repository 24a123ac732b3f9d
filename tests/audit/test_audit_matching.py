"""Which face explains a find, and which finds follow each other."""

from __future__ import annotations

import pytest

from mpflow.audit.matching import Links, explained, explains
from mpflow.boxes import overlap
from mpflow.tokens import Box

FACE = (100.0, 100.0, 200.0, 220.0)


@pytest.mark.parametrize(
    ("find", "belongs"),
    [
        (FACE, True),
        ((140, 150, 160, 170), True),  # within
        ((50, 50, 300, 300), True),  # around
        ((170, 190, 270, 300), True),  # its middle is near: what is left of a covered face
        ((230, 100, 330, 220), False),  # beside
        ((400, 400, 500, 500), False),
    ],
)
def test_a_find_belongs_to_the_face_it_lies_at(find: Box, belongs: bool) -> None:
    assert explains(FACE, find) is belongs


def test_the_face_that_it_overlaps_most_explains_a_find() -> None:
    faces = [FACE, (180.0, 100.0, 280.0, 220.0)]
    assert explained([(175, 100, 275, 220), (90, 100, 190, 220), (600, 0, 650, 50)], faces) == [
        1,
        0,
        None,
    ]
    assert explained([FACE], []) == [None]
    assert explained([], faces) == []


def test_boxes_without_area_overlap_nothing() -> None:
    assert overlap((5, 5, 5, 5), (5, 5, 5, 5)) == 0
    assert overlap(FACE, FACE) == pytest.approx(1)


def test_a_find_that_moves_a_little_keeps_its_number_and_a_new_one_gets_another() -> None:
    links = Links(patience=0.5)
    first = links.number(FACE, 0.0)
    assert first == -1
    assert links.number((110, 105, 210, 225), 0.1) == first
    assert links.number((500, 500, 600, 600), 0.1) == -2
    assert links.number((120, 110, 220, 230), 0.4) == first


def test_two_finds_of_one_frame_never_share_a_number() -> None:
    links = Links(patience=0.5)
    assert links.number(FACE, 0.0) != links.number(FACE, 0.0)


def test_a_find_that_comes_back_after_the_patience_is_another() -> None:
    links = Links(patience=0.5)
    assert links.number(FACE, 0.0) != links.number(FACE, 0.6)
