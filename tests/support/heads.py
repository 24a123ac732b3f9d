"""Real faces turned by known angles: a mesh over a photo, turned in space and painted anew."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]

_FLIP = np.diag([1.0, -1.0, -1.0])  # from pixels (y down, z away) to y up, z towards the viewer


def rotation(yaw: float, pitch: float, roll: float) -> Array:
    """The rotation [3, 3] of a head, y up and z towards the viewer: pitch, then yaw, then roll.

    Degrees; yaw to the image's right, pitch up, roll clockwise as it is seen.
    """
    b, c, a = np.radians([yaw, -pitch, -roll])
    about_y = [[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]]
    about_x = [[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]]
    about_z = [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]
    return np.array(about_z) @ np.array(about_y) @ np.array(about_x)


def turned(mesh: npt.ArrayLike, turn: Array, widths_away: float = 10.0) -> Array:
    """A mesh [k, 3] in pixels, turned about its middle and seen from so many times its width."""
    points = np.asarray(mesh, np.float64)
    middle = points.mean(axis=0)
    head = (points - middle) @ _FLIP @ turn.T  # y up, z towards the viewer
    away = widths_away * np.ptp(points[:, 0])
    seen = head @ _FLIP
    seen[:, :2] *= (away / (away - head[:, 2]))[:, None]
    return seen + middle


def painted(picture: Picture, before: npt.ArrayLike, after: Array, upright: Array) -> Picture:
    """The face of a picture with its mesh ``before`` painted where the mesh is ``after``, on grey.

    ``upright`` is the mesh from the front: it says which points are neighbours.
    """
    target = np.full_like(picture, 120)
    start = np.asarray(before, np.float64)
    triangles = _triangles(upright)
    depth = after[triangles, 2].mean(axis=1)
    for corners in triangles[np.argsort(-depth)]:
        _paint(picture, target, start[corners, :2], after[corners, :2])
    return target


def _triangles(points: Array) -> npt.NDArray[np.intp]:
    """Delaunay triangles [n, 3] of points [k, 2 or 3] in the plane."""
    low = points[:, :2].min(axis=0) - 2
    places = (points[:, :2] - low).astype(np.float32)
    width, height = (np.ceil(places.max(axis=0)) + 2).astype(int).tolist()
    plane = cv2.Subdiv2D((0, 0, width, height))
    plane.insert(places.tolist())
    corners = np.asarray(plane.getTriangleList()).reshape(-1, 3, 2)
    inside = ((corners >= 0) & (corners < (width, height))).all(axis=(1, 2))
    far = ((corners[inside][:, :, None] - places) ** 2).sum(axis=-1)
    return far.argmin(axis=-1)


def _paint(source: Picture, target: Picture, start: Array, goal: Array) -> None:
    matrix = cv2.getAffineTransform(start.astype(np.float32), goal.astype(np.float32))
    x, y, width, height = cv2.boundingRect(goal.astype(np.float32))
    x, y, x2, y2 = max(x - 1, 0), max(y - 1, 0), x + width + 1, y + height + 1
    part = target[y:y2, x:x2]
    if not part.size:
        return
    matrix[:, 2] -= (x, y)
    patch = cv2.warpAffine(source, matrix, part.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillConvexPoly(mask, np.rint((goal - (x, y)) * 16).astype(np.int32), 1, shift=4)
    part[mask > 0] = patch[mask > 0]
