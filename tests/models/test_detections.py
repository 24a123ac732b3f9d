from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.errors import ContractError
from mpflow.models.centerface import OUTPUTS, CenterFace
from mpflow.models.detections import (
    MOST_CANDIDATES,
    Floats,
    best_of,
    best_of_each,
    check_blobs,
    non_maximum_suppression,
    none_found,
)
from mpflow.models.yunet import YuNet


def overlap(one: Floats, other: Floats) -> float:
    """Intersection over union, the way one would do it by hand."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(width, 0) * max(height, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(shared / (areas - shared)) if areas > shared else 0.0


def kept_by_hand(boxes: Floats, scores: Floats, iou: float) -> list[int]:
    kept: list[int] = []
    for index in sorted(range(len(scores)), key=lambda index: -scores[index]):
        if all(overlap(boxes[index], boxes[better]) <= iou for better in kept):
            kept.append(index)
    return kept


@given(
    st.lists(
        st.tuples(*[st.integers(0, 40)] * 2, *[st.integers(1, 20)] * 2, st.integers(0, 9)),
        min_size=1,
        max_size=40,
    )
)
def test_suppression_is_what_one_gets_by_hand(drawn: list[tuple[int, ...]]) -> None:
    values = np.array(drawn, np.float32)
    boxes = np.hstack([values[:, :2], values[:, :2] + values[:, 2:4]])
    found = non_maximum_suppression(boxes, values[:, 4], 0.31)
    assert found.tolist() == kept_by_hand(boxes, values[:, 4], 0.31)


class Broken:
    """A session whose network gives NaN at one place of one output."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], broken: str) -> None:
        self.outputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        if broken:
            self.outputs[broken].flat[3] = np.nan

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="input")]

    def run(self, names: Sequence[str], feed: object) -> list[Floats]:
        return [self.outputs[name] for name in names]


CELLS = {8: 64, 16: 16, 32: 4}
YUNET = {
    f"{kind}_{stride}": (1, cells, values)
    for stride, cells in CELLS.items()
    for kind, values in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10))
}
CENTERFACE = {name: (1, count, 16, 16) for name, count in zip(OUTPUTS, (1, 2, 2, 10), strict=True)}


@pytest.mark.parametrize(
    ("kind", "shapes", "broken"),
    [*((YuNet, YUNET, name) for name in YUNET), *((CenterFace, CENTERFACE, n) for n in CENTERFACE)],
)
def test_values_that_are_no_numbers_are_a_failure_and_not_a_picture_without_faces(
    kind: type, shapes: dict[str, tuple[int, ...]], broken: str
) -> None:
    blob = np.zeros((1, 3, 64, 64), np.float32)
    assert len(kind(Broken(shapes, "")).detect(blob)[0]) == 0
    with pytest.raises(FloatingPointError, match="no numbers"):
        kind(Broken(shapes, broken)).detect(blob)


def test_a_box_without_area_is_found_once() -> None:
    boxes = np.array([[5, 5, 5, 5], [0, 0, 9, 9]], np.float32)
    assert non_maximum_suppression(boxes, np.array([0.9, 0.8], np.float32), 0.3).tolist() == [0, 1]


def test_of_very_many_candidates_the_best_are_kept() -> None:
    count = MOST_CANDIDATES + 200
    corner = np.arange(count, dtype=np.float32)[:, None] * 10
    boxes = np.hstack([corner, corner, corner + 5, corner + 5])
    scores = np.linspace(0.1, 0.9, count, dtype=np.float32)
    found = best_of(boxes, scores, np.zeros((count, 5, 2), np.float32), 0.3)
    np.testing.assert_array_equal(found.scores, scores[:199:-1])


def test_candidates_of_several_pictures_are_told_apart() -> None:
    box = np.array([[0, 0, 9, 9]], np.float32)
    points = np.zeros((1, 5, 2), np.float32)
    parts = [
        (np.array([picture]), box, np.array([score], np.float32), points)
        for picture, score in ((2, 0.5), (0, 0.9), (2, 0.7))
    ]
    found = best_of_each(parts, 3, 0.3)
    assert [each.scores.tolist() for each in found] == [
        [pytest.approx(0.9)],
        [],
        [pytest.approx(0.7)],
    ]


def test_nothing_found_has_the_right_shapes() -> None:
    none = none_found().scaled(2.0)
    assert (len(none), none.boxes.shape, none.points.shape) == (0, (0, 4), (0, 5, 2))


@pytest.mark.parametrize(
    "blobs",
    [
        np.zeros((1, 3, 64, 64), np.uint8),
        np.zeros((3, 64, 64), np.float32),
        np.zeros((1, 1, 64, 64), np.float32),
        np.zeros((1, 3, 64, 100), np.float32),
        np.zeros((1, 3, 0, 64), np.float32),
    ],
)
def test_a_blob_of_another_kind_is_refused(blobs: Floats) -> None:
    with pytest.raises(ContractError):
        check_blobs(blobs, 32)
