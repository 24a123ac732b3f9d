"""Landmark networks of one's own file, by description: 68 or 203 points of a face.

    # fan.yaml                            landmarks.model=fan.yaml
    landmarks: 68                         # which points: 68 or 203
    file: 2dfan4.onnx

68 points are those of the iBUG 300-W markup; 2DFAN4 (Bulat, Tzimiropoulos: "How far are we from
solving the 2D & 3D Face Alignment problem?", 2017) gives them in the 64 pixels of its heat maps,
with the height of each peak. 203 points are those of LivePortrait's landmark network (Guo and
others: "LivePortrait", 2024; src/utils/human_landmark_runner.py and crop.py), in shares of the
crop, at the third of its outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ConfigError
from mpflow.models.crop_network import tensor_of
from mpflow.models.description import Description, Names, Pixels, Side, converted, read_mapping
from mpflow.models.detections import Floats
from mpflow.models.fitting import fit
from mpflow.models.landmarks import square_region
from mpflow.models.makes import Layout
from mpflow.models.sockets import Origin, socket_of

Positive = Annotated[float, msgspec.Meta(gt=0, le=10)]


class Crop(Pixels, frozen=True):
    """What a landmark network takes: a square of ``side`` pixels."""

    side: Side = 256


class Points(Description, frozen=True, kw_only=True, tag_field="landmarks"):
    """A description of a landmark network.

    ``scale``: how much larger than the face its crop is; ``shift``: how far the crop is moved
    towards the chin, in sides of it. ``units``: what stands for the whole side in the points that
    the network gives. ``passes``: how often it is run, from the second time on around the points
    found before.
    """

    count: ClassVar[int]
    convention: ClassVar[Mapping[str, Any]]
    shapes: ClassVar[Sequence[tuple[int, ...]]]
    """Shapes that the points may have, for one face."""
    eyes: ClassVar[tuple[Sequence[int], Sequence[int]]]
    """Points whose middle is that of the eye at the image's left, and at its right."""
    singles: ClassVar[tuple[int, int, int]]
    """Tip of the nose, image-left and image-right corner of the mouth."""
    of_box: ClassVar[float] = 1.0
    """The longer side of what the points cover, in longer sides of a detector's box."""

    input: Crop
    outputs: dict[str, Names] = msgspec.field(default_factory=dict)
    scale: Positive
    shift: Annotated[float, msgspec.Meta(ge=-1, le=1)] = 0.0
    units: Annotated[float, msgspec.Meta(gt=0, le=4096)]
    passes: Annotated[int, msgspec.Meta(ge=1, le=4)] = 1

    def layouts(self) -> Sequence[Layout]:
        """The ways in which files give these points."""
        return [{"points": [shape]} for shape in self.shapes]


class Points68(Points, frozen=True, kw_only=True, tag=68):
    """2DFAN4's. The crop is as large as that of its authors: 256 pixels for a face of 195."""

    count: ClassVar[int] = 68
    convention: ClassVar[Mapping[str, Any]] = {"colour": "rgb", "std": (255.0,) * 3, "side": 256}
    shapes: ClassVar[Sequence[tuple[int, ...]]] = ((68, 3), (68, 2))
    eyes: ClassVar[tuple[Sequence[int], Sequence[int]]] = (range(36, 42), range(42, 48))
    singles: ClassVar[tuple[int, int, int]] = (30, 48, 54)

    scale: Positive = 256 / 195
    units: Annotated[float, msgspec.Meta(gt=0, le=4096)] = 64.0


class Points203(Points, frozen=True, kw_only=True, tag=203):
    """LivePortrait's. Its crop is laid around points that are known; a box covers the forehead,
    too, of which they have none."""

    count: ClassVar[int] = 203
    convention: ClassVar[Mapping[str, Any]] = {"colour": "rgb", "std": (255.0,) * 3, "side": 224}
    shapes: ClassVar[Sequence[tuple[int, ...]]] = ((406,), (203, 2))
    eyes: ClassVar[tuple[Sequence[int], Sequence[int]]] = ((0, 6, 12, 18), (24, 30, 36, 42))
    singles: ClassVar[tuple[int, int, int]] = (201, 48, 66)
    of_box: ClassVar[float] = 0.87

    scale: Positive = 1.5
    shift: Annotated[float, msgspec.Meta(ge=-1, le=1)] = -0.1
    units: Annotated[float, msgspec.Meta(gt=0, le=4096)] = 1.0
    passes: Annotated[int, msgspec.Meta(ge=1, le=4)] = 2


