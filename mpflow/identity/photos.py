"""Reference photos: which there are in a folder, and the one face that each has to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Detections, Detector
from mpflow.models.letterbox import letterbox
from mpflow.models.pose import pose_of, quality

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
LEAST_SIDE = 48
"""Pixels of the longer side of a face: SFace knows one of 48 again at 0.90, one of 32 at 0.76."""

LEAST_QUALITY = 0.6
"""As if the face were large: a head turned by 45 degrees and more is no good to compare with."""

_SIDES = (640, 320)
"""A face that fills the photo is found in the smaller picture only."""

_NO_PICTURE = "is no picture that can be read"
_LARGE = 1000.0
_LITTER = {"thumbs.db", "desktop.ini"}

Picture = NDArray[np.uint8]


class UnusablePhoto(ValueError):
    """A photo that cannot stand for a person; the text says why, without the photo's name."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A photo's picture, BGR as it is to be seen, and the five points [5, 2] of its face."""

    picture: Picture
    points: NDArray[np.float32]


def people_in(folder: Path) -> dict[str, list[Path]]:
    """The photos of each person, by the name of file or sub-folder, in the order of their names.

    A sub-folder is one person, and so is each photo in the folder itself. Hidden files do not
    count; anything else is taken for a photo. Raises OSError.
    """
    return {
        entry.name: list(_listed(entry)) if entry.is_dir() else [entry] for entry in _listed(folder)
    }


def contents(photo: Path) -> bytes:
    """A photo's bytes; raises UnusablePhoto for a file of another kind, and OSError."""
    if photo.suffix.lower() not in SUFFIXES and not photo.is_dir():
        raise UnusablePhoto(_NO_PICTURE)
    return photo.read_bytes()


def reference(data: bytes, detector: Detector) -> Reference:
    """The one face of a photo, given the file's bytes; raises UnusablePhoto.

    It is turned as its EXIF data say.
    """
    picture = _decoded(data)
    found = _faces(picture, detector)
    if len(found) != 1:
        raise UnusablePhoto("shows no face" if not len(found) else f"shows {len(found)} faces")
    box, points = found.boxes[0], found.points[0]
    side = float(max(box[2] - box[0], box[3] - box[1]))
    if side < LEAST_SIDE:
        raise UnusablePhoto(f"shows a face of {side:.0f} pixels, {LEAST_SIDE} are needed")
    if quality(pose_of(points), _LARGE, float(found.scores[0])) < LEAST_QUALITY:
        raise UnusablePhoto("shows a face that is turned away or hard to see")
    return Reference(picture, points)


def _listed(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        if not entry.name.startswith(".") and entry.name.lower() not in _LITTER:
            yield entry


def _decoded(data: bytes) -> Picture:
    try:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    except cv2.error:
        picture = None
    if picture is None:
        raise UnusablePhoto(_NO_PICTURE)
    return picture.astype(np.uint8, copy=False)


def _faces(picture: Picture, detector: Detector) -> Detections:
    """What the detector finds in the photo, scaled to the first size at which it finds any."""
    for side in _SIDES:
        blob, scale = letterbox(picture, side, side)
        found = detector.detect(blob)[0]
        if len(found):
            break
    return found.scaled(1 / scale)
