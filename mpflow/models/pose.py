"""How a head is turned, from the points of its face: yaw, pitch and roll in degrees, as it is seen.

    points in the frame + the same points of a head of known shape -> solvePnP -> rotation -> angles

Yaw is positive where the face looks to the image's right, pitch where it looks up, roll where it
is turned clockwise. The head is turned by pitch first, then by yaw, then by roll, so that yaw and
pitch do not depend on how far the picture is tilted. All are against the line of sight, not against
the camera's axis: a face that looks straight along its line to the camera has yaw 0 at the edge of
the picture too, since that is what its crop shows. Pitch is 0 where forehead and chin are equally
far.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

Pose: TypeAlias = tuple[float, float, float]
"""Yaw, pitch and roll in degrees."""

# Points of the mesh that keep their places on the head whatever the face does and that the network
# sees rather than guesses (eyes, nose, cheeks; not the sides), and where they are: right of the
# middle, up, and towards the viewer, in units of the distance between the outer corners of the
# eyes. Each row is a point at the image's left and its counterpart at the right, or a point in the
# middle twice. The numbers are the mean of 30 meshes that the face mesh network gave for the faces
# of the store's media, laid over each other (rotation, scale and shift by least squares) and made
# symmetrical; forehead (10) and chin (152) were made equally far.
_SHAPE = (
    (33, 263, 0.500, 0.358, -0.298),
    (133, 362, 0.193, 0.345, -0.237),
    (117, 346, 0.581, 0.174, -0.284),
    (119, 348, 0.366, 0.168, -0.190),
    (205, 425, 0.445, -0.073, -0.138),
    (129, 358, 0.237, -0.028, -0.092),
    (168, 168, 0.0, 0.427, -0.063),
    (6, 6, 0.0, 0.342, -0.006),
    (4, 4, 0.0, 0.040, 0.228),
    (1, 1, 0.0, -0.032, 0.210),
)
# The five points of ``Face.points`` on the same head.
_FIVE = np.array(
    [
        (-0.351, 0.360, -0.241),
        (0.351, 0.360, -0.241),
        (0.0, -0.032, 0.210),
        (-0.310, -0.363, -0.175),
        (0.310, -0.363, -0.175),
    ]
)
_MESH = 468

# The camera is taken to be ten times as far away as the points are wide: what it really was, no
# picture tells. Between five and twenty times the pitch of real faces differs by four degrees.
_DISTANCE = 10.0

# The camera looks along z with y down; the head is told with y up and z towards the viewer.
_VIEWER = np.diag([1.0, -1.0, -1.0])

# A crop is as good as it gets for an embedder from this size of a face on, in pixels.
_FULL_SIZE = 112.0
_UNKNOWN_POSE = 0.5


def pose_of(points: ArrayLike) -> Pose | None:
    """The pose of a head from its mesh [468, 2 or 3], or else from its five points [5, 2].

    Only x and y count. A mesh's pose is told to about 3 degrees, that of five points to about 10.
    None where the points can be no face's: all one, not finite, or another number of them.
    """
    places = np.asarray(points, np.float64)
    if len(places) not in (_MESH, len(_FIVE)) or not np.isfinite(places).all():
        return None
    shape, chosen = (_FIVE, places) if len(places) == len(_FIVE) else (_HEAD, places[_CHOSEN])
    return _solved(shape, np.ascontiguousarray(chosen[:, :2]))


def upright(pose: Pose, turned: float) -> Pose:
    """A pose in a stored picture as it is seen when the picture is shown, turned counter-clockwise
    by so many degrees."""
    yaw, pitch, roll = pose
    return yaw, pitch, (roll - turned + 180) % 360 - 180


def quality(pose: Pose | None, size: float, score: float) -> float:
    """How much a crop of a face is worth for an embedder, 0..1.

    ``size`` is the longer side of its box in pixels, ``score`` how surely it is a face. Seen from
    the front, 112 pixels large and sure it is 1; roll does not matter, since a crop is upright.
    """
    turn = _UNKNOWN_POSE if pose is None else _frontal(pose)
    return turn * min(max(size, 0.0) / _FULL_SIZE, 1.0) * min(max(score, 0.0), 1.0)


def _frontal(pose: Pose) -> float:
    """How much of a face is seen from the front: 1 straight on, 0 in profile."""
    yaw, pitch = math.radians(pose[0]), math.radians(pose[1])
    return max(0.0, math.cos(yaw)) * max(0.0, math.cos(pitch))


def _solved(shape: NDArray[np.float64], places: NDArray[np.float64]) -> Pose | None:
    """The angles of the rotation that makes a head's shape [k, 3] be seen at places [k, 2]."""
    middle, width = places.mean(axis=0), float(np.ptp(places, axis=0).max())
    focus = _DISTANCE * width
    camera = np.array([[focus, 0.0, middle[0]], [0.0, focus, middle[1]], [0.0, 0.0, 1.0]])
    try:
        found, turn, shift = cv2.solvePnP(shape, places, camera, None, flags=cv2.SOLVEPNP_SQPNP)
        if not found:
            return None
        turn, _ = cv2.solvePnPRefineLM(shape, places, camera, None, turn, shift)
    except cv2.error:  # places that no head can be seen at
        return None
    return _angles(_VIEWER @ cv2.Rodrigues(turn)[0])


def _angles(turn: Any) -> Pose | None:
    """Yaw, pitch and roll of a rotation [3, 3] told with y up and z towards the viewer."""
    yaw = math.atan2(-turn[2, 0], math.hypot(turn[0, 0], turn[1, 0]))
    pitch = -math.atan2(turn[2, 1], turn[2, 2])
    roll = -math.atan2(turn[1, 0], turn[0, 0])
    pose = math.degrees(yaw), math.degrees(pitch), math.degrees(roll)
    return pose if all(map(math.isfinite, pose)) else None


def _head() -> tuple[list[int], NDArray[np.float64]]:
    """The mesh's indices of the table, and their places [k, 3]."""
    places = {}
    for left, right, x, y, z in _SHAPE:
        places[left] = (-x, y, z)
        places[right] = (x, y, z)
    return list(places), np.array(list(places.values()))


_CHOSEN, _HEAD = _head()
