"""The form of a cover around one face: from its box, its mesh, and how much of the head is meant.

    face's box ------------> ellipse or box      (mpflow.cover.Outline)
    the hull of its mesh --> that hull, grown    (follows a face that is turned or tilted)
    head: the box, or the hull, first grown to hair, ears and chin

A form says what it touches, and how much of the cover each sample of a plane takes: all of it on
the face and its margin, less and less in the feather outside of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, Protocol

import cv2
import numpy as np

from mpflow.cover import FULL, Outline, Weights
from mpflow.heads import UPRIGHT, Direction, Floats, head_box, head_hull, hull_of, up_of
from mpflow.picture import IntBox, PlaneFormat
from mpflow.tokens import Box, Face

Part = Literal["face", "head"]

# A mesh that has this little in common with the detector's box is not that face's.
_LEAST_COMMON = 0.25
# A hull is drawn at most this large and its weights are enlarged: they have no detail.
_HULL_SIDE = 64
# OpenCV's fast distances are too long by at most so much.
_NEVER_LESS = 0.98
_BITS = 4  # of a fraction in OpenCV's fixed-point coordinates


class Form(Protocol):
    """What a cover touches, and how strongly."""

    @property
    def core(self) -> Box:
        """The box around what is covered fully."""

    @property
    def extent(self) -> Box:
        """The box that is touched: the core and its feather."""

    def weights(self, region: IntBox, plane: PlaneFormat) -> Weights:
        """How much of the cover each sample of ``region`` in a plane takes, 0..255."""


@dataclass(frozen=True, slots=True)
class Around:
    """An ellipse or a box around a box."""

    outline: Outline
    box: Box

    @property
    def core(self) -> Box:
        """The box around what is covered fully."""
        x1, y1, x2, y2 = self.box
        dx, dy = (x2 - x1) * self.outline.margin, (y2 - y1) * self.outline.margin
        return x1 - dx, y1 - dy, x2 + dx, y2 + dy

    @property
    def extent(self) -> Box:
        """The box that is touched."""
        return self.outline.extent(self.box)

    def weights(self, region: IntBox, plane: PlaneFormat) -> Weights:
        """How much of the cover each sample takes."""
        return self.outline.weights(self.box, region, plane)


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """A convex polygon [n, 2] with a margin and a feather around it, both in pixels."""

    polygon: Floats
    margin: float
    feather: float
    _known: dict[IntBox, Weights] = field(default_factory=dict)

    @property
    def core(self) -> Box:
        """The box around what is covered fully."""
        return self._box(self.margin)

    @property
    def extent(self) -> Box:
        """The box that is touched."""
        return self._box((self.margin + self.feather + self._step) / _NEVER_LESS + self._step)

    def weights(self, region: IntBox, plane: PlaneFormat) -> Weights:
        """How much of the cover each sample takes; a chroma sample the most of its pixels."""
        if region not in self._known:
            self._known[region] = self._fine(region)
        return _largest(self._known[region], plane)

    def _fine(self, region: IntBox) -> Weights:
        """The weights of all pixels, drawn on a grid of ``step`` pixels and enlarged."""
        step, (x1, y1, x2, y2) = self._step, region
        width, height = -(-(x2 - x1) // step), -(-(y2 - y1) // step)
        coarse = self._drawn(region, width, height)
        if step == 1:
            return coarse
        whole = cv2.resize(coarse, (width * step, height * step), interpolation=cv2.INTER_LINEAR)
        return whole[: y2 - y1, : x2 - x1].astype(np.uint8)

    def _drawn(self, region: IntBox, width: int, height: int) -> Weights:
        """The weights of a grid that begins where the region does. It is drawn as far as the form
        reaches, since what lies outside of a picture has its margin in it."""
        step, extent = self._step, self.extent
        left = max(0, math.ceil((region[0] - extent[0]) / step))
        above = max(0, math.ceil((region[1] - extent[1]) / step))
        columns = max(left + width, math.ceil((extent[2] - region[0]) / step) + left)
        rows = max(above + height, math.ceil((extent[3] - region[1]) / step) + above)
        origin = region[0] - left * step + (step - 1) / 2, region[1] - above * step + (step - 1) / 2
        away = np.full((rows, columns), 1, np.uint8)
        places = (self.polygon - origin) / step * (1 << _BITS)
        cv2.fillConvexPoly(away, np.rint(places).astype(np.int32), 0, shift=_BITS)
        distance = cv2.distanceTransform(away, cv2.DIST_L2, cv2.DIST_MASK_5)
        wanted = distance[above : above + height, left : left + width]
        # nothing less for being drawn coarsely; the rest of the formula is one pass over the grid
        outer = self.margin + self.feather + step
        slope = FULL / max(self.feather, 1.0)
        ramp = cv2.addWeighted(wanted, -step * _NEVER_LESS * slope, wanted, 0, outer * slope)
        weights: Weights = ramp.clip(0, FULL, out=ramp).astype(np.uint8)
        return weights

    @property
    def _step(self) -> int:
        low, high = self.polygon.min(axis=0), self.polygon.max(axis=0)
        return max(1, int((high - low).max() // _HULL_SIDE))

    def _box(self, more: float) -> Box:
        (x1, y1), (x2, y2) = self.polygon.min(axis=0).tolist(), self.polygon.max(axis=0).tolist()
        return x1 - more, y1 - more, x2 + more + 1, y2 + more + 1


@dataclass(frozen=True, slots=True)
class Former:
    """Gives every face its form. ``up`` is where heads point when a face does not tell."""

    outline: Outline
    part: Part = "face"
    up: Direction = UPRIGHT

    def around(self, face: Face) -> Form:
        """A form around a face's box."""
        box = face.box if self.part == "face" else head_box(face, self.up)
        return Around(self.outline, box)

    def around_hull(self, face: Face, polygon: Floats, *, whole: bool = True) -> Form:
        """A form around the hull of a face's points; around its box where the two do not agree.

        Points that are not of the ``whole`` face (few have any on the forehead) are joined by the
        ellipse in its box.
        """
        if not agree(polygon, face.box):
            return self.around(face)
        if not whole:
            polygon = hull_of(np.vstack([polygon, _ellipse(face.box)]))
        side = max(face.box[2] - face.box[0], face.box[3] - face.box[1])
        if self.part == "head":
            behind = _ellipse(head_box(face, self.up))  # no point of a mesh lies on hair
            polygon = hull_of(np.vstack([head_hull(polygon, up_of(face, self.up)), behind]))
        margin = self.outline.margin * side
        return Hull(polygon, margin, max(self.outline.feather * (side / 2 + margin), 1.0))


