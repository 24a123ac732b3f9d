"""What is known of tracks from frame to frame, and what later frames say of earlier ones."""

from __future__ import annotations

import pytest

from mpflow.identity.following import FORGET_S, Following, Moment, settled
from mpflow.policies.identity import Mark
from mpflow.policies.recognition import Look
from mpflow.tokens import Box, Face, Sighting

LEFT: Box = (100, 100, 150, 150)
RIGHT: Box = (300, 100, 350, 150)
NEAR: Box = (120, 100, 170, 150)


def face(track: int | None, box: Box = LEFT, sighting: Sighting = Sighting.SEEN) -> Face:
    return Face(box, 0.9, track=track, sighting=sighting)


def known(mark: Mark = "p0", track: int = 1) -> Following:
    """A track that was looked at in frame 0."""
    following = Following(again=2.0)
    following.see([face(track)], 0.0)
    following.look(track, Look(mark, 0.9, 0.0))
    return following


def mark(following: Following, track: int = 1) -> Mark:
    return following.moment().marks.get(track)


@pytest.mark.parametrize("sighting", [Sighting.FILLED, Sighting.CARRIED, Sighting.EXTENDED])
def test_a_track_keeps_its_mark_where_no_detector_saw_it(sighting: Sighting) -> None:
    following = known()
    following.see([face(1, sighting=sighting)], 0.04)
    assert mark(following) == "p0"
    assert not following.due(face(1, sighting=sighting), 1.0, 9.0)


@pytest.mark.parametrize(
    ("sighting", "keeps"),
    [(Sighting.FILLED, False), (Sighting.EXTENDED, False), (Sighting.CARRIED, True)],
)
def test_a_face_that_nobody_has_seen_for_long_is_nobodys(sighting: Sighting, keeps: bool) -> None:
    following = known()
    following.see([face(1, sighting=sighting)], 0.5)
    assert mark(following) == "p0"
    following.see([face(1, sighting=sighting)], 0.54)
    assert (mark(following) == "p0") is keeps


def test_a_track_that_was_never_seen_yet_waits_for_its_first_look() -> None:
    following = Following(again=2.0)
    following.see([face(1, sighting=Sighting.EXTENDED)], 7.0)
    assert following.moment() == Moment({1: None})


@pytest.mark.parametrize("other", [face(2, NEAR), face(None, NEAR)])
def test_two_faces_that_meet_are_nobodys_and_are_not_looked_at(other: Face) -> None:
    following = known()
    following.see([face(1), other], 0.04)
    assert mark(following) is None
    assert not following.due(face(1), 1.0, 0.04)
    assert not following.due(other, 1.0, 0.04)
    following.see([face(1), face(2, RIGHT)], 0.08)
    assert following.due(face(1), 1.0, 0.08), "at once when they part"


def test_boxes_that_are_wide_by_intention_do_not_meet() -> None:
    following = known()
    following.see([face(1), face(2, NEAR, Sighting.CARRIED), face(3, NEAR, Sighting.EXTENDED)], 0.1)
    assert mark(following) == "p0"


def test_a_track_that_comes_back_after_a_gap_is_looked_at_before_it_is_believed() -> None:
    following = known()
    following.see([], 0.3)
    following.see([face(1)], 0.6)
    assert mark(following) is None
    assert following.moment().slipped == {1}
    assert following.due(face(1), 0.9, 0.6)
    following.look(1, Look("p0", 0.9, 0.6))
    assert mark(following) == "p0"


def test_a_face_without_a_track_is_never_looked_at() -> None:
    following = Following(again=2.0)
    following.see([face(None)], 0.0)
    assert not following.due(face(None), 1.0, 0.0)


def test_a_track_that_is_long_gone_is_forgotten() -> None:
    following = known()
    following.see([], FORGET_S + 0.1)
    assert following.moment().marks == {}


NOT_YET = Moment({1: None})
KNOWN = Moment({1: "p0"})
ELSEWHERE = Moment({2: "p1"})
SLIPPED = Moment({1: "p0"}, slipped=frozenset({1}))
UNSURE_AFTER_A_SLIP = Moment({1: None}, slipped=frozenset({1}))
MEETING = Moment({1: None}, meeting=frozenset({1}))


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([KNOWN], "p0"),
        ([NOT_YET], None),
        ([NOT_YET, NOT_YET, KNOWN], "p0"),
        ([NOT_YET, ELSEWHERE, KNOWN], "p0"),
        ([ELSEWHERE], None),
        ([SLIPPED], "p0"),
        ([NOT_YET, SLIPPED, KNOWN], None),
        ([UNSURE_AFTER_A_SLIP, KNOWN], "p0"),
        ([MEETING, KNOWN], None),
        ([NOT_YET, MEETING, KNOWN], None),
        ([KNOWN, MEETING], "p0"),
    ],
)
def test_later_frames_tell_who_it_was_up_to_where_the_track_may_have_slipped(
    moments: list[Moment], expected: Mark
) -> None:
    assert settled(1, moments) == expected
