"""Between two looks a face stays in its box, and whatever makes that doubtful asks for a look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.memory import MemorySlot
from mpflow.models.carry import LEAST, LONGEST_S, SPEED, Carrier, Look, View, between, sample_of
from mpflow.tokens import Face, Token

FPS = 30
FLAT = np.full((18, 32), 100, np.int16)
SCENE = np.random.default_rng(2).integers(0, 256, FLAT.shape).astype(np.int16)
FACE = Face((100, 100, 140, 150), 0.9, ((110, 110),) * 5)
AWAY = Face((600, 300, 640, 350), 0.7, ((610, 310),) * 5)


def view(seq: int = 0, time: float | None = -1.0, sample: Any = FLAT) -> View:
    return View(seq, seq / FPS if time == -1.0 else time, sample)


def token(seq: int) -> Token:
    return Token("run", seq, pts=seq, time_base=(1, FPS))


def slot(value: int, name: str = "yuv420p", size: tuple[int, int] = (64, 48)) -> MemorySlot:
    made = MemorySlot.of(name, *size)
    for plane in made.frame().fill_planes():
        plane[...] = value
    return made


def moved(face: Face, x: float, y: float = 0.0) -> Face:
    x1, y1, x2, y2 = face.box
    return Face((x1 + x, y1 + y, x2 + x, y2 + y), face.score)


def inside(face: Face, other: Face) -> bool:
    one, wide = np.array(face.box), np.array(other.box)
    return bool((wide[:2] <= one[:2] + 1e-6).all() and (wide[2:] >= one[2:] - 1e-6).all())


@pytest.mark.parametrize(
    ("seq", "every", "reached"),
    [
        (1, 2, True),
        (2, 2, False),  # its own look is due
        (1, 1, False),
        (4, 5, True),
        (5, 5, False),
        (0, 3, False),  # the frame itself, made again
    ],
)
def test_a_look_reaches_as_far_as_every_says(seq: int, every: int, reached: bool) -> None:
    assert view().reaches(view(seq), every) is reached


def test_the_frames_that_are_looked_at_have_set_numbers() -> None:
    """A run that goes on at frame 7 looks at 7, and then at the frames it would have looked at."""
    assert [n for n in range(8, 16) if not view(7).reaches(view(n), 4)][:1] == [8]


def test_a_gap_of_frames_or_of_time_asks_for_a_look() -> None:
    assert not view(1).reaches(view(4), 3)  # 2 and 3 were dropped
    assert not view().reaches(view(1, time=LONGEST_S + 0.1), 10)
    assert not view(5).reaches(view(6, time=0.0), 10)  # the clock went back
    assert view().reaches(view(1, time=None), 10)


def test_another_scene_asks_for_a_look_and_noise_does_not() -> None:
    noise = FLAT + np.random.default_rng(1).integers(-20, 21, FLAT.shape, np.int16)
    assert view().reaches(view(1, sample=noise), 2)
    assert not view().reaches(view(1, sample=SCENE), 2)
    assert not view().reaches(view(1, sample=np.zeros((9, 16), np.int16)), 2)


@given(
    frames=st.integers(1, 10),
    speed=st.floats(0, SPEED),
    angle=st.floats(0, 6.3),
    place=st.tuples(*[st.floats(-50, 2000)] * 2, *[st.floats(4, 400)] * 2),
    back=st.booleans(),
)
def test_a_face_that_moves_no_faster_than_expected_stays_inside(
    frames: int,
    speed: float,
    angle: float,
    place: tuple[float, float, float, float],
    back: bool,
) -> None:
    x, y, width, height = place
    face = Face((x, y, x + width, y + height), 0.9)
    here, there = (view(frames), view()) if back else (view(), view(frames))
    (grown,) = here.grown([face], there)
    way = speed * max(width, height) * frames / FPS
    assert inside(moved(face, way * np.cos(angle), way * np.sin(angle)), grown)


def test_boxes_grow_with_every_frame_even_without_a_clock() -> None:
    widths = []
    for frames in range(1, 5):
        (face,) = view(time=None).grown([FACE], view(frames, time=None))
        widths.append(face.box[2] - face.box[0])
    assert widths == pytest.approx([40 + 2 * LEAST * 50 * n for n in range(1, 5)])


def test_carried_faces_keep_their_score_and_have_no_points() -> None:
    (face,) = view().grown([FACE], view(1))
    assert (face.score, face.points, face.track) == (0.9, (), None)


@pytest.mark.parametrize("step", [0.25, 0.5, 0.75])
def test_a_face_in_both_looks_is_covered_from_one_place_to_the_other(step: float) -> None:
    far = moved(FACE, 30, -20)
    before, after = Look(view(0), [FACE]), Look(view(4), [far])
    here = view(round(4 * step))
    (face,) = between(before, here, after)
    assert inside(moved(FACE, 30 * step, -20 * step), face)
    assert inside(FACE, face) and inside(far, face)
    assert face.score == 0.9


def test_a_face_of_one_look_alone_is_covered_too() -> None:
    came = between(Look(view(0), [FACE]), view(1), Look(view(2), [FACE, AWAY]))
    went = between(Look(view(0), [FACE, AWAY]), view(1), Look(view(2), [FACE]))
    for faces in (came, went):
        assert len(faces) == 2
        assert any(inside(AWAY, face) for face in faces)


def test_two_faces_side_by_side_are_told_apart_by_the_nearer_place() -> None:
    other = moved(FACE, 45)
    looks = Look(view(0), [FACE, other]), Look(view(2), [moved(other, 4), moved(FACE, 4)])
    first, second = between(looks[0], view(1), looks[1])
    assert first.box[2] < other.box[2] and second.box[0] > FACE.box[0]


def tokens_of(carrier: Carrier, plan: Any, faces: Any) -> list[Token]:
    """What comes out while frames with these views go in; ``faces`` are found by each look."""
    given: list[Token] = []
    for seen, looks in plan:
        if looks:
            given += carrier.looked(token(seen.seq), seen, faces(seen.seq))
        else:
            given += carrier.passed(token(seen.seq), seen)
    return given


def planned(carrier: Carrier, count: int, every: int, **musts: bool) -> Any:
    made = slot(90)
    return carrier.plan(
        [(token(n), made.frame(), musts.get(f"n{n}", False)) for n in range(count)], every
    )


def test_a_plan_looks_at_the_first_frame_and_at_each_nth() -> None:
    plan = planned(Carrier(), 7, 3)
    assert [seen.seq for seen, looks in plan if looks] == [0, 3, 6]
    assert all(looks for _, looks in planned(Carrier(), 7, 1))


def test_a_frame_under_suspicion_is_looked_at() -> None:
    plan = planned(Carrier(), 4, 10, n2=True)
    assert [seen.seq for seen, looks in plan if looks] == [0, 2]


def test_looks_that_failed_are_not_remembered() -> None:
    carrier = Carrier()
    planned(carrier, 1, 5)
    ((_, looks),) = planned(carrier, 1, 5)
    assert looks


def test_frames_wait_for_the_next_look_and_come_in_their_order() -> None:
    carrier = Carrier(ahead=2)
    plan = planned(carrier, 8, 3)
    given = tokens_of(carrier, plan, lambda seq: [FACE, AWAY] if seq >= 3 else [FACE])
    assert [each.seq for each in given] == [0, 1, 2, 3, 4, 5, 6]
    assert [len(each.faces) for each in given] == [1, 2, 2, 2, 2, 2, 2]
    assert [each.fields.get("detect.carried") for each in given] == [None, 1, 2, None, 1, 2, None]
    (last,) = carrier.flush()
    assert (last.seq, len(last.faces), list(carrier.flush())) == (7, 2, [])


def test_without_waiting_a_frame_gets_the_faces_of_the_last_look() -> None:
    carrier = Carrier(ahead=0)
    given = tokens_of(carrier, planned(carrier, 4, 3), lambda seq: [FACE] if seq < 3 else [])
    assert [len(each.faces) for each in given] == [1, 1, 1, 0]


def test_no_more_frames_wait_than_may() -> None:
    carrier = Carrier(ahead=1)
    plan = planned(carrier, 4, 10)
    given = tokens_of(carrier, plan, lambda seq: [FACE])
    assert [each.seq for each in given] == [0, 1, 2]
    assert [each.seq for each in carrier.flush()] == [3]


def test_a_look_at_another_scene_says_nothing_of_the_frames_before_it() -> None:
    carrier = Carrier(ahead=5)
    plan = [(view(0), True), (view(1), False), (view(2, sample=SCENE), True)]
    given = tokens_of(carrier, plan, lambda seq: [AWAY] if seq else [FACE])
    assert [len(each.faces) for each in given] == [1, 1, 1]
    assert inside(FACE, given[1].faces[0])


def test_another_input_begins_with_a_look_and_nobody_waits() -> None:
    carrier = Carrier(ahead=3)
    tokens_of(carrier, planned(carrier, 2, 5), lambda seq: [FACE])
    carrier.forget()
    assert list(carrier.flush()) == []
    assert carrier.plan([(token(2), slot(90).frame(), False)], 5)[0][1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("yuv420p", 200), ("nv12", 200), ("yuv420p10le", 800), ("p010le", 800 << 6), ("gray", 200)],
)
def test_a_sample_is_eight_bits_whatever_the_format(name: str, value: int) -> None:
    made: Any = slot(value, name)
    sample = sample_of(made.frame())
    assert sample.shape == (18, 32) and sample.dtype == np.int16
    assert (sample == 200).all()


def test_a_tiny_picture_has_a_sample_too() -> None:
    assert sample_of(slot(50, size=(2, 2)).frame()).shape == (18, 32)
