"""Frame after frame: which faces are marked, as what, and how often it is looked who they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scenes

from mpflow.audit.examination import Examination, Rules, View
from mpflow.audit.eyes import Pair
from mpflow.audit.placing import Canvas
from mpflow.audit.subject import Subject
from mpflow.audit.verdicts import Likeness, Limits, Verdict
from mpflow.frame import Frame
from mpflow.memory import MemorySlot
from mpflow.tokens import Box, Face, Point, Sighting

CANVAS = Canvas(160, 120)
BOX = (40.0, 30.0, 90.0, 90.0)
ELSEWHERE = (110.0, 10.0, 140.0, 40.0)
POINTS: tuple[Point, ...] = ((50, 50), (75, 50), (62, 62), (52, 75), (73, 75))


class FakeEyes:
    """Says what it was told to say, and counts."""

    def __init__(self, likeness: float = 0.1, closer: float = 0.0) -> None:
        self.shown = likeness
        self.closer = closer
        self.looks = 0

    def likeness(self, pair: Pair, points: Sequence[Point]) -> Likeness:
        self.looks += 1
        return Likeness(self.shown, 0.1)

    def nearer(self, frame: Frame, box: Box) -> float:
        return self.closer


@pytest.fixture(scope="module")
def slots() -> tuple[MemorySlot, MemorySlot]:
    """An input with detail, and an output in which it is covered."""
    grain = np.random.default_rng(1).integers(0, 255, (120, 160, 1), np.uint8)
    before = np.repeat(grain, 3, axis=2)
    after = before.copy()
    after[20:110, 20:110] = 90
    return scenes.slot(before), scenes.slot(after)


class Walk:
    """Shows an examination pair after pair, 25 a second."""

    def __init__(
        self, slots: tuple[MemorySlot, MemorySlot], eyes: FakeEyes | None = None, **options: object
    ) -> None:
        self.eyes = eyes or FakeEyes()
        self.slots = slots
        rules = Rules(Limits(), every=0.4, **options)
        self.examination = Examination(self.eyes, (CANVAS, CANVAS), rules)
        self.frame = 0

    def pair(
        self,
        faces: Sequence[Face] = (),
        finds: Sequence[Face] = (),
        *,
        covered: bool = True,
        asked: bool = True,
    ) -> None:
        before, after = self.slots if covered else (self.slots[0], self.slots[0])
        time = self.frame / 25
        self.examination.pair(
            View(self.frame, time, before.frame(), faces, asked),
            View(self.frame, time, after.frame(), finds),
        )
        self.frame += 1

    @property
    def found(self) -> list[tuple[int | None, Verdict, str]]:
        subjects: list[Subject] = [
            *self.examination.tracks.values(),
            *self.examination.strays.values(),
        ]
        return [
            (finding.track, finding.verdict, finding.frames)
            for subject in subjects
            for finding, _ in subject.findings()
        ]


def face(track: int | None = 0, sighting: Sighting = Sighting.SEEN, **values: object) -> Face:
    return Face(BOX, 0.9, POINTS, track=track, sighting=sighting, **values)


def find(score: float, box: Box = BOX) -> Face:
    return Face(box, score)


def test_a_covered_face_is_no_finding_and_is_looked_at_now_and_then(slots) -> None:
    walk = Walk(slots)
    for _ in range(25):
        walk.pair([face()])
    assert walk.found == []
    assert walk.eyes.looks == 3
    (subject,) = walk.examination.tracks.values()
    assert (subject.frames, subject.looks, subject.cover is not None) == (25, 3, True)


def test_five_open_frames_are_exactly_those_frames(slots) -> None:
    walk = Walk(slots)
    for number in range(20):
        walk.pair([face()], [find(0.9)] if 8 <= number <= 12 else [], covered=not 8 <= number <= 12)
    assert walk.found == [(0, Verdict.VISIBLE, "8-12")]
    assert walk.eyes.looks == 3, "at first, where it begins to show, and 0.4 s after that"


def test_an_open_face_that_no_detector_sees_is_unchanged(slots) -> None:
    walk = Walk(slots)
    for sighting in (Sighting.SEEN, Sighting.FILLED, Sighting.CARRIED):
        walk.pair([face(sighting=sighting)], covered=False)
    walk.pair([face(sighting=Sighting.EXTENDED)], covered=False)  # nobody may be there
    assert walk.found == [(0, Verdict.UNCHANGED, "0-2")]


def test_who_can_be_recognised_is_so_though_no_detector_sees_a_face(slots) -> None:
    walk = Walk(slots, FakeEyes(likeness=0.6))
    walk.pair([face()])
    walk.pair([face()])
    assert walk.found == [(0, Verdict.RECOGNISABLE, "0")]


def test_a_faint_find_on_a_covered_face_takes_an_enlarged_look(slots) -> None:
    seen, unseen = Walk(slots, FakeEyes(closer=0.3)), Walk(slots, FakeEyes(closer=0.05))
    for walk in (seen, unseen):
        walk.pair([face()], [find(0.3)])
    assert seen.found == [(0, Verdict.VISIBLE, "0")]
    assert unseen.found == [(0, Verdict.DOUBTFUL, "0")]


def test_a_find_where_the_input_has_no_face_is_unexplained_or_doubtful(slots) -> None:
    sure, doubtful = Walk(slots, FakeEyes(closer=0.8)), Walk(slots, FakeEyes(closer=0.3))
    for walk in (sure, doubtful):
        for _ in range(3):
            walk.pair([face()], [find(0.4, ELSEWHERE)])
    assert sure.found == [(None, Verdict.UNEXPLAINED, "0-2")]
    assert doubtful.found == [(None, Verdict.DOUBTFUL, "0-2")]


def test_people_of_the_gallery_are_listed_as_kept(slots) -> None:
    walk = Walk(slots, people="except")
    walk.pair([face(0, identity="p0")], [find(0.9)], covered=False)
    walk.pair([face(1, identity=None)], [find(0.9)], covered=False)
    walk.pair([face(2, identity="other")], [find(0.9)], covered=False)
    assert walk.found == [
        (0, Verdict.KEPT, "0"),
        (1, Verdict.VISIBLE, "1"),
        (2, Verdict.VISIBLE, "2"),
    ]


def test_whoever_shows_beside_a_kept_face_is_not_taken_for_it(slots) -> None:
    cheek_to_cheek = (72.0, 32.0, 118.0, 92.0)
    walk = Walk(slots, FakeEyes(closer=0.8), people="except")
    walk.pair([face(0, identity="p0")], [find(0.8), find(0.9, cheek_to_cheek)], covered=False)
    assert walk.found == [(0, Verdict.KEPT, "0"), (None, Verdict.UNEXPLAINED, "0")]


def test_whoever_shows_where_a_kept_face_was_or_will_be_is_nobody_that_is_known(slots) -> None:
    walk = Walk(slots, FakeEyes(closer=0.8), people="except")
    walk.pair([face(0, Sighting.SEEN, identity="p0")], [find(0.9)], covered=False)
    walk.pair([face(0, Sighting.FILLED, identity="p0")], [find(0.9)], covered=False)
    walk.pair([face(0, Sighting.EXTENDED, identity="p0")], [find(0.9)], covered=False)
    walk.pair([face(0, Sighting.EXTENDED, identity="p0")], covered=False)
    assert walk.found == [(0, Verdict.KEPT, "0-1"), (0, Verdict.DOUBTFUL, "2")]
    spans = Walk(slots, people="except")
    spans.pair([face(0, Sighting.EXTENDED, identity="p0")], [find(0.9)], covered=False, asked=False)
    assert spans.found == [(0, Verdict.KEPT, "0")]


def test_the_edges_of_one_cover_are_one_face(slots) -> None:
    walk = Walk(slots, FakeEyes(closer=0.8))
    walk.pair([face()], [find(0.8), find(0.9, (72.0, 32.0, 118.0, 92.0))])
    assert walk.found == [(0, Verdict.VISIBLE, "0")]


def test_only_the_gallery_s_people_and_the_unsure_must_be_covered(slots) -> None:
    walk = Walk(slots, people="only")
    walk.pair([face(0, identity="p0")], [find(0.9)], covered=False)
    walk.pair([face(1, identity=None)], [find(0.9)], covered=False)
    walk.pair([face(2, identity="other")], [find(0.9)], covered=False)
    verdicts = [verdict for _, verdict, _ in walk.found]
    assert verdicts == [Verdict.VISIBLE, Verdict.VISIBLE, Verdict.KEPT]


def test_outside_of_the_spans_everything_is_kept(slots) -> None:
    walk = Walk(slots, FakeEyes(closer=0.9))
    walk.pair([face()], [find(0.9), find(0.9, ELSEWHERE)], covered=False, asked=False)
    assert walk.found == [(0, Verdict.KEPT, "0"), (None, Verdict.KEPT, "0")]


def test_another_face_over_a_covered_one_is_replaced_only_where_that_is_allowed(slots) -> None:
    allowed, strict = Walk(slots, replaced=True), Walk(slots)
    for walk in (allowed, strict):
        walk.pair([face()], [find(0.9)])
        walk.pair([face(sighting=Sighting.EXTENDED)], [find(0.9)])
    assert allowed.found == [(0, Verdict.REPLACED, "0-1")]
    assert strict.found == [(0, Verdict.VISIBLE, "0-1")]


def test_a_replaced_face_that_is_like_the_person_or_left_as_it_was_still_shows(slots) -> None:
    alike, open_face = Walk(slots, FakeEyes(0.7), replaced=True), Walk(slots, replaced=True)
    alike.pair([face()], [find(0.9)])
    open_face.pair([face()], [find(0.9)], covered=False)
    assert alike.found == [(0, Verdict.RECOGNISABLE, "0")]
    assert open_face.found == [(0, Verdict.VISIBLE, "0")]


def test_faces_in_frames_that_the_input_does_not_have_are_unexplained(slots) -> None:
    walk = Walk(slots, FakeEyes(closer=0.9))
    walk.examination.extra(View(7, 0.28, slots[0].frame(), [find(0.9)]))
    assert walk.found == [(None, Verdict.UNEXPLAINED, "7")]
    (finding, shot), *_ = walk.examination.strays[-1].findings()
    assert finding.extra
    assert shot is not None
    assert shot.before is None


def test_faces_without_a_track_get_numbers_below_zero(slots) -> None:
    walk = Walk(slots)
    for _ in range(3):
        walk.pair([face(track=None)], [find(0.9)], covered=False)
    assert walk.found == [(-1, Verdict.VISIBLE, "0-2")]
