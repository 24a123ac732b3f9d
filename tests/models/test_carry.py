"""Between two looks a face stays in its box, and whatever makes that doubtful asks for a look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.memory import MemorySlot
from mpflow.models.carry import (
    LEAST,
    LONGEST_S,
    SPEED,
    Carrier,
    Look,
    carry,
    sample_of,
)
from mpflow.tokens import Face, Token

FPS = 30
FLAT = np.full((18, 32), 100, np.int16)
FACE = Face((100, 100, 140, 150), 0.9, ((110, 110),) * 5)


def token(seq: int, time: float | None = None) -> Token:
    pts = seq if time is None else round(time * FPS)
    return Token("run", seq, pts=pts, time_base=(1, FPS))


def look(seq: int = 0) -> Look:
    return Look(seq, token(seq).time, FLAT)


def slot(value: int, name: str = "yuv420p", size: tuple[int, int] = (64, 48)) -> MemorySlot:
    made = MemorySlot.of(name, *size)
    for plane in made.frame().fill_planes():
        plane[...] = value
    return made


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
    assert look().reaches(token(seq), FLAT, every) is reached


def test_the_frames_that_are_looked_at_have_set_numbers() -> None:
    """A run that goes on at frame 7 looks at 7, and then at the frames it would have looked at."""
    assert [n for n in range(8, 16) if not look(7).reaches(token(n), FLAT, 4)][:1] == [8]


def test_a_gap_of_frames_or_of_time_asks_for_a_look() -> None:
    assert not look(1).reaches(token(4), FLAT, 3)  # 2 and 3 were dropped
    late = token(1, time=LONGEST_S + 0.1)
    assert not look().reaches(late, FLAT, 10)
    assert not look(5).reaches(token(6, time=0.0), FLAT, 10)  # the clock went back


def test_another_scene_asks_for_a_look_and_noise_does_not() -> None:
    noise = FLAT + np.random.default_rng(1).integers(-20, 21, FLAT.shape, np.int16)
    assert look().reaches(token(1), noise, 2)
    scene = np.random.default_rng(2).integers(0, 256, FLAT.shape).astype(np.int16)
    assert not look().reaches(token(1), scene, 2)
    assert not look().reaches(token(1), np.zeros((9, 16), np.int16), 2)


@given(
    frames=st.integers(1, 10),
    speed=st.floats(0, SPEED),
    angle=st.floats(0, 6.3),
    corner=st.tuples(st.floats(-50, 2000), st.floats(-50, 2000)),
    size=st.tuples(st.floats(4, 400), st.floats(4, 400)),
)
def test_a_face_that_moves_no_faster_than_expected_stays_inside(
    frames: int,
    speed: float,
    angle: float,
    corner: tuple[float, float],
    size: tuple[float, float],
) -> None:
    box = (*corner, corner[0] + size[0], corner[1] + size[1])
    (carried,) = carry(look(), [Face(box, 0.9)], token(frames))
    way = speed * max(size) * frames / FPS
    moved = np.array(box) + way * np.array([np.cos(angle), np.sin(angle)] * 2)
    grown = np.array(carried.box)
    assert (grown[:2] <= moved[:2] + 1e-6).all() and (grown[2:] >= moved[2:] - 1e-6).all()


def test_boxes_grow_with_every_frame_even_without_a_clock() -> None:
    still = Look(0, None, FLAT)
    widths = []
    for frames in range(1, 5):
        (face,) = carry(still, [FACE], Token("run", frames))
        widths.append(face.box[2] - face.box[0])
    assert widths == pytest.approx([40 + 2 * LEAST * 50 * n for n in range(1, 5)])


def test_carried_faces_keep_their_score_and_have_no_points() -> None:
    (face,) = carry(look(), [FACE], token(1))
    assert (face.score, face.points, face.track) == (0.9, (), None)


def test_a_plan_looks_at_the_first_frame_and_at_each_so_manieth() -> None:
    carrier, made = Carrier(), slot(90)
    frames = [(token(n), made.frame(), False) for n in range(7)]
    plan = carrier.plan(frames, 3)
    assert [each.seq for each in plan if each] == [0, 3, 6]
    assert all(carrier.plan(frames, 1))


def test_a_frame_under_suspicion_is_looked_at() -> None:
    carrier, made = Carrier(), slot(90)
    frames = [(token(n), made.frame(), n == 2) for n in range(4)]
    assert [each.seq for each in carrier.plan(frames, 10) if each] == [0, 2]


def test_looks_that_failed_are_not_remembered() -> None:
    carrier, made = Carrier(), slot(90)
    carrier.plan([(token(0), made.frame(), False)], 5)
    (again,) = carrier.plan([(token(1), made.frame(), False)], 5)
    assert again is not None


def test_faces_are_carried_from_the_last_look_until_another_input_begins() -> None:
    carrier, made = Carrier(), slot(90)
    (first, second) = carrier.plan([(token(n), made.frame(), False) for n in (0, 1)], 5)
    assert first is not None and second is None
    assert carrier.looked(first, token(0), [FACE]).faces == (FACE,)
    carried = carrier.carried(token(1))
    assert carried.fields["detect.carried"] == 1
    assert carried.faces[0].box[0] < FACE.box[0]
    carrier.forget()
    assert carrier.plan([(token(2), made.frame(), False)], 5)[0] is not None


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
