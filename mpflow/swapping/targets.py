"""Cut the face that is to be replaced out of its frame, with all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from mpflow.models.align import matrix_to
from mpflow.models.detections import Floats
from mpflow.models.warp import warped
from mpflow.swapping.contract import Made, Picture, Target
from mpflow.tokens import Face, Sighting

if TYPE_CHECKING:
    from mpflow.frame import Frame
    from mpflow.models.align import Template

_POINTS = 5
_AXES = 3
_FOUND = {Sighting.SEEN, Sighting.WEAK}


def is_clear(face: Face, mesh: Floats | None) -> bool:
    """Whether it is known well enough where the face is to put another there.

    A box that nobody has seen a face in says so only with a mesh, which a network saw it by.
    """
    able = len(face.points) == _POINTS and len({*face.points}) > 1
    return able and (face.sighting in _FOUND or mesh is not None)


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
