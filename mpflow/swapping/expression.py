"""What a face does that a mesh follows badly: whether its lips are parted and its eyes shut."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.contract import Picture
from mpflow.swapping.flatface import LEFT_EYE, RIGHT_EYE

_LEFT_CORNER, _RIGHT_CORNER = LEFT_EYE[0], RIGHT_EYE[8]  # the outer ones
_UPPER_LIP, _LOWER_LIP = 13, 14  # the middles of the lips, inside
_UNDER_LEFT, _UNDER_RIGHT = [119, 118, 117, 101, 50], [348, 347, 346, 330, 280]  # skin below an eye

_PARTED = 0.03, 0.065  # gap between the lips, in widths of the eyes, where a mouth opens, is open

# Along an open eye there are white, iris and white, along shut lids there is skin: the spread of
# brightness along the eye, in parts of the skin's below it and in parts of the eye's own. On 540
# frames of two clips all but 2 % of open eyes are above the higher bounds, and of shut eyes all
# but 5 % are below them; most shut ones are below the lower.
_ALONG_SKIN = 0.045, 0.065
_ALONG_EYE = 0.10, 0.145
_COLUMNS = np.linspace(0.15, 0.85, 15, dtype=np.float32)  # from corner to corner
_ROWS = np.linspace(0.15, 0.7, 5, dtype=np.float32)[:, None]  # from lid to lid, above the lashes


def parted(mesh: Floats) -> float:
    """How far the lips of a mesh [468, 3] are parted: 0 closed, 1 open."""
    eyes = float(np.linalg.norm(mesh[_LEFT_CORNER] - mesh[_RIGHT_CORNER]))
    gap = float(np.linalg.norm(mesh[_UPPER_LIP] - mesh[_LOWER_LIP]))
    return step(gap / max(eyes, 1e-6), *_PARTED)


def shut(picture: Picture, mesh: Floats) -> float:
    """How far the eyes are shut in a picture BGR whose face has this mesh [468, 3]: 0 open, 1 shut.

    The mesh itself does not tell: its lids stay open.
    """
    left = _along(picture, mesh, LEFT_EYE, _UNDER_LEFT)
    right = _along(picture, mesh, RIGHT_EYE, _UNDER_RIGHT)
    skin, eye = (left[0] + right[0]) / 2, (left[1] + right[1]) / 2
    return min(1 - step(skin, *_ALONG_SKIN), 1 - step(eye, *_ALONG_EYE))


def step(value: float, low: float, high: float) -> float:
    """0 up to ``low``, 1 from ``high`` on, smooth between."""
    way = min(max((value - low) / (high - low), 0.0), 1.0)
    return way * way * (3 - 2 * way)


def _along(
    picture: Picture, mesh: Floats, ring: list[int], under: list[int]
) -> tuple[float, float]:
    """The spread of brightness along an eye, in parts of the skin's and of the eye's."""
    places = _between(mesh[ring, :2])
    eye = _brightness(picture, places).mean(axis=0)
    skin = float(_brightness(picture, mesh[None, under, :2]).mean())
    count = np.arange(len(eye))
    slope, level = np.polyfit(count, eye, 1)
    spread = float((eye - slope * count - level).std())
    return spread / max(skin, 1.0), spread / max(float(eye.mean()), 1.0)


def _between(ring: Floats) -> Floats:
    """Places [rows, columns, 2] between the lids whose ring [16, 2] begins at the left corner and
    goes along the lower one."""
    start, way = ring[0], ring[8] - ring[0]
    length = max(float(np.hypot(*way)), 1e-6)
    turn = np.array([[way[0], way[1]], [-way[1], way[0]]], np.float32) / length
    flat = (ring - start) @ turn.T
    x = _COLUMNS * length
    lower = np.interp(x, *flat[:9].T)
    upper = np.interp(x, *flat[[0, *range(15, 7, -1)]].T)
    y = upper + (lower - upper) * _ROWS
    found: Floats = (np.dstack([np.broadcast_to(x, y.shape), y]) @ turn + start).astype(np.float32)
    return found


def _brightness(picture: Picture, places: Floats) -> NDArray[np.float64]:
    """How bright a picture is at places [h, w, 2]."""
    across, down = cv2.split(places)
    colours = cv2.remap(picture, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    found: NDArray[np.float64] = colours @ np.array([0.114, 0.587, 0.299])
    return found
