"""The triangles between the points of the mesh, and how a mesh shows them.

They are the Delaunay triangles of a mean face laid flat (mpflow.swapping.flatface), so they are
the same for every face and every frame: what a triangle holds on one face, it holds on another.
"""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.flatface import places

Indices = NDArray[np.intp]

_FINE = 16.0  # cv2.Subdiv2D sorts points out to about a whole unit
_AROUND = 120.0  # thousandths of the width of the eyes
_BITS = 4  # of a fraction in OpenCV's fixed-point coordinates


@cache
def triangles() -> Indices:
    """The points of each triangle [t, 3], clockwise as the picture shows a face from the front."""
    flat = places()
    spots = np.rint((flat - flat.min(axis=0) + 1) * _FINE).astype(np.float32)
    side = int(spots.max() + _FINE)
    plane = cv2.Subdiv2D((0, 0, side, side))
    plane.insert([(float(x), float(y)) for x, y in spots])
    number = {(float(x), float(y)): at for at, (x, y) in enumerate(spots)}
    corners = np.asarray(plane.getTriangleList(), np.float64).reshape(-1, 3, 2)
    found = [[number.get((x, y), -1) for x, y in three] for three in corners.tolist()]
    inner = np.array([three for three in found if min(three) >= 0], np.intp)
    turned = areas(flat[inner]) < 0
    inner[turned] = inner[turned][:, ::-1]
    return inner


@cache
def around() -> Floats:
    """A matrix [t, t] that gives each triangle the mean of those around it: the side of a nose
    counts little, the side of a face counts."""
    corners = places()[triangles()]
    middles = corners.mean(axis=1)
    away = ((middles[:, None] - middles) ** 2).sum(axis=2)
    weights = np.exp(-away / (2 * _AROUND**2)) * areas(corners)
    found: Floats = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def areas(corners: Floats) -> Floats:
    """Twice the area of triangles whose corners are [t, 3, 2 or 3], by x and y: negative where
    they are seen from behind."""
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    found: Floats = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    return found


def facing(points: Floats) -> Floats:
    """How much each triangle [t] of a mesh [468, 3] is turned to the viewer: 1 wholly, 0 seen from
    the side, below 0 from behind."""
    corners = points[triangles()]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), np.float32(1e-6))
    found: Floats = normals[:, 2] / lengths
    return found


def nearness(points: Floats) -> Floats:
    """How near each triangle [t] of a mesh [468, 3] is, in the unit of its points: more is
    nearer."""
    found: Floats = -points[triangles(), 2].mean(axis=1)
    return found


def painted(points: Floats, size: tuple[int, int]) -> NDArray[np.int16]:
    """Which triangle of a mesh [468, 3] is seen at each pixel of a picture of ``size`` (width,
    height): the nearest one [height, width], -1 where there is none."""
    seen = np.full(size[::-1], -1, np.int16)
    corners = points[triangles(), :2]
    front = np.flatnonzero(areas(corners) > 0)
    order = front[np.argsort(nearness(points)[front])]
    places = np.rint(corners[order] * (1 << _BITS)).astype(np.int32)
    for number, place in zip(order.tolist(), places, strict=True):
        cv2.fillConvexPoly(seen, place, number, cv2.LINE_8, _BITS)
    return seen