KINDS: Mapping[int, type[Points]] = {make.count: make for make in (Points68, Points203)}


def load_landmarks(path: Path) -> Points:
    """Read the description of a landmark network; ConfigError that names the key and the cure."""
    data = read_mapping(path)
    given = data.get("landmarks")
    kind = KINDS.get(given) if isinstance(given, int) else None
    if kind is None:
        said = "it has no landmarks" if given is None else f"{given!r} are none of these"
        known = ", ".join(map(str, KINDS))
        raise ConfigError(f"{path} describes no landmarks: {said}", cure=f"known: {known}")
    return converted(path, data, kind, kind.convention)


class DescribedLandmarks:
    """A landmark model (mpflow.models.landmarks.LandmarkModel) around a session of its file."""

    def __init__(self, session: Any, points: Points, origin: Origin) -> None:
        self.count = points.count
        self.side = points.input.side
        self.passes = points.passes
        self._points = points
        socket = socket_of(session, points.input, origin)
        sides = self.side, self.side
        there = socket.width or self.side, socket.height or self.side
        if there != sides:
            what = f"its input is {there[0]}x{there[1]}, input.side is {self.side}"
            raise origin.error(what, "correct input.side")
        names = {
            role: (each,) if isinstance(each, str) else tuple(each)
            for role, each in points.outputs.items()
        }
        layouts = points.layouts()
        self.network = fit(session, socket, origin, sides=sides, layouts=layouts, names=names)

    def matrix(self, five: Floats | None, box: Floats) -> Floats:
        """The crop of a face by its box, upright by its eyes where they are known."""
        x1, y1, x2, y2 = box.tolist()
        across = None if five is None else five[1] - five[0]
        turn = 0.0 if across is None else float(np.degrees(np.arctan2(across[1], across[0])))
        face = self._points.of_box * max(x2 - x1, y2 - y1)
        return square_region(
            ((x1 + x2) / 2, (y1 + y2) / 2), self._points.scale * face, turn, self.side
        )

    def matrix_again(self, points: Floats) -> Floats:
        """The crop of a face around its points, upright from the eyes to the mouth."""
        places = points[:, :2].astype(np.float64)
        five = self.five(points).astype(np.float64)
        down = five[3:].mean(axis=0) - five[:2].mean(axis=0)
        length = float(np.hypot(*down))
        down = down / length if length > 1e-3 else np.array([0.0, 1.0])
        axes = np.array([(down[1], -down[0]), down])  # to the face's right in the image, and down
        turned = places @ axes.T
        near, far = turned.min(axis=0), turned.max(axis=0)
        side = self._points.scale * float((far - near).max())
        centre = ((near + far) / 2 + (0, self._points.shift * side)) @ axes
        turn = float(np.degrees(np.arctan2(axes[0][1], axes[0][0])))
        return square_region((centre[0], centre[1]), side, turn, self.side)

    def points(self, crops: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Points [n, count, 3] in pixels of BGR crops [n, side, side, 3], and scores [n].

        The third number of a point is how sure it is, where the network gives one; a face's score
        is their mean.
        """
        (raw,) = self.network.run(tensor_of(crops, self._points.input))["points"]
        raw = raw.reshape(len(crops), self.count, -1)
        points = np.zeros((len(crops), self.count, 3), np.float32)
        points[:, :, :2] = raw[:, :, :2] * (self.side / self._points.units)
        scores = np.ones(len(crops), np.float32)
        if raw.shape[2] == 3:
            scores = raw[:, :, 2].mean(axis=1).clip(0, 1)
        return points, scores

    def five(self, points: Floats) -> Floats:
        """The middles of the eyes, the tip of the nose and the corners of the mouth [5, 2]."""
        eyes = [points[list(each)].mean(axis=0) for each in self._points.eyes]
        return np.vstack([*eyes, points[list(self._points.singles)]])[:, :2].astype(np.float32)
