"""Whether frames were made of one another is seen in what moves beside the faces."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.audit.order import Order, Orderly, Pictures

SIDE, FRAMES = 24, 80
FREE = np.ones((SIDE, SIDE), bool)
Film = list[np.ndarray]


def film(frames: int, seed: int = 1, speed: float = 0.3) -> Film:
    """A strip of soft spots that passes by."""
    rng = np.random.default_rng(seed)
    strip = np.kron(rng.uniform(0, 255, (4, 40)), np.ones((6, 6)))
    columns = np.arange(strip.shape[1])
    shown = []
    for number in range(frames):
        at = np.arange(SIDE) + number * speed
        rows = [np.interp(at, columns, row) for row in strip]
        shown.append(np.asarray(rows, np.float32))
    return shown


def made_of(frames: Film, seed: int = 2) -> Film:
    """As another encoder would write it, with a cover in the middle."""
    rng = np.random.default_rng(seed)
    out = []
    for frame in frames:
        other = frame * 0.9 + 10 + rng.normal(0, 2, frame.shape)
        other[8:16, 8:16] = 90
        out.append(other.astype(np.float32))
    return out


def order(one: Film, other: Film, free: np.ndarray = FREE, reach: int = 40) -> tuple[Order, int]:
    orderly = Orderly(reach)
    for source, target in zip(one, other, strict=False):
        orderly.add(Pictures(source, target, free))
    return orderly.found


def test_an_output_of_all_frames_is_in_order() -> None:
    frames = film(FRAMES)
    assert order(frames, made_of(frames)) == (Order.IN_ORDER, 0)
    assert order(frames, made_of(frames[:30])) == (Order.IN_ORDER, 0)


@pytest.mark.parametrize("lacking", [3, 20])
def test_an_output_without_its_first_frames_and_stamped_anew_is_shifted(lacking: int) -> None:
    frames = film(FRAMES)
    assert order(frames, made_of(frames[lacking:])) == (Order.SHIFTED, -lacking)
    assert order(frames[lacking:], made_of(frames)) == (Order.SHIFTED, lacking)


def test_what_is_cut_by_more_than_is_looked_back_is_not_said_to_be_in_order() -> None:
    frames = film(FRAMES + 60)
    found, _ = order(frames, made_of(frames[60:]), reach=20)
    assert found in (Order.UNKNOWN, Order.UNRELATED)


def test_another_film_is_unrelated() -> None:
    assert order(film(FRAMES), film(FRAMES, seed=7)) == (Order.UNRELATED, 0)


def test_where_nothing_moves_nobody_knows() -> None:
    still = film(1) * FRAMES
    assert order(still, made_of(still)) == (Order.UNKNOWN, 0)
    assert order(still, made_of(still[30:])) == (Order.UNKNOWN, 0)


def test_frames_that_are_covered_whole_or_full_of_faces_tell_nothing() -> None:
    frames = film(FRAMES)
    covered = [np.full_like(each, 80) for each in frames]
    assert order(frames, covered) == (Order.UNKNOWN, 0)
    assert order(frames, made_of(frames), np.zeros_like(FREE)) == (Order.UNKNOWN, 0)
    some = [covered[n] if n % 3 == 0 else each for n, each in enumerate(frames)]
    assert order(frames, some) == (Order.IN_ORDER, 0)


def test_too_few_frames_tell_nothing() -> None:
    frames = film(5)
    assert order(frames, frames) == (Order.UNKNOWN, 0)
    assert Orderly().found == (Order.UNKNOWN, 0)
