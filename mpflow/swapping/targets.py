"""Cut the face that is to be replaced out of its frame, with all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np

from mpflow import boxes
from mpflow.models.align import matrix_to
from mpflow.models.detections import Floats
from mpflow.models.warp import warped
from mpflow.swapping.contract import Made, Picture, Target
from mpflow.tokens import Box, Face, Sighting

if TYPE_CHECKING:
    from mpflow.frame import Frame
    from mpflow.models.align import Template

_POINTS = 5
_AXES = 3
_FOUND = {Sighting.SEEN, Sighting.WEAK}
_KNOWN = {*_FOUND, Sighting.FILLED}
_ASIDE, _SMALLEST, _LARGEST = 0.25, 0.4, 1.2
_SAME = 0.3


def clear(faces: Sequence[Face], meshes: Sequence[Floats | None]) -> list[int]:
    """Which faces of a frame are known well enough to put others there, the largest first.

    A face that was not found on this frame is where its mesh says, which a network saw it by. A
    track that goes on for a while where nobody is any more, so that whoever is hidden stays so, is
    a box as large as can be: a mesh in it fits by chance, or is that of somebody else who was
    found. So it has to lie where the box says, and beside all faces that are known better.
    """
    able = [n for n, face in enumerate(faces) if _is_able(face, meshes[n])]
    known = [n for n, face in enumerate(faces) if face.sighting in _KNOWN]
    places = [_place(faces[n], meshes[n]) for n in known]
    fit = [n for n in able if n in known or _is_own(faces[n].box, _hull(meshes[n]), places)]
    return sorted(fit, key=lambda n: -boxes.size_of(faces[n].box))


def _is_able(face: Face, mesh: Floats | None) -> bool:
    able = len(face.points) == _POINTS and len({*face.points}) > 1
    return able and (face.sighting in _FOUND or mesh is not None)


def _is_own(box: Box, mesh: Box, others: Sequence[Box]) -> bool:
    """Whether a mesh is of the face in a box: it lies in its middle, is about as large, and no
    other face has it."""
    if any(_is_one(mesh, other) for other in others):
        return False
    size, (x, y), (u, v) = boxes.size_of(mesh), boxes.centre_of(box), boxes.centre_of(mesh)
    share = size / max(boxes.size_of(box), 1.0)
    return max(abs(x - u), abs(y - v)) <= _ASIDE * size and _SMALLEST <= share <= _LARGEST


def _is_one(one: Box, other: Box) -> bool:
    """Whether two boxes share so much that there is one face."""
    smaller = min(boxes.area(one), boxes.area(other))
    return boxes.shared(one, other) > _SAME * smaller


def _place(face: Face, mesh: Floats | None) -> Box:
    return face.box if mesh is None else _hull(mesh)


def _hull(mesh: Floats | None) -> Box:
    """The box of a mesh, which a face that was not found has to have."""
    assert mesh is not None
    (x1, y1), (x2, y2) = mesh[:, :2].min(axis=0).tolist(), mesh[:, :2].max(axis=0).tolist()
    return x1, y1, x2, y2


def target_of(
    frame: Frame, face: Face, mesh: Floats | None, template: Template, size: int
) -> Target:
    """The target of a face that ``is_clear``, in a crop of ``size`` pixels by a template.

    ``mesh`` [k, 3] is in the frame's pixels; beyond the frame's edge its last pixels are repeated.
    """
    matrix = matrix_to(face.points, template, size)
    picture = warped(frame, matrix, (size, size), repeat_edge=True)
    five = np.array(face.points, np.float32)
    laid = None if mesh is None else _brought(mesh, matrix)
    return Target(picture, matrix, _placed(five, matrix), laid, face.pose)


def share_of(pose: tuple[float, float, float] | None, fade: tuple[float, float]) -> float:
    """How much is seen of a face that is made, by how far the head is turned to a side, 0..1.

    All of it up to the first of two angles, nothing from the second on.
    """
    if pose is None:
        return 1.0
    begins, ends = fade
    yaw = abs(pose[0])
    if yaw <= begins:
        return 1.0
    return max(0.0, (ends - yaw) / (ends - begins)) if ends > begins else 0.0


def faded(made: Made, crop: Picture, share: float) -> Made:
    """The face with so much of it seen, 0..1, before the target's own."""
    if share >= 1:
        return made
    mixed = cv2.addWeighted(made.picture, share, crop, 1 - share, 0)
    return Made(np.asarray(mixed, np.uint8), made.mask)


def _brought(mesh: Floats, matrix: Floats) -> Floats:
    """A mesh [k, 3] in the crop; depth has the unit of a pixel there, too."""
    scale = np.sqrt(abs(np.linalg.det(matrix[:, :2].astype(np.float64))))
    depth = mesh[:, 2:_AXES] * scale
    return np.hstack([_placed(mesh[:, :2], matrix), depth]).astype(np.float32)


def _placed(places: Floats, matrix: Floats) -> Floats:
    placed: Floats = (places @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)
    return placed
