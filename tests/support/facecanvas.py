"""A picture that is drawn from photos, and which share of every face on it can be seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt
from facephotos import Bgr, CutOut, Plane, Rectangle

Matrix = npt.NDArray[np.float64]


@dataclass
class Shown:
    """A face on the canvas, and which of its pixels are not hidden by what was drawn later."""

    person: str
    box: Rectangle
    open: npt.NDArray[np.bool_]
    place: tuple[slice, slice]
    area: float

    @property
    def visible(self) -> float:
        """The share of the face that is in the picture and not hidden."""
        return min(1.0, float(self.open.sum()) / self.area)


@dataclass
class Canvas:
    """A picture that is being drawn, with the faces on it."""

    width: int
    height: int
    picture: Bgr
    shown: list[Shown] = field(default_factory=list)

    def paste(self, what: CutOut, matrix: Matrix, blur: tuple[float, float] = (0, 0)) -> None:
        """Draw somebody, ``matrix`` leading from the cut-out to the canvas; ``blur`` is the way
        (pixels) that it moves while the shutter is open."""
        size = self.width, self.height
        layer = cv2.warpAffine(what.picture, matrix, size, flags=cv2.INTER_AREA)
        alpha = cv2.warpAffine(what.alpha, matrix, size)
        if math.hypot(*blur) > 1:
            layer = layer * alpha[..., None]
            layer, alpha = (smeared(each, blur) for each in (layer, alpha))
            layer = layer / np.maximum(alpha, 1e-3)[..., None]
        self._blend(layer, alpha)
        self._show(what.person, what.face, matrix)

    def hide(self, picture: Bgr, alpha: Plane) -> None:
        """Draw something that is nobody."""
        self._blend(picture, alpha)

    def see(self, whole: Bgr, faces: dict[str, Rectangle], matrix: Matrix) -> None:
        """Fill the canvas with a photo and its faces."""
        size = self.width, self.height
        flags = cv2.INTER_CUBIC
        self.picture = cv2.warpAffine(whole, matrix, size, flags=flags).astype(np.uint8)
        for person, box in faces.items():
            self._show(person, box, matrix)

    def _blend(self, layer: npt.NDArray[np.generic], alpha: Plane) -> None:
        columns, rows = (np.flatnonzero(alpha.max(axis=axis) > 0) for axis in (0, 1))
        if not len(columns):
            return
        part = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        weight = alpha[part][..., None]
        mixed = self.picture[part] * (1 - weight) + layer[part] * weight
        self.picture[part] = np.clip(np.rint(mixed), 0, 255)
        for each in self.shown:
            each.open &= alpha[each.place] < 0.5

    def _show(self, person: str, face: Rectangle, matrix: Matrix) -> None:
        """Note a face: the ellipse within its box, moved."""
        x1, y1, x2, y2 = face
        centre = matrix @ np.array([(x1 + x2) / 2, (y1 + y2) / 2, 1])
        axes = matrix[:, :2] * np.array([(x2 - x1) / 2, (y2 - y1) / 2])
        reach = np.hypot(axes[:, 0], axes[:, 1])
        (left, top), (right, bottom) = centre - reach, centre + reach
        rows, columns = _within(top, bottom, self.height), _within(left, right, self.width)
        y, x = np.mgrid[rows, columns]
        away = np.stack([x - centre[0], y - centre[1]], axis=-1) @ np.linalg.inv(axes).T
        inside = (away**2).sum(axis=-1) <= 1
        area = math.pi * abs(float(np.linalg.det(axes)))
        box = float(left), float(top), float(right), float(bottom)
        self.shown.append(Shown(person, box, inside, (rows, columns), area))


def place(what: CutOut, x: float, y: float, tall: float, lean: float = 0.0) -> Matrix:
    """Put the middle of a face at (x, y), ``tall`` pixels high, turned by ``lean`` degrees."""
    matrix = cv2.getRotationMatrix2D(what.centre, lean, tall / what.height)
    matrix[:, 2] += np.array([x, y]) - what.centre
    return matrix


def _within(first: float, last: float, limit: int) -> slice:
    """The whole pixels from ``first`` to ``last``, of those that there are."""
    start = min(limit, max(0, math.floor(first)))
    return slice(start, max(start, min(limit, math.ceil(last))))


def smeared(plane: npt.NDArray[np.generic], way: tuple[float, float]) -> npt.NDArray[np.generic]:
    """What a shutter sees of something that moves by ``way`` while it is open."""
    steps = max(2, math.ceil(math.hypot(*way) / 2))
    reach = math.ceil(max(map(abs, way)) / 2)
    kernel = np.zeros((2 * reach + 1,) * 2, np.float32)
    for step in np.linspace(-0.5, 0.5, steps):
        kernel[round(reach + way[1] * step), round(reach + way[0] * step)] += 1 / steps
    return cv2.filter2D(plane, -1, kernel)
