"""A picture that is laid over faces: read once, then scaled to each face, its transparency kept.

file -> BGR and alpha, as large as it may ever be needed -> halves of it, and halves of those
     -> for a face: the nearest larger one, scaled and shifted to its place
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.errors import ConfigError
from mpflow.picture import IntBox
from mpflow.tokens import Box

Bgr = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

_LARGEST, _SMALLEST = 1024, 8
_SPREAD = 3  # how often colours are spread by two pixels over what is transparent
_CURE = "give a PNG, JPEG or WebP"


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The picture in one size: colours, those of what is transparent taken from beside it, and
    alpha 0..255."""

    bgr: Bgr
    alpha: npt.NDArray[np.uint8]


class Replacement:
    """A picture in falling sizes; ``sides`` are its own, in pixels."""

    def __init__(self, picture: npt.NDArray[Any], turns: int = 0) -> None:
        """Take BGR or BGRA of 8 or 16 bits, or grey; ``turns`` times 90 degrees clockwise."""
        whole = _premultiplied(np.ascontiguousarray(np.rot90(picture, -turns)))
        self.sides = whole.shape[1], whole.shape[0]
        sizes = [_shrunk(whole, _LARGEST / max(self.sides))]
        while min(sizes[-1].shape[:2]) >= 2 * _SMALLEST:
            sizes.append(_shrunk(sizes[-1], 0.5))
        self._levels = [_apart(size) for size in sizes]

    def place(self, core: Box) -> Box:
        """Where it goes so that it covers a box: centred, its own shape kept."""
        x1, y1, x2, y2 = core
        scale = max((x2 - x1) / self.sides[0], (y2 - y1) / self.sides[1])
        dx, dy = scale * self.sides[0] / 2, scale * self.sides[1] / 2
        cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
        return cx - dx, cy - dy, cx + dx, cy + dy

    def patch(self, place: Box, region: IntBox) -> tuple[Bgr, Floats]:
        """What lies in ``region`` of the picture put at ``place``: BGR and alpha 0..1."""
        level = self._level(place[2] - place[0])
        height, width = level.alpha.shape
        across, down = (place[2] - place[0]) / width, (place[3] - place[1]) / height
        # sides of pixels meet, not their centres
        x = place[0] - region[0] + (across - 1) / 2
        y = place[1] - region[1] + (down - 1) / 2
        matrix = np.array([[across, 0, x], [0, down, y]])
        size = region[2] - region[0], region[3] - region[1]
        colours = cv2.warpAffine(level.bgr, matrix, size, borderMode=cv2.BORDER_REPLICATE)
        alpha = cv2.warpAffine(level.alpha, matrix, size)
        return np.asarray(colours, np.uint8), alpha * np.float32(1 / 255)

    def _level(self, width: float) -> _Level:
        """The smallest that is not enlarged, so that no pixel of it is skipped."""
        large_enough = [level for level in self._levels if level.alpha.shape[1] >= width]
        return large_enough[-1] if large_enough else self._levels[0]


def read_picture(path: str) -> npt.NDArray[Any]:
    """Read a picture with its transparency; raises ConfigError that names it."""
    try:
        data = np.fromfile(path, np.uint8) if Path(path).is_file() else None
    except OSError as error:
        raise ConfigError(f"the picture {path!r} cannot be read: {error.strerror}") from error
    if data is None:
        raise ConfigError(f"there is no picture {path!r}", cure=_CURE)
    picture = _decoded(data)
    if picture is None:
        raise ConfigError(f"{path!r} is no picture that can be read", cure=_CURE)
    if picture.ndim == 3 and picture.shape[2] == 4 and not picture[:, :, 3].any():
        raise ConfigError(f"the picture {path!r} is transparent all over", cure="give another")
    return picture


def _decoded(data: npt.NDArray[np.uint8]) -> npt.NDArray[Any] | None:
    """As it is stored where it has transparency, else upright, as its camera says."""
    try:
        picture = cv2.imdecode(data, cv2.IMREAD_UNCHANGED) if data.size else None
        if picture is None or (picture.ndim == 3 and picture.shape[2] == 4):
            return picture
        return cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH)
    except cv2.error:  # a picture of more pixels than OpenCV takes, say
        return None


def _premultiplied(picture: npt.NDArray[Any]) -> Floats:
    """BGR times alpha in 0..255, and alpha in 0..1."""
    peak = np.float32(np.iinfo(picture.dtype).max)
    unit = picture.astype(np.float32) / peak
    if unit.ndim == 2:
        unit = unit[:, :, None]
    gray = unit.shape[2] <= 2
    colour = unit[:, :, [0, 0, 0]] if gray else unit[:, :, :3]
    has_alpha = unit.shape[2] in (2, 4)
    alpha = unit[:, :, -1:] if has_alpha else np.ones_like(unit[:, :, :1])
    return np.concatenate([colour * alpha * 255, alpha], axis=2).astype(np.float32)


def _apart(level: Floats) -> _Level:
    """Colours and alpha of a premultiplied picture; what is transparent gets the colours beside it,
    so that no edge is darkened by a colour that nobody sees."""
    around = level
    for _ in range(_SPREAD):
        around = np.asarray(cv2.blur(around, (5, 5)), np.float32)
    solid = level[:, :, 3:] > 1 / 255
    source = np.where(solid, level, around)
    colours = source[:, :, :3] / np.maximum(source[:, :, 3:], 1e-6)
    return _Level(
        np.rint(colours.clip(0, 255)).astype(np.uint8),
        np.rint(level[:, :, 3] * 255).astype(np.uint8),
    )


def _shrunk(level: Floats, scale: float) -> Floats:
    if scale >= 1:
        return level
    size: Sequence[int] = [max(1, round(side * scale)) for side in (level.shape[1], level.shape[0])]
    return np.asarray(cv2.resize(level, size, interpolation=cv2.INTER_AREA), np.float32)
