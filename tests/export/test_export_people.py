"""Which tracks are one person."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.export.people import grouped, seen_together


def vectors(*angles: float) -> np.ndarray:
    """Directions in a plane, by degrees: their cosine is that of the angle between them."""
    turns = np.radians(angles)
    return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)


@pytest.mark.parametrize(
    ("angles", "apart", "groups"),
    [
        ((), [], []),
        ((0,), [], [0]),
        ((0, 10), [], [0, 0]),
        ((0, 90), [], [0, 1]),
        ((0, 10), [(0, 1)], [0, 1]),
        ((0, 90, 5, 95), [], [0, 1, 0, 1]),
        ((90, 0, 95, 5), [], [0, 1, 0, 1]),
        # the nearest pair comes first, so that the third may join neither
        ((0, 10, 20), [(0, 1)], [0, 1, 1]),
        ((0, 10, 20), [(0, 1), (1, 2), (0, 2)], [0, 1, 2]),
        # who was seen with one of a group is none of the group
        ((0, 1, 3), [(0, 2)], [0, 0, 1]),
    ],
)
def test_tracks_are_grouped_by_likeness_unless_they_were_seen_together(
    angles: tuple[float, ...], apart: list[tuple[int, int]], groups: list[int]
) -> None:
    assert grouped(vectors(*angles).reshape(-1, 2), apart, 0.42) == groups


def test_a_chain_of_likenesses_is_not_one_person() -> None:
    """Each is like the next; on average the ends are not alike."""
    groups = grouped(vectors(0, 60, 120, 180), [], np.cos(np.radians(61)))
    assert groups == [0, 0, 1, 1]


def test_many_noisy_tracks_of_few_people_are_told_apart() -> None:
    random = np.random.default_rng(7)
    people = random.normal(size=(5, 128))
    people /= np.linalg.norm(people, axis=1, keepdims=True)
    truth = random.integers(0, 5, 60)
    faces = people[truth] + random.normal(size=(60, 128)) * 0.05
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    groups = grouped(faces.astype(np.float32), [], 0.42)
    assert len(set(zip(groups, truth.tolist(), strict=True))) == len(set(truth.tolist()))


@pytest.mark.parametrize(
    ("spans", "pairs"),
    [
        ([(0, 9), (10, 19)], []),
        ([(0, 10), (10, 19)], [(0, 1)]),
        ([(0, 99), (10, 19), (50, 60)], [(0, 1), (0, 2)]),
    ],
)
def test_tracks_that_share_a_frame_were_seen_together(
    spans: list[tuple[int, int]], pairs: list[tuple[int, int]]
) -> None:
    assert seen_together(spans) == pairs
