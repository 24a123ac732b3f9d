"""Places of an input in an output that is stored turned, or has another size."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.audit.placing import Canvas, into_square, placed, placement
from mpflow.models.detections import Detections
from mpflow.models.upright import to_faces

BOX = (10.0, 20.0, 40.0, 60.0)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_upright_and_back_is_what_detectors_do(turns: int) -> None:
    """A find in the upright picture, turned back by the detect stage, is where it was found."""
    canvas = Canvas(160, 120, turns)
    found = Detections(
        np.array([BOX], np.float32), np.array([1], np.float32), np.zeros((1, 5, 2), np.float32)
    )
    (face,) = to_faces(found, 1.0, (160, 120), turns)
    assert placed(face.box, canvas.upright) == pytest.approx(BOX)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_the_same_picture_stored_turned_has_the_face_at_the_same_seen_place(turns: int) -> None:
    stored = Canvas(120, 160, turns) if turns % 2 else Canvas(160, 120, turns)
    matrix = placement(Canvas(160, 120), stored)
    assert placed(placed(BOX, matrix), stored.upright) == pytest.approx(BOX)


def test_a_picture_of_half_the_size_has_it_at_half_the_place() -> None:
    matrix = placement(Canvas(160, 120), Canvas(80, 60))
    # pixel edges are halved, and the centre of the first pixel is at 0
    assert placed(BOX, matrix) == pytest.approx((4.75, 9.75, 19.75, 29.75))


def test_equal_canvases_change_nothing() -> None:
    np.testing.assert_allclose(placement(Canvas(160, 120, 1), Canvas(160, 120, 1)), np.eye(3))


def test_a_box_fills_a_square_or_lies_in_its_middle() -> None:
    assert placed(BOX, into_square(BOX, 64)) == pytest.approx((-0.5, -0.5, 63.5, 63.5))
    x1, y1, x2, y2 = placed(BOX, into_square(BOX, 64, 2.0))
    assert (x1 + x2, y1 + y2) == pytest.approx((63, 63))
    assert (x2 - x1, y2 - y1) == pytest.approx((24, 32))
