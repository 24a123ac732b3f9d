"""Boxes and points tremble less, and never lag behind."""

from __future__ import annotations

import math

import numpy as np
import pytest
import walks
from walks import face_at, follow, straight

from mpflow.tokens import Face, Token


def _points(tokens: list[Token]) -> np.ndarray:
    return np.array([token.faces[0].points for token in tokens])


def _true(walk: walks.Walk, frames: int) -> list[Face]:
    return [face_at(*walk(seq)) for seq in range(frames)]


@pytest.mark.parametrize("speed", [0.0, 3.0, 12.0])
def test_points_of_an_even_motion_tremble_less_and_do_not_lag(speed: float) -> None:
    shaken = walks.trembling(7, 1.0)
    true = _true(straight(100, 200, speed, speed / 2), 80)
    frames = [[shaken(face)] for face in true]
    wanted = np.array([face.points for face in true])
    off = _points(follow(frames, smooth=2)) - wanted
    before = _points(follow(frames)) - wanted
    assert off.std() < 0.6 * before.std()
    assert abs(off[5:-5].mean()) < 0.1  # behind or ahead: along the way, it would add up


def test_a_sudden_motion_is_followed_at_once() -> None:
    places = [(300.0, 200.0)] * 10 + [(300.0 + 15 * n, 200.0) for n in range(10)]
    true = [face_at(*place) for place in places]
    tokens = follow([[face] for face in true], smooth=2)
    off = np.abs(_points(tokens) - np.array([face.points for face in true])).max()
    assert off <= 0.08 * walks.SIZE


def test_a_box_is_never_smaller_than_what_was_found() -> None:
    shaken = walks.trembling(3, 1.5)
    frames = [[shaken(face_at(300 + 20 * math.sin(n / 4), 200))] for n in range(60)]
    for token, (face,) in zip(follow(frames, smooth=3), frames, strict=True):
        assert walks.covers(token.faces[0].box, face)


def test_ends_and_gaps_are_left_as_they_were_found() -> None:
    shaken = walks.trembling(5, 1.0)
    frames = [[shaken(face_at(300, 200))] for _ in range(9)]
    tokens = follow(frames, smooth=4)
    assert tokens[0].faces[0].box == frames[0][0].box
    assert tokens[-1].faces[0].points == frames[-1][0].points
