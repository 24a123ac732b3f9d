"""Source photos: the one face that each has to show, its mesh and its pose.

    files -> one usable face in each, large enough -> mesh, pose -> Source, the best photo first

A photo that cannot be used is refused by its name, before any frame is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from mpflow.errors import ConfigError
from mpflow.identity.gallery import stranger
from mpflow.identity.photos import SUFFIXES, Reference, UnusablePhoto, contents, reference
from mpflow.models.align import CROP, crop, matrix_to
from mpflow.models.detections import Detector, Floats
from mpflow.models.detectors import detector
from mpflow.models.embedders import Embedder, open_embedder
from mpflow.models.facemesh import FaceMesh
from mpflow.models.landmarks import LandmarkModel, back
from mpflow.models.pose import pose_of
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Photo, Picture, Source

LEAST_SCORE = 0.5
"""Of a mesh: below it there is no face that it could be laid over."""


@dataclass(frozen=True, slots=True, eq=False)
class Studio:
    """The networks that look at photos."""

    detector: Detector
    mesh: LandmarkModel
    embedder: Embedder

    def source(self, photos: Sequence[Path]) -> tuple[Source, Floats]:
        """The source that photos show, and the embeddings [n, k] of its photos, in its order.

        Raises ConfigError that names every photo which cannot be used, and for photos that show
        several people.
        """
        found: list[Photo] = []
        faults = []
        for path in photos:
            try:
                found.append(self._photo(path))
            except OSError as error:
                faults.append(f"{str(path)!r} cannot be read: {error.strerror}")
            except UnusablePhoto as error:
                faults.append(f"{str(path)!r} {error}")
        if faults:
            raise ConfigError(
                f"no source: {'; '.join(faults)}",
                cure=f"a source photo ({', '.join(SUFFIXES)}) shows one face, from the front and"
                " not too small; crop the others away",
            )
        size = self.embedder.size
        crops = [crop(each.picture, each.points, size) for each in found]
        embeddings = np.concatenate([self.embedder.embed([each]) for each in crops])
        if (other := stranger(embeddings, self.embedder.other)) is not None:
            raise ConfigError(
                f"the source photos {str(photos[0])!r} and {str(photos[other])!r} show different"
                " people",
                cure="several photos of a source are of one person",
            )
        order = sorted(range(len(found)), key=lambda n: _turned(found[n]))
        return Source(tuple(found[n] for n in order)), embeddings[order]

    def _photo(self, path: Path) -> Photo:
        """One photo; raises UnusablePhoto, and OSError."""
        seen = reference(contents(path), self.detector)
        if (scale := _enlarged(seen)) > 1:
            raise UnusablePhoto(
                f"shows a face that would have to be enlarged {scale:.1f} times to fill a crop of"
                f" {CROP} pixels"
            )
        mesh = mesh_of(self.mesh, seen.picture, seen.points)
        pose = None if mesh is None else pose_of(mesh)
        if mesh is None or pose is None:
            raise UnusablePhoto("shows a face that no mesh can be laid over")
        return Photo(seen.picture, self.mesh.five(mesh), mesh, pose)


def open_studio(store: ModelStore, threads: int) -> Studio:
    """The networks that look at photos, on the processor."""

    def session(name: str) -> Any:
        return open_session(store.path(name), device="cpu", threads=threads)[0]

    name = store.manifest.default("detector")
    embedder, _ = open_embedder("sface", store, device="cpu", threads=threads)
    return Studio(detector(name, session(name)), FaceMesh(session("facemesh")), embedder)


def mesh_of(model: LandmarkModel, picture: Picture, points: Floats) -> Floats | None:
    """The mesh [k, 3] of the face with these five points [5, 2] in a BGR picture; None where the
    network finds none."""
    low, high = points.min(axis=0), points.max(axis=0)
    matrix = model.matrix(points.astype(np.float32), np.concatenate([low, high]))
    found, score = points, 0.0
    for _ in range(model.passes):
        meshes, scores = model.points(_cut(picture, matrix, model.side)[None])
        found, score = back(meshes[0], matrix), float(scores[0])
        matrix = model.matrix_again(found)
    return found if score >= LEAST_SCORE else None


def _cut(picture: Picture, matrix: Floats, side: int) -> Picture:
    """The part of a picture that ``matrix`` brings into a crop, by means over what it shrinks."""
    scale = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
    times = max(1, int(0.5 / scale))
    if times > 1:
        height, width = picture.shape[:2]
        small = max(1, width // times), max(1, height // times)
        whole = picture[: small[1] * times, : small[0] * times]
        picture = cv2.resize(whole, small, interpolation=cv2.INTER_AREA).astype(np.uint8)
        linear = matrix[:, :2]
        shift = matrix[:, 2] + linear @ np.full(2, (times - 1) / 2)
        matrix = np.column_stack([linear * times, shift])
    cut = cv2.warpAffine(picture, matrix, (side, side), borderMode=cv2.BORDER_REPLICATE)
    return cut.astype(np.uint8, copy=False)


def _enlarged(seen: Reference) -> float:
    """How many times larger than in its photo a face is in the crop of an embedder."""
    linear = matrix_to(seen.points, "arcface", CROP)[:, :2]
    return float(np.sqrt(abs(np.linalg.det(linear))))


def _turned(photo: Photo) -> float:
    yaw, pitch, _ = photo.pose
    return float(np.hypot(yaw, pitch))
