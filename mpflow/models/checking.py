"""Look at a description and its file without a run: do they fit, and what was found out of them?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from mpflow.errors import InputError
from mpflow.models.described import DescribedDetector, load
from mpflow.models.described_landmarks import DescribedLandmarks, load_landmarks
from mpflow.models.description import read_mapping
from mpflow.models.detections import Detections
from mpflow.models.fetch import sha256_of
from mpflow.models.fitting import Network
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sizes import auto_size
from mpflow.models.sockets import Origin


@dataclass(frozen=True, slots=True)
class Checked:
    """What a description and its file agree about.

    ``size`` is the only width and height it takes, None for any; ``outputs`` are the names of the
    file's outputs by role; ``faces`` are those of a picture, None where none was looked at.
    """

    kind: str
    file: Path
    sha256: str
    size: tuple[int, int] | None
    batches: bool
    outputs: dict[str, list[str]]
    faces: Detections | None = None


def check(path: Path, picture: Path | None = None) -> Checked:
    """Load the model that ``path`` describes on the processor, and look at ``picture`` with it.

    Raises ConfigError for a wrong description, ModelError for a file that does not fit it,
    InputError for a picture that cannot be read.
    """
    if "landmarks" in read_mapping(path):
        return _check_landmarks(path)
    make = load(path)
    file = make.found(path)
    detector = DescribedDetector(_session(file), make, Origin(path, file))
    faces = None if picture is None else _look(detector, picture)
    kind = f"face detector, {make.__struct_config__.tag}"
    return _told(kind, file, detector.size, detector.network, faces)


def _check_landmarks(path: Path) -> Checked:
    points = load_landmarks(path)
    file = points.found(path)
    model = DescribedLandmarks(_session(file), points, Origin(path, file))
    size = model.side, model.side
    return _told(f"landmark network, {model.count} points", file, size, model.network, None)


def _told(
    kind: str,
    file: Path,
    size: tuple[int, int] | None,
    network: Network,
    faces: Detections | None,
) -> Checked:
    outputs = {role: list(names) for role, names in network.names.items()}
    return Checked(kind, file, sha256_of(file), size, not network.single, outputs, faces)


def _look(detector: DescribedDetector, picture: Path) -> Detections:
    """The faces of a picture, in its pixels."""
    bgr: Any = cv2.imread(str(picture)) if picture.is_file() else None
    if bgr is None:
        raise InputError(f"{picture} is no picture that can be read", cure="a JPEG or PNG file")
    height, width = bgr.shape[:2]
    size = detector.size or auto_size(width, height, detector.multiple)
    blob, scale = letterbox(bgr, *size)
    inner = max(1, round(width * scale)), max(1, round(height * scale))
    (found,) = detector.detect(blob, [inner])
    return found.scaled(1 / scale)


def _session(file: Path) -> Any:
    return open_session(file, device="cpu")[0]
