"""The swapper that needs no weights: the source's skin drawn over the target's mesh.

    photo -> texture: the face in it, no finer than the crop needs, and how well each triangle is
             seen in it
    target's mesh -> which triangle is seen at each pixel of the crop, the nearest one
                  -> for each pixel its place in the texture, affine within a triangle
                  -> one remap; the mask is how well the texture shows what is seen there

Pose and expression are the target's, since its mesh is what is drawn over. An open mouth and shut
eyes stay the target's (mpflow.swapping.kept); skin that hair hides in the photo is made up
(mpflow.swapping.skin).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.align import Template
from mpflow.models.detections import Floats
from mpflow.models.pose import Pose
from mpflow.swapping.contract import Made, Picture, Source, Target
from mpflow.swapping.expression import parted, shut
from mpflow.swapping.kept import kept
from mpflow.swapping.textures import Texture, texture_of
from mpflow.swapping.triangles import areas, around, facing, painted, triangles

_SOFT = 0.012  # of the crop's side: over so much the mask's own edges fade
_GRAZING = 0.05  # a triangle that is less turned to the viewer counts as if it were so much
_SEEN = 0.4, 0.7  # how much of a triangle that the target shows the photo has to show as well
_PARTED, _SHUT = 10.0, 20.0  # degrees that a photo may be worse turned whose mouth or eyes are good


@dataclass(frozen=True, slots=True, eq=False)
class Skin:
    """A source as it is drawn: its photos' textures."""

    textures: tuple[Texture, ...]


class MeshWarp:
    """Draws a source's photo over the target's mesh, in crops of ``size`` pixels."""

    template: Template = "ffhq"

    def __init__(self, size: int = 256) -> None:
        self._size = size

    @property
    def size(self) -> int:
        """Pixels of a side of the crop."""
        return self._size

    def prepare(self, source: Source) -> Skin:
        """The textures of a source's photos."""
        return Skin(tuple(texture_of(photo, self.template, self._size) for photo in source.photos))

    def swap(self, targets: Sequence[Target], prepared: Sequence[Skin]) -> list[Made | None]:
        """Each target with the skin at the same place; None for one without a mesh in its crop."""
        return [
            None if target.mesh is None else self._drawn(target, target.mesh, skin)
            for target, skin in zip(targets, prepared, strict=True)
        ]

    def _drawn(self, target: Target, mesh: Floats, skin: Skin) -> Made | None:
        texture = nearest(skin.textures, target.pose)
        seen = painted(mesh, (self._size, self._size))
        inside = (seen >= 0).astype(np.uint8)
        x, y, width, height = cv2.boundingRect(inside)
        if not width:
            return None
        part = slice(y, y + height), slice(x, x + width)
        drawn = _remapped(texture, mesh, seen[part], (x, y))
        share = _good(texture, mesh)
        inside = inside[part]
        picture, mask = target.crop.copy(), np.zeros((self._size, self._size), np.uint8)
        mask[part] = cv2.copyTo(cv2.min(share[seen[part]], drawn[..., 3]), inside)
        cv2.copyTo(drawn[..., :3], inside, picture[part])
        mask = _softened(mask, self._size)
        stays = kept(
            mesh,
            self._size,
            mouth=max(parted(mesh), texture.parted),
            eyes=max(shut(target.crop, mesh), texture.shut),
        )
        return Made(picture, mask if stays is None else np.minimum(mask, 255 - stays))


def nearest(textures: Sequence[Texture], pose: Pose | None) -> Texture:
    """The texture whose head is turned most like ``pose``, or else is turned least.

    Of two alike the one with closed lips and open eyes is better: it can show more of itself.
    """
    yaw, pitch, _ = pose or (0.0, 0.0, 0.0)

    def away(each: Texture) -> float:
        turned = float(np.hypot(each.pose[0] - yaw, each.pose[1] - pitch))
        return turned + _PARTED * each.parted + _SHUT * each.shut

    return min(textures, key=away)


def _remapped(
    texture: Texture, mesh: Floats, seen: NDArray[np.int16], at: tuple[int, int]
) -> Picture:
    """The texture over the mesh, for the pixels [h, w] from ``at`` (x, y) on."""
    ways = affine(mesh[triangles(), :2], texture.mesh[triangles(), :2])[seen]
    height, width = seen.shape
    x = np.arange(at[0], at[0] + width, dtype=np.float32)
    y = np.arange(at[1], at[1] + height, dtype=np.float32)[:, None]
    columns = ways[..., 0] * x + ways[..., 1] * y + ways[..., 2]
    rows = ways[..., 3] * x + ways[..., 4] * y + ways[..., 5]
    drawn = cv2.remap(
        texture.picture, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return drawn.astype(np.uint8, copy=False)


def affine(start: Floats, goal: Floats) -> Floats:
    """The matrices [t, 6], row by row, that bring triangles [t, 3, 2] to others; 0 for a triangle
    without area."""
    one, other = start[:, 1] - start[:, 0], start[:, 2] - start[:, 0]
    area = areas(start)
    share = np.where(np.abs(area) > 1e-6, 1 / np.where(area == 0, 1, area), 0)[:, None]
    first, second = goal[:, 1] - goal[:, 0], goal[:, 2] - goal[:, 0]
    by_x = (first * other[:, 1:] - second * one[:, 1:]) * share
    by_y = (second * one[:, :1] - first * other[:, :1]) * share
    shift = goal[:, 0] - by_x * start[:, 0, :1] - by_y * start[:, 0, 1:]
    rows = np.stack([by_x, by_y, shift], axis=2)  # [t, xy of the goal, 3]
    found: Floats = rows.reshape(-1, 6).astype(np.float32)
    return found


def _good(texture: Texture, mesh: Floats) -> NDArray[np.uint8]:
    """How good each triangle [t] is, 0..255: how much of what the target shows the photo has."""
    part = around() @ (texture.shown / facing(mesh).clip(_GRAZING, None)).clip(0, 1)
    way = ((part - _SEEN[0]) / (_SEEN[1] - _SEEN[0])).clip(0, 1)
    share = way * way * (3 - 2 * way)  # smooth where it begins and ends
    found: NDArray[np.uint8] = np.rint(255 * share).astype(np.uint8)
    return found


def _softened(mask: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The mask with soft edges; beyond the mesh the target's crop goes on below it."""
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), _SOFT * size), np.uint8)
