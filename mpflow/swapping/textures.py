"""A photo's face as something to draw with: no finer than a crop needs, and how well each triangle
of its mesh is seen in it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.align import Template, matrix_to
from mpflow.models.detections import Floats
from mpflow.swapping.contract import Photo, Picture
from mpflow.swapping.expression import parted, shut
from mpflow.swapping.skin import without_hair
from mpflow.swapping.triangles import facing, nearness, painted, triangles

_FINER = 1.5  # than the crop: what is interpolated between finer pixels stays sharp
_MARGIN = 0.05  # of the face's longer side, around its mesh
_BEHIND = 0.06  # of the face's longer side: what is so much farther than what is painted is hidden


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """The part of a photo with the face, BGR, without hair that hangs into it; the mesh [468, 3]
    in its pixels; how well it shows each triangle [t], 0..1, the cosine at which it is seen; the
    photo's pose; and how far its lips are parted and its eyes shut, 0..1."""

    picture: Picture
    mesh: Floats
    shown: Floats
    pose: tuple[float, float, float]
    parted: float
    shut: float


def texture_of(photo: Photo, template: Template, size: int) -> Texture:
    """The texture of a photo for crops of ``size`` pixels by a template."""
    picture, mesh = _cut(photo)
    linear = matrix_to(photo.points, template, size)[:, :2].astype(np.float64)
    factor = min(1.0, _FINER * float(np.sqrt(np.linalg.det(linear))))
    if factor < 1:
        height, width = picture.shape[:2]
        sides = max(1, round(width * factor)), max(1, round(height * factor))
        picture = cv2.resize(picture, sides, interpolation=cv2.INTER_AREA).astype(np.uint8)
        by = np.array([sides[0] / width, sides[1] / height, factor], np.float32)
        half = np.array([0.5, 0.5, 0.0], np.float32)
        mesh = (mesh + half) * by - half
    seen = painted(mesh, (picture.shape[1], picture.shape[0]))
    clean = without_hair(picture, seen, float(np.ptp(mesh[:, :2], axis=0).max()))
    return Texture(clean, mesh, _shown(mesh, seen), photo.pose, parted(mesh), shut(picture, mesh))


def _cut(photo: Photo) -> tuple[Picture, Floats]:
    """The part of a photo around its mesh, as far as the photo goes, and the mesh in it."""
    height, width = photo.picture.shape[:2]
    low, high = photo.mesh[:, :2].min(axis=0), photo.mesh[:, :2].max(axis=0)
    margin = 2 + _MARGIN * float((high - low).max())
    left, top = np.maximum(np.floor(low - margin), 0).astype(int)
    right, bottom = np.minimum(np.ceil(high + margin) + 1, (width, height)).astype(int)
    shift = np.array([left, top, 0], np.float32)
    return photo.picture[top:bottom, left:right], photo.mesh.astype(np.float32) - shift


def _shown(mesh: Floats, seen: NDArray[np.int16]) -> Floats:
    """How well each triangle [t] is seen: 0 where another is before it or it is out of the
    picture."""
    height, width = seen.shape
    middles = mesh[triangles()].mean(axis=1)
    places = np.rint(middles[:, :2]).astype(int)
    inside = (places >= 0).all(axis=1) & (places < (width, height)).all(axis=1)
    x, y = places.clip(0, (width - 1, height - 1)).T
    depth = nearness(mesh)[seen[y, x]]
    behind = nearness(mesh) < depth - _BEHIND * float(np.ptp(mesh[:, :2], axis=0).max())
    shown: Floats = np.where(inside & ~behind, facing(mesh).clip(0, 1), 0).astype(np.float32)
    return shown
