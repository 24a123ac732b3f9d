"""A face is covered where the detector missed it, and has one number all the way."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import walks
from walks import boxes_of, face_at, follow, sightings_of, straight, together, tracks_of, walking

from mpflow.tokens import Face, Sighting

WALKS = {
    "standing": straight(300, 200, 0),
    "walking": straight(100, 200, 3),
    "running": straight(0, 200, 9, 4),
    "nodding": lambda seq: (300.0, 200 + 25 * math.sin(seq / 3)),
}


@pytest.mark.parametrize("ahead", [0, 1, 10])
@pytest.mark.parametrize("walk", WALKS)
def test_a_face_that_is_missed_on_one_frame_is_covered_there(walk: str, ahead: int) -> None:
    tokens = follow(walking(WALKS[walk], 30, missed=[12]), ahead=ahead)
    assert tracks_of(tokens) == {0}
    (face,) = tokens[12].faces
    assert walks.covers(face.box, face_at(*WALKS[walk](12)))
    assert face.sighting is (Sighting.FILLED if ahead else Sighting.EXTENDED)


@pytest.mark.parametrize("ahead", [0, 10])
def test_a_face_that_is_missed_on_one_frame_of_few_is_covered_there(ahead: int) -> None:
    """One frame a second: no gap is as short as the seconds that gaps may have."""
    tokens = follow(walking(WALKS["walking"], 30, missed=[0, 12, 29]), ahead=ahead, rate=1)
    assert tracks_of(tokens) == {0}
    assert sorted(boxes_of(tokens, 0)) == list(range(0 if ahead else 1, 30))
    for seq, box in boxes_of(tokens, 0).items():
        assert walks.covers(box, face_at(*WALKS["walking"](seq))), seq


def test_who_was_seen_for_long_is_believed_for_long_however_fast_frames_come() -> None:
    frames = walking(WALKS["standing"], 600, missed=range(240, 600))
    tokens = follow(frames, rate=240, after=1.2)
    assert sorted(boxes_of(tokens, 0)) == list(range(239 + 288 + 1))


@pytest.mark.parametrize("walk", ["standing", "walking", "running"])
def test_a_gap_is_covered_from_both_sides(walk: str) -> None:
    missed = range(20, 32)
    tokens = follow(walking(WALKS[walk], 60, missed), ahead=12)
    assert tracks_of(tokens) == {0}
    for seq, box in boxes_of(tokens, 0).items():
        assert walks.covers(box, face_at(*WALKS[walk](seq))), seq
    assert len(boxes_of(tokens, 0)) == 60
    assert {sightings_of(tokens, 0)[seq] for seq in missed} == {Sighting.FILLED}


def test_a_gap_longer_than_the_look_ahead_is_covered_too() -> None:
    tokens = follow(walking(WALKS["walking"], 80, missed=range(30, 54)), ahead=10)
    assert tracks_of(tokens) == {0}
    assert len(boxes_of(tokens, 0)) == 80
    assert sightings_of(tokens, 0)[30] is Sighting.EXTENDED
    assert sightings_of(tokens, 0)[53] is Sighting.FILLED


def test_a_face_that_stays_away_longer_than_the_bridge_is_another() -> None:
    tokens = follow(walking(WALKS["standing"], 90, missed=range(20, 50)))
    assert tracks_of(tokens) == {0, 1}


def test_a_track_is_covered_before_its_first_and_after_its_last_sighting() -> None:
    missed = [*range(20), *range(40, 70)]
    tokens = follow(walking(WALKS["walking"], 70, missed), ahead=10, before=0.2, after=0.4)
    seen = sightings_of(tokens, 0)
    assert sorted(seen) == list(range(15, 50))
    assert {seen[seq] for seq in (*range(15, 20), *range(40, 50))} == {Sighting.EXTENDED}
    for seq in (18, 19, 40, 41, 42, 43):
        assert walks.covers(boxes_of(tokens, 0)[seq], face_at(*WALKS["walking"](seq)))


def test_boxes_grow_with_the_time_since_a_face_was_seen() -> None:
    tokens = follow(walking(WALKS["standing"], 40, missed=range(20, 40)))
    widths = [box[2] - box[0] for seq, box in boxes_of(tokens, 0).items() if seq >= 19]
    assert widths == sorted(widths)
    assert walks.SIZE < widths[1] < 1.2 * walks.SIZE
    assert widths[-1] <= 2.5 * walks.SIZE + 1


def test_without_look_ahead_nothing_is_covered_before_it_is_found() -> None:
    tokens = follow(walking(WALKS["walking"], 30, missed=range(10)), ahead=0)
    assert sorted(sightings_of(tokens, 0)) == list(range(10, 30))


def test_what_was_seen_but_once_is_covered_for_a_moment_only() -> None:
    tokens = follow(walking(WALKS["standing"], 60, missed={*range(60)} - {30}))
    assert sorted(sightings_of(tokens, 0)) == list(range(23, 38))


def test_nothing_is_filled_or_extended_across_a_cut() -> None:
    missed = range(18, 26)
    tokens = follow(walking(WALKS["standing"], 50, missed), cuts=[22])
    first, second = sightings_of(tokens, 0), sightings_of(tokens, 1)
    assert sorted(first) == list(range(22))
    assert sorted(second) == list(range(22, 50))
    assert first[21] is second[22] is Sighting.EXTENDED


def test_a_face_at_the_same_place_is_another_behind_a_cut() -> None:
    tokens = follow(walking(WALKS["standing"], 20), cuts=[10])
    assert [token.faces[0].track for token in tokens] == [0] * 10 + [1] * 10
    assert all(len(token.faces) == 1 for token in tokens)


def _crossing(speed: float, apart: float, hidden: int, seed: int) -> list[list[Face]]:
    """Two faces that pass each other; the one behind is not found while they overlap."""
    shaken = walks.trembling(seed, 1.0)
    left, right = straight(100, 200, speed), straight(700, 200 + apart, -speed)
    middle = 300 / speed
    frames = together(walking(left, int(2 * middle)), walking(right, int(2 * middle)))
    return [
        [shaken(face) for face in (faces[:1] if abs(seq - middle) <= hidden else faces)]
        for seq, faces in enumerate(frames)
    ]


@pytest.mark.parametrize("apart", [0.0, 25.0])
@pytest.mark.parametrize("speed", [3.0, 6.0, 12.0])
def test_people_who_cross_keep_their_numbers(speed: float, apart: float) -> None:
    for seed in range(5):
        hidden = round(walks.SIZE / 2 / speed * 0.8)  # while the boxes have a lot in common
        frames = _crossing(speed, apart, hidden, seed)
        tokens = follow(frames)
        assert tracks_of(tokens) == {0, 1}, seed
        for track, going in ((0, 1), (1, -1)):
            places = boxes_of(tokens, track)
            assert going * (places[len(frames) - 1][0] - places[0][0]) > 300, seed


def test_people_come_and_go() -> None:
    frames = together(
        walking(straight(100, 100, 2), 150, missed=range(60, 150)),
        walking(straight(500, 300, 0), 150),
        walking(straight(900, 100, -2), 150, missed=range(100)),
    )
    tokens = follow(frames)
    assert tracks_of(tokens) == {0, 1, 2}
    assert sorted(boxes_of(tokens, 1)) == list(range(150))
    assert min(boxes_of(tokens, 2)) < 100
    assert 60 < max(boxes_of(tokens, 0)) < 80


def test_a_weak_find_goes_on_with_a_track_and_begins_none() -> None:
    weak = [face_at(300, 200, score=0.3, sighting=Sighting.WEAK)]
    elsewhere = face_at(600, 100, score=0.3, sighting=Sighting.WEAK)
    frames = [[face_at(300, 200)]] * 10 + [[*weak, elsewhere]] * 10 + [[]] * 30
    tokens = follow(frames, after=0.2)
    assert tracks_of(tokens) == {0}
    seen = sightings_of(tokens, 0)
    assert max(seen) == 19 + 5
    assert {seen[seq] for seq in range(10, 20)} == {Sighting.WEAK}
    assert all(len(token.faces) <= 1 for token in tokens)


def test_a_weak_find_before_the_first_sighting_is_covered_with_it() -> None:
    weak = face_at(320, 200, sighting=Sighting.WEAK)
    elsewhere = face_at(600, 200, sighting=Sighting.WEAK)
    tokens = follow([[]] * 5 + [[weak, elsewhere]] * 3 + [[face_at(300, 200)]] * 10, before=0.1)
    assert tracks_of(tokens) == {0}
    for seq in range(5, 8):
        (face,) = tokens[seq].faces
        assert walks.covers(face.box, weak)
    seen = sightings_of(tokens, 0)
    assert min(seen) == 3
    assert {seen[seq] for seq in (5, 6, 7)} == {Sighting.WEAK}
    assert tracks_of(follow([[weak]] * 3 + [[face_at(300, 200)]] * 3, ahead=0)[:3]) == set()


def test_a_carried_box_gives_way_only_to_a_track_seen_on_both_sides() -> None:
    hull = face_at(305, 200, 90, points=(), sighting=Sighting.CARRIED)
    looks = [[face_at(300, 200)], [hull], [face_at(306, 200)], [hull], [], [], []]
    tokens = follow(looks)
    assert [len(token.faces) for token in tokens] == [1] * 7
    between, beyond = tokens[1].faces[0], tokens[3].faces[0]
    assert between.sighting is Sighting.FILLED
    assert between.box[2] - between.box[0] < 90
    assert beyond.sighting is Sighting.CARRIED
    assert walks.covers(beyond.box, hull)
    assert (between.track, beyond.track) == (0, 0)


def test_every_carried_box_is_covered_where_no_track_takes_its_place() -> None:
    one, other = (face_at(x, 200, 100, sighting=Sighting.CARRIED) for x in (300, 340))
    looks = [[face_at(300, 200), face_at(345, 200)], [one, other], [face_at(302, 200)], [], []]
    tokens = follow(looks)
    faces = tokens[1].faces
    assert any(walks.covers(face.box, other) or walks.covers(face.box, one) for face in faces)
    assert any(walks.covers(face.box, face_at(345, 200)) for face in faces)
    assert any(walks.covers(face.box, face_at(301, 200)) for face in faces)


def test_a_carried_box_stays_where_a_track_passes_through_that_was_never_at_its_ends() -> None:
    """One of two faces is in the second look no more; the other's way leads past where it was."""
    lone = face_at(360, 245, 130, points=(), sighting=Sighting.CARRIED)
    hull = replace(face_at(320, 200), box=(270.0, 170.0, 370.0, 230.0), sighting=Sighting.CARRIED)
    looks = [[face_at(300, 200), face_at(360, 245)], [hull, lone], [face_at(330, 200)], [], []]
    faces = follow(looks)[1].faces
    assert any(walks.covers(face.box, lone) for face in faces)
    assert {face.track for face in faces} == {0, 1}


def test_frames_without_time_stamps_are_followed_too() -> None:
    follower = walks.follower_with()
    for seq in range(20):
        token = walks.tokens_of([[] if seq == 12 else [face_at(3.0 * seq, 9)]], seq)[0]
        follower.add(replace(token, pts=None), token.faces, cut=False)
    tokens = list(follower.given(all_of_them=True))
    assert tracks_of(tokens) == {0}
    assert tokens[12].faces[0].sighting is Sighting.FILLED
