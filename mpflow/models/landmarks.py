"""Where the points of a face are: what a landmark network gives, and the whole way to it.

    five points or a box -> region of the frame -> crop -> network -> points back in the frame
                              ^                                          |
                              +---- once more, from the points found ----+

Any network that keeps the ``LandmarkModel`` protocol can be used: one of the store
(mpflow.models.facemesh), or a user's file by its description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.models.warp import warped
from mpflow.tokens import Box, Face

if TYPE_CHECKING:
    from mpflow.frame import Frame

MOST_CROPS = 16
"""The most crops in one call of the network unless another number is asked for."""

# Where a detector's five points usually are, from the middle of its box, in longer sides of it.
_USUAL = np.array([(-0.18, -0.1), (0.18, -0.1), (0.0, 0.07), (-0.15, 0.24), (0.15, 0.24)])


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """The points [k, 3] of one face, float32, and a score 0..1 that it is one.

    x and y are pixels of the frame; z has the same unit, and is smaller where it is nearer. It is
    0 for a network that tells none.
    """

    points: Floats
    score: float

    def is_in(self, box: Box) -> bool:
        """Whether the middle of the points lies in a box: whether they are that face's."""
        x, y = ((self.points[:, axis].min() + self.points[:, axis].max()) / 2 for axis in (0, 1))
        return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


class LandmarkModel(Protocol):
    """What a landmark network has to offer."""

    @property
    def count(self) -> int:
        """How many points it gives."""

    @property
    def side(self) -> int:
        """Pixels of a side of the square crop it takes."""

    @property
    def passes(self) -> int:
        """How often it is run over a face: from the second on from the points found before."""

    def matrix(self, five: Floats | None, box: Floats) -> Floats:
        """From places in a frame to places in a crop [2, 3], for a face with a box [4] and, where
        they are known, five points [5, 2] (as in ``Face.points``)."""

    def matrix_again(self, points: Floats) -> Floats:
        """The same for a face whose points [count, 3] are known, in the frame: the next pass."""

    def points(self, crops: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Points [n, count, 3] in pixels of BGR crops [n, side, side, 3], and scores [n].

        z is 0, and a score 1, where the network tells none.
        """

    def five(self, points: Floats) -> Floats:
        """Five points [5, 2] in the order of ``Face.points``, from [count, 2 or 3]."""


def fit(
    model: LandmarkModel,
    sights: Sequence[tuple[Frame, Face]],
    most: int = MOST_CROPS,
    *,
    turned: float = 0.0,
) -> list[Landmarks]:
    """The landmarks of faces, each in its frame; the crops go through the network together.

    Frames may differ, and so may their sizes and formats. ``most`` crops make one call. Pictures
    that are stored turned are upright when they are ``turned`` counter-clockwise by so many
    degrees.
    """
    matrices = [model.matrix(*_known(face, turned)) for _, face in sights]
    found: list[Landmarks] = []
    for _ in range(model.passes):
        found = _one_pass(model, [frame for frame, _ in sights], matrices, most)
        matrices = [model.matrix_again(each.points) for each in found]
    return found


def _known(face: Face, turned: float) -> tuple[Floats | None, Floats]:
    """The five points of a face, and its box; points are made up where an upright crop needs
    them."""
    box = np.array(face.box, np.float32)
    if len(face.points) == 5:
        return np.array(face.points, np.float32), box
    return (_in_box(box, turned) if turned else None), box


def _in_box(box: Floats, turned: float) -> Floats:
    """Where the five points [5, 2] of a face lie in its box, in a picture that is stored turned."""
    cos, sin = np.cos(np.deg2rad(turned)), np.sin(np.deg2rad(turned))
    size = (box[2:] - box[:2]).max()
    places = _USUAL @ np.array([[cos, sin], [-sin, cos]]) * size + (box[:2] + box[2:]) / 2
    return np.asarray(places, np.float32)


def _one_pass(
    model: LandmarkModel, frames: Sequence[Frame], matrices: Sequence[Floats], most: int
) -> list[Landmarks]:
    found: list[Landmarks] = []
    size = model.side, model.side
    for first in range(0, len(frames), most):
        chosen = slice(first, first + most)
        pairs = zip(frames[chosen], matrices[chosen], strict=True)
        crops = np.array([warped(frame, way, size, repeat_edge=True) for frame, way in pairs])
        points, scores = model.points(crops)
        found += [
            Landmarks(back(mine, way), float(score))
            for mine, way, score in zip(points, matrices[chosen], scores, strict=True)
        ]
    return found


def back(points: Floats, matrix: Floats) -> Floats:
    """Points [k, 3] of a crop in the frame that ``matrix`` has taken it from; z is scaled alike."""
    way = cv2.invertAffineTransform(matrix).astype(np.float32)
    scale = np.sqrt(abs(np.linalg.det(way[:, :2])))
    places = points[:, :2] @ way[:, :2].T + way[:, 2]
    return np.column_stack([places, points[:, 2] * scale]).astype(np.float32)


def square_region(centre: tuple[float, float], side: float, degrees: float, crop: int) -> Floats:
    """The matrix [2, 3] of a square part of a frame, turned clockwise by ``degrees`` as it is seen,
    to an upright crop of ``crop`` pixels."""
    scale, turn = crop / max(side, 1e-3), np.deg2rad(degrees)
    across, down = scale * np.cos(turn), scale * np.sin(turn)
    linear = np.array([[across, down], [-down, across]])
    shift = (crop - 1) / 2 - linear @ np.array(centre)
    return np.column_stack([linear, shift]).astype(np.float32)


def mesh_outline(points: Floats) -> Floats:
    """The polygon [n, 2] around a face with these points [k, 2 or 3]: what covers all of them.

    It is their hull. The oval that a mesh draws around the face would do from the front, but
    leaves the nose out in profile.
    """
    hull = cv2.convexHull(np.ascontiguousarray(points[:, :2], np.float32))
    return hull[:, 0].astype(np.float32)
