"""Which faces of a frame are known well enough to put others there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from mpflow.swapping.targets import clear
from mpflow.tokens import Box, Face, Sighting

POINTS = ((40.0, 40.0), (80.0, 40.0), (60.0, 60.0), (45.0, 80.0), (75.0, 80.0))


def face(box: Box, sighting: Sighting = Sighting.SEEN) -> Face:
    return Face(box, 0.9, POINTS, sighting=sighting)


def mesh(box: Box) -> npt.NDArray[np.float32]:
    """Points that reach from one corner of a box to the other."""
    x1, y1, x2, y2 = box
    return np.float32([[x1, y1, 0], [x2, y2, 0]])


def test_found_faces_are_the_largest_first() -> None:
    small, large = (0.0, 0.0, 20.0, 20.0), (50.0, 0.0, 100.0, 50.0)
    assert clear([face(small), face(large)], [mesh(small), None]) == [1, 0]


@pytest.mark.parametrize("sighting", [Sighting.CARRIED, Sighting.EXTENDED, Sighting.FILLED])
def test_a_face_that_was_not_found_is_where_its_mesh_is(sighting: Sighting) -> None:
    box = (20.0, 20.0, 120.0, 140.0)
    faces = [face(box, sighting)]
    assert clear(faces, [mesh((30.0, 40.0, 110.0, 130.0))]) == [0]
    assert clear(faces, [None]) == []


@pytest.mark.parametrize("sighting", [Sighting.CARRIED, Sighting.EXTENDED])
@pytest.mark.parametrize(
    "chance", [(80.0, 20.0, 180.0, 140.0), (60.0, 70.0, 80.0, 90.0), (-40.0, -40.0, 180.0, 200.0)]
)
def test_a_mesh_aside_or_of_another_size_fits_by_chance(sighting: Sighting, chance: Box) -> None:
    assert clear([face((20.0, 20.0, 120.0, 140.0), sighting)], [mesh(chance)]) == []


def test_a_track_that_only_goes_on_gets_no_face_where_somebody_was_found() -> None:
    """Two faces would be laid over one, the larger of them of no size that anybody has."""
    found, grown = (560.0, 230.0, 700.0, 420.0), (520.0, 200.0, 770.0, 440.0)
    faces = [face(grown, Sighting.EXTENDED), face(found)]
    assert clear(faces, [mesh((545.0, 250.0, 715.0, 430.0)), mesh(found)]) == [1]
    assert clear(faces, [mesh((545.0, 250.0, 715.0, 430.0)), None]) == [1]


def test_a_face_without_points_has_no_place_for_a_crop() -> None:
    box = (0.0, 0.0, 20.0, 20.0)
    assert clear([Face(box, 0.9), Face(box, 0.9, ((0.0, 0.0),) * 5)], [mesh(box)] * 2) == []
