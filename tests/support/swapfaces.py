"""Sources and targets of the mesh swapper, from the store's photos."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import fits
import numpy as np
import numpy.typing as npt

from mpflow.models.align import crop, matrix_to
from mpflow.models.facemesh import FaceMesh
from mpflow.models.landmarks import fit
from mpflow.models.pose import pose_of
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Photo, Picture, Source, Target

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Faces:
    """Finds and fits the faces of photos, from left to right."""

    store: ModelStore
    mesh: FaceMesh

    def photos(self, name: str) -> list[Photo]:
        """A photo once for each face in it."""
        sights = list(fits.sights(self.store, name))
        found = fit(self.mesh, [(each.frame, each.face) for each in sights])
        pairs = sorted(zip(sights, found, strict=True), key=lambda pair: pair[0].face.box[0])
        return [self._photo(sight.picture, each.points) for sight, each in pairs]

    def photo(self, name: str) -> Photo:
        """A photo with one face."""
        (only,) = self.photos(name)
        return only

    def _photo(self, picture: Picture, mesh: Floats) -> Photo:
        pose = pose_of(mesh)
        assert pose is not None
        return Photo(picture, self.mesh.five(mesh).astype(np.float32), mesh, pose)


def source(*photos: Photo) -> Source:
    """One person."""
    return Source(photos)


def target(photo: Photo, size: int = 256) -> Target:
    """The face of a photo as one to be replaced."""
    matrix = matrix_to(photo.points, "ffhq", size)
    picture = cv2.warpAffine(photo.picture, matrix, (size, size), flags=cv2.INTER_AREA)
    scale = float(np.sqrt(np.linalg.det(matrix[:, :2])))
    mesh = np.column_stack([moved(photo.mesh, matrix), photo.mesh[:, 2] * scale])
    crop = np.asarray(picture, np.uint8)
    return Target(crop, matrix, moved(photo.points, matrix), mesh.astype(np.float32), photo.pose)


def moved(points: Floats, matrix: Floats) -> Floats:
    """Places [k, 2] after a matrix."""
    return (points[:, :2] @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)


def alike(sface: SFace, one: tuple[Picture, Floats], other: tuple[Picture, Floats]) -> float:
    """The cosine of two faces, each a picture and its five points."""
    first, second = sface.embed([crop(*one), crop(*other)])
    return float(first @ second)
