"""Covering a face in place: where (weights), with what (covers), and laying one over the other.

    weight 255 |======= face and margin =======|
               |                               |\\  feather: lies outside, so nothing
    weight 0   |                               | \\____ of the face is half covered

Everything works on single planes and is measured in the face's own size, so a small face is
hidden as well as a large one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
import numpy.typing as npt

from mpflow.convert import shrink
from mpflow.picture import IntBox, PlaneFormat
from mpflow.tokens import Box

Plane = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Weights = npt.NDArray[np.uint8]
Shape = Literal["ellipse", "box"]

FULL = 255

# A blur is made on a grid of half its sigma and enlarged again: no step of the grid is seen,
# and the cost does not grow with the sigma.
_GRID_PER_SIGMA = 2.0
_LEAST_SIGMA = 0.1
_LEAST_FEATHER = 0.01  # less than a pixel of nearly every face; keeps weights within 16 bits
_INT16 = 16383  # so that no sum of two parts leaves 16 bits


@dataclass(frozen=True, slots=True)
class Outline:
    """The form of a cover around a face's box.

    ``margin`` is the share of a side that is added on each side; ``feather`` the share of the
    radius so reached over which the cover fades.
    """

    shape: Shape = "ellipse"
    margin: float = 0.5
    feather: float = 0.15

    def extent(self, face: Box) -> Box:
        """The box that a cover touches: the face, its margin and the feather outside of it."""
        x1, y1, x2, y2 = face
        grow = (1 + 2 * self.margin) * (1 + max(self.feather, _LEAST_FEATHER)) / 2
        cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
        rx, ry = (x2 - x1) * grow, (y2 - y1) * grow
        # Centres of pixels are whole numbers; as an edge a pixel's far side is one further.
        return cx - rx, cy - ry, cx + rx + 1, cy + ry + 1

    def weights(self, face: Box, region: IntBox, plane: PlaneFormat) -> Weights:
        """How much of the cover each sample of ``region`` in a plane takes, 0..255.

        A chroma sample takes the largest weight of the pixels it serves.
        """
        x1, y1, x2, y2 = face
        grow = (1 + 2 * self.margin) / 2
        across = _distance(region[0], region[2], (x1 + x2) / 2, (x2 - x1) * grow, plane.xshift)
        down = _distance(region[1], region[3], (y1 + y2) / 2, (y2 - y1) * grow, plane.yshift)
        outer = 1 + max(self.feather, _LEAST_FEATHER)
        if self.shape == "box":
            return np.minimum.outer(_ramp(down, outer), _ramp(across, outer))
        return _elliptic(down * down, across * across, outer * outer)


def _distance(start: int, stop: int, centre: float, radius: float, shift: int) -> Floats:
    """Distance from the centre in radii, the smallest of each block that shares a sample."""
    distance = np.abs(np.arange(start, stop, dtype=np.float32) - np.float32(centre))
    if shift:
        distance = np.append(distance, distance[-1:]) if len(distance) % 2 else distance
        distance = distance.reshape(-1, 2).min(axis=1)
    scaled: Floats = distance / np.float32(max(radius, 0.5))
    return scaled


def _ramp(distance: Floats, outer: float) -> Weights:
    """255 up to a distance of 1, falling to 0 at ``outer``."""
    ramp = np.ceil((outer - distance) * (FULL / (outer - 1)))
    weights: Weights = ramp.clip(0, FULL).astype(np.uint8)
    return weights


def _elliptic(down: Floats, across: Floats, outer: float) -> Weights:
    """The same for the sum of two squared distances.

    A row's part less a column's part, in whole steps of weight, rounded so that what lies within
    a distance of 1 is never less than full.
    """
    slope = FULL / (outer - 1)
    rows = np.ceil((outer - down) * slope).clip(-_INT16, _INT16).astype(np.int16)
    columns = np.floor(across * slope).clip(0, _INT16).astype(np.int16)
    sums = np.subtract.outer(rows, columns)
    weights: Weights = sums.clip(0, FULL, out=sums).astype(np.uint8)
    return weights


def mosaic(plane: Plane, cell: tuple[int, int]) -> Plane:
    """Means over cells of ``cell`` samples (width, height), counted from the top left."""
    height, width = plane.shape[:2]
    grid = -(-width // cell[0]), -(-height // cell[1])
    right, below = grid[0] * cell[0] - width, grid[1] * cell[1] - height
    padded = cv2.copyMakeBorder(plane, 0, below, 0, right, cv2.BORDER_REPLICATE)
    cells = _means(padded, grid)
    return cells.repeat(cell[1], axis=0)[:height].repeat(cell[0], axis=1)[:, :width]


def blur(plane: Plane, sigma: tuple[float, float]) -> Plane:
    """A Gaussian of ``sigma`` samples (x, y)."""
    height, width = plane.shape[:2]
    grid = _grid(width, sigma[0]), _grid(height, sigma[1])
    soft = cv2.GaussianBlur(
        _means(plane, grid),
        (0, 0),
        sigmaX=max(_LEAST_SIGMA, sigma[0] * grid[0] / width),
        sigmaY=max(_LEAST_SIGMA, sigma[1] * grid[1] / height),
        borderType=cv2.BORDER_REPLICATE,
    )
    return _resize(soft, (width, height), cv2.INTER_LINEAR)


def _grid(side: int, sigma: float) -> int:
    return min(side, math.ceil(side * _GRID_PER_SIGMA / max(sigma, _LEAST_SIGMA)))


def solid(plane: Plane, values: tuple[int, ...]) -> Plane:
    """One value per channel everywhere."""
    cover = np.empty_like(plane)
    cover[:] = values if plane.ndim == 3 else values[0]
    return cover


def blend(target: Plane, cover: Plane, weight: Weights) -> None:
    """Lay ``cover`` over ``target`` in place: exactly it where the weight is 255, nothing at 0.

    The cover is used up. In place, because fresh pages would cost more than the arithmetic.
    """
    spread = weight if target.ndim == 2 else cv2.merge([weight] * target.shape[2])
    over = spread.astype(target.dtype, copy=False)
    cv2.multiply(cover, over, dst=cover, scale=1 / FULL)
    cv2.multiply(target, FULL - over, dst=target, scale=1 / FULL)
    cv2.add(target, cover, dst=target)


def _means(plane: Plane, grid: tuple[int, int]) -> Plane:
    """Reduce to a grid by true means; halved first, which is the fast way."""
    height, width = plane.shape[:2]
    step = 1
    while width // (2 * step) >= 4 * grid[0] and height // (2 * step) >= 4 * grid[1]:
        step *= 2
    if step > 1:
        plane = shrink(plane, (width // step, height // step))
    return _resize(plane, grid, cv2.INTER_AREA)


def _resize(plane: Plane, size: tuple[int, int], how: int) -> Plane:
    result: Plane = cv2.resize(plane, size, interpolation=how)
    return result
