"""People cut out of the store's photos, with the place of the face in each.

The boxes are the mean of what YuNet and CenterFace find at full size, looked at and rounded; the
photos are pinned by their sha256, so the boxes stay true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.models.store import ModelStore

Bgr = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.float32]
Rectangle = tuple[float, float, float, float]

GROUP = "group-photo"

GROUP_FACES: dict[str, Rectangle] = {
    "group-1": (59, 270, 170, 396),
    "group-2": (267, 150, 368, 270),
    "group-3": (464, 266, 576, 416),
    "group-4": (746, 344, 846, 480),
    "group-5": (902, 60, 1010, 204),
    "group-6": (1133, 274, 1226, 400),
}
"""Of the group photo, from left to right."""

PORTRAITS: dict[str, tuple[str, Rectangle]] = {
    "astronaut": ("astronaut", (180, 62, 270, 176)),
    "person-a-1": ("person-a", (63, 50, 140, 151)),
    "person-a-2": ("person-a", (204, 170, 520, 578)),
    "person-b-1": ("person-b", (218, 154, 504, 539)),
    "person-b-2": ("person-b", (200, 114, 494, 526)),
    "impostor-1": ("impostor-1", (222, 158, 460, 502)),
    "impostor-2": ("impostor-2", (241, 166, 516, 572)),
}
"""Whom a portrait shows, and where the face is."""

REACH = 1.0
"""How far a cut-out reaches beyond the face on each side, in sides of the face."""

FADE = 0.15
"""The share of a cut-out over which it fades into what is behind it."""


@dataclass(frozen=True)
class CutOut:
    """Somebody's head and shoulders: the picture, how opaque it is, and the face within."""

    person: str
    picture: Bgr
    alpha: Plane
    face: Rectangle

    @cached_property
    def height(self) -> float:
        """Of the face, in pixels."""
        return self.face[3] - self.face[1]

    @cached_property
    def centre(self) -> tuple[float, float]:
        """Of the face."""
        x1, y1, x2, y2 = self.face
        return (x1 + x2) / 2, (y1 + y2) / 2

    def turned(self, yaw: float) -> CutOut:
        """The head turned by ``yaw`` degrees, as if the face lay on a cylinder.

        What turns away is gone, and what turns up at the other side is stretched skin: as near
        to a profile as one photo comes.
        """
        (middle, _), angle = self.centre, math.radians(yaw)
        half = 0.62 * (self.face[2] - self.face[0])
        rows, columns = self.alpha.shape
        across = (np.arange(columns, dtype=np.float32) - middle) / half
        on_head = np.abs(across) < 1
        seen = np.arcsin(np.clip(across, -1, 1)) - angle
        source = np.where(on_head, half * np.sin(np.clip(seen, -1.5, 1.5)), across * half) + middle
        map_x = np.tile(source.astype(np.float32), (rows, 1))
        map_y = np.tile(np.arange(rows, dtype=np.float32)[:, None], (1, columns))
        picture = cv2.remap(self.picture, map_x, map_y, cv2.INTER_LINEAR)
        edges = [half * math.sin(min(1.57, max(-1.57, math.asin(e) + angle))) for e in (-0.8, 0.8)]
        face = middle + edges[0], self.face[1], middle + edges[1], self.face[3]
        return CutOut(self.person, picture.astype(np.uint8), self.alpha, face)


def photo(store: ModelStore, name: str) -> Bgr:
    """A photo of the store."""
    found = cv2.imread(str(store.path(name)))
    assert found is not None
    return found.astype(np.uint8)


def cut_out(store: ModelStore, name: str) -> CutOut:
    """The head and shoulders of a portrait, with soft edges."""
    person, (x1, y1, x2, y2) = PORTRAITS[name]
    whole = photo(store, name)
    rows, columns = whole.shape[:2]
    more = REACH * max(x2 - x1, y2 - y1)
    left, top = round(max(0, x1 - more)), round(max(0, y1 - more))
    right, bottom = round(min(columns, x2 + more)), round(min(rows, y2 + more))
    picture = whole[top:bottom, left:right]
    face = x1 - left, y1 - top, x2 - left, y2 - top
    return CutOut(person, picture, _soft(picture.shape[1], picture.shape[0]), face)


def _soft(width: int, height: int) -> Plane:
    """1 within, falling to 0 at the edges, with round corners."""
    x = np.abs(np.linspace(-1, 1, width, dtype=np.float32))
    y = np.abs(np.linspace(-1, 1, height, dtype=np.float32))
    far = (x[None] ** 4 + y[:, None] ** 4) ** 0.25
    return np.clip((1 - far) / FADE, 0, 1).astype(np.float32)
