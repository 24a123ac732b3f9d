"""A face detector of one's own file, by its description.

blob BGR 0..255 -> colour, letterbox, mean, std -> network -> make -> faces, shifted back
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ConfigError
from mpflow.models.description import Picture, converted, read_mapping
from mpflow.models.detections import Detections, Floats, check_blobs
from mpflow.models.fitting import fit, for_channels
from mpflow.models.makes import Make
from mpflow.models.ownfiles import CenterFaceFile, YuNetFile
from mpflow.models.retinaface import RetinaFace
from mpflow.models.scrfd import Scrfd
from mpflow.models.sockets import Origin, socket_of
from mpflow.models.yolov5face import Yolov5Face
from mpflow.models.yolov8face import Yolov8Face

MAKES: Mapping[str, type[Make]] = {
    str(make.__struct_config__.tag): make
    for make in (YuNetFile, CenterFaceFile, RetinaFace, Scrfd, Yolov5Face, Yolov8Face)
}


def load(path: Path) -> Make:
    """Read the description of a detector; raises ConfigError that names the key and the cure."""
    data = read_mapping(path)
    make = MAKES.get(str(data.get("decoder")))
    if make is None:
        said = f"decoder {data['decoder']!r} is none" if "decoder" in data else "it has no decoder"
        raise ConfigError(
            f"{path} describes no face detector: {said}", cure=f"known: {', '.join(MAKES)}"
        )
    return converted(path, data, make, make.convention)


class DescribedDetector:
    """A detector (mpflow.models.detections.Detector) around a session of its file.

    ``score`` and ``iou`` None take the description's. At ``most`` so many
    pictures come in one call. Raises ModelError where the file does not fit.
    """

    def __init__(  # noqa: PLR0913 - one name for each choice
        self,
        session: Any,
        make: Make,
        origin: Origin,
        score: float | None = None,
        iou: float | None = None,
        *,
        most: int = 2,
    ) -> None:
        self.score = make.score if score is None else score
        self.iou = make.iou if iou is None else iou
        self.multiple = make.input.multiple
        self._make = make
        socket = socket_of(session, make.input, origin)
        self.size = _only_size(make.input, socket.width, socket.height, origin)
        sides = self.size or (3 * self.multiple, 2 * self.multiple)
        names = {**_usual(make, session), **_given(make)}
        self.network = fit(
            session,
            socket,
            origin,
            sides=sides,
            layouts=make.layouts(*sides),
            names=names,
            most=most,
        )

    def detect(self, blobs: Floats, inner: Sequence[tuple[int, int]] = ()) -> list[Detections]:
        """Find faces in blobs [n, 3, h, w], float32 BGR 0..255; one result per picture."""
        check_blobs(blobs, 1 if self.size else self.multiple)
        tensor, corners = prepared(blobs, inner, self._make.input)
        size = blobs.shape[3], blobs.shape[2]
        found = self._make.faces(self.network.run(tensor), size, self.score, self.iou)
        return [
            Detections(faces.boxes - np.tile(corner, 2), faces.scores, faces.points - corner)
            for faces, corner in zip(found, corners, strict=True)
        ]


def prepared(
    blobs: Floats, inner: Sequence[tuple[int, int]], picture: Picture
) -> tuple[Floats, Floats]:
    """Blobs as the network takes them, and where in each the picture's corner [n, 2] now lies."""
    count, _, height, width = blobs.shape
    corners = np.zeros((count, 2), np.float32)
    box = picture.letterbox
    if inner and (box.at == "centre" or box.fill):
        placed = np.full_like(blobs, box.fill)
        for number, (wide, high) in enumerate(inner):
            x, y = ((width - wide) // 2, (height - high) // 2) if box.at == "centre" else (0, 0)
            placed[number, :, y : y + high, x : x + wide] = blobs[number, :, :high, :wide]
            corners[number] = x, y
        blobs = placed
    ordered = blobs[:, ::-1] if picture.colour == "rgb" else blobs
    tensor: NDArray[np.float32] = ordered - for_channels(picture.mean)
    tensor /= for_channels(picture.std)
    return tensor, corners


def _only_size(
    picture: Picture, width: int | None, height: int | None, origin: Origin
) -> tuple[int, int] | None:
    """The size that a file takes, if it takes one only."""
    said = picture.sides
    if width is None and height is None:
        return said
    if said is None and (width is None or height is None):
        raise origin.error(f"one side of its input is fixed ({width}x{height})", "say input.size")
    there = width or (said[0] if said else 0), height or (said[1] if said else 0)
    if said is not None and there != said:
        what = f"its input is {there[0]}x{there[1]}, described as {picture.size}"
        raise origin.error(what, "correct input.size")
    return there


def _usual(make: Make, session: Any) -> dict[str, tuple[str, ...]]:
    """Roles whose outputs have the names that this make usually has."""
    there = {each.name for each in session.get_outputs()}
    return {role: names for role, names in make.usual_names.items() if there >= {*names}}


def _given(make: Make) -> dict[str, tuple[str, ...]]:
    return {
        role: (names,) if isinstance(names, str) else tuple(names)
        for role, names in make.outputs.items()
    }