def _largest(fine: Weights, plane: PlaneFormat) -> Weights:
    """The largest weight of the pixels that each sample of a plane serves."""
    if plane.xshift:
        even = fine if fine.shape[1] % 2 == 0 else np.pad(fine, ((0, 0), (0, 1)), "edge")
        fine = np.maximum(even[:, ::2], even[:, 1::2])
    if plane.yshift:
        even = fine if len(fine) % 2 == 0 else np.pad(fine, ((0, 1), (0, 0)), "edge")
        fine = np.maximum(even[::2], even[1::2])
    return fine


def agree(polygon: Floats, box: Box) -> bool:
    """Whether a polygon can be that of the face in a box."""
    if len(polygon) < 3 or not np.isfinite(polygon).all():
        return False
    (x1, y1), (x2, y2) = polygon.min(axis=0).tolist(), polygon.max(axis=0).tolist()
    width, height = min(x2, box[2]) - max(x1, box[0]), min(y2, box[3]) - max(y1, box[1])
    common = max(width, 0) * max(height, 0)
    both = (x2 - x1) * (y2 - y1) + (box[2] - box[0]) * (box[3] - box[1]) - common
    return bool(common > _LEAST_COMMON * both)


def _ellipse(box: Box) -> Floats:
    """Points on the ellipse in a box."""
    angles = np.linspace(0, 2 * math.pi, 32, endpoint=False)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    across, down = (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    points = np.column_stack([x + across * np.cos(angles), y + down * np.sin(angles)])
    return points.astype(np.float32)
