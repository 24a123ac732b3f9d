"""Give a made face the colours of the face it is laid over.

    target, made, weight -> both small, as luma and two colour differences
                         -> means and spreads of what is skin in both, and how the difference
                            grows across the face: light from one side -> Shift
    made, Shift          -> one matrix over BGR, and one plane added

As in Reinhard and others, "Color Transfer between Images" (2001), in an opponent space that is
linear in BGR (JFIF's YCbCr), so that nothing is rounded twice. A hand, a microphone or dark glasses
before the target are no part of its colour: what is far from the colour of most of the face counts
little.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.models.detections import Floats
from mpflow.swapping.contract import Picture

Doubles = NDArray[np.float64]

# Rows Y, Cb, Cr of columns B, G, R, without the offset of Cb and Cr (JFIF 1.02).
_OPPONENT = np.array(
    [
        [0.114, 0.587, 0.299],
        [0.5, -0.331264, -0.168736],
        [-0.081312, -0.418688, 0.5],
    ]
)
_BACK = np.linalg.inv(_OPPONENT)

_SIDE = 48  # pixels that the statistics are taken of, along a side
_LEAST_PIXELS = 16
_LEAST_SPREAD = np.array([4.0, 2.0, 2.0])  # levels; below it, spread is noise
_SIGMAS = 3.0  # how far from the middle, in spreads, a pixel is hardly of the face
_MAD_TO_SIGMA = 1.4826  # of a normal distribution
_LEAST_COMMON = 0.2  # the share of the face that must be skin in both pictures
# Luma may be stretched by a little: more makes holes of eyes, and a shine of every nose. Colour, by
# less yet: the white of eyes, which is off the colour of skin, would turn blue.
_LEAST_GAIN = np.array([0.7, 0.7, 0.7])
_MOST_GAIN = np.array([1.25, 1.1, 1.1])
_STIFF = 0.005  # how little a slope is believed that few pixels tell of


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """What is done to luma, blue and red difference.

    Differences from the face's mean are multiplied by ``gain`` [3]; then ``off`` [3, 3] is added,
    in levels 0..255: its first row everywhere, its second growing to that from the middle of the
    crop to its right border, its third to its lower one.
    """

    gain: Doubles
    off: Doubles


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """A shift, and the mean colour [3] of the made face, around which it stretches."""

    shift: Shift
    mean: Doubles


def matching(target: Picture, made: Picture, weight: Floats) -> Matching | None:
    """What brings the colours of ``made`` to those of ``target``, both BGR [h, w, 3], where
    ``weight`` [h, w], 0..1, is; None where that is too little to say."""
    small = min(_SIDE, weight.shape[1]), min(_SIDE, weight.shape[0])
    every = cv2.resize(weight, small, interpolation=cv2.INTER_AREA).astype(np.float64).ravel()
    there = every > 0
    share, places = every[there], _places(small)[there]
    sure = share > 0.5
    if sure.sum() < _LEAST_PIXELS:
        return None
    goal, start = (_opponent(each, small)[there] for each in (target, made))
    of_goal, of_start = share * _skin(goal, sure), share * _skin(start, sure)
    both = share * of_goal * of_start
    if both.sum() >= _LEAST_COMMON * share.sum():
        of_goal = of_start = both
    goal_mean, goal_spread = _moments(goal, of_goal)
    start_mean, start_spread = _moments(start, of_start)
    gain = np.clip(goal_spread / start_spread, _LEAST_GAIN, _MOST_GAIN)
    left = goal - goal_mean - (start - start_mean) * gain
    off = _plane(left, of_goal * of_start, places)
    off[0] += goal_mean - start_mean
    return Matching(Shift(gain, off), start_mean)


def shifted(made: Picture, matching: Matching, part: tuple[slice, slice]) -> Picture:
    """The picture BGR [h, w, 3] with the colours of a part of it (rows, columns) shifted, rounded
    and cut to 0..255 once."""
    linear = _BACK @ np.diag(matching.shift.gain) @ _OPPONENT
    mean = _BACK @ matching.mean
    everywhere, across, down = (matching.shift.off @ _BACK.T).astype(np.float32)
    matrix = np.column_stack([linear, mean - linear @ mean + everywhere])
    stretched = cv2.transform(made[part].astype(np.float32), matrix.astype(np.float32))
    right, below = _axes((made.shape[1], made.shape[0]))
    plane = (right[part[1], None] * across)[None] + (below[part[0], None] * down)[:, None]
    picture = made.copy()
    picture[part] = cv2.add(stretched, plane, dtype=cv2.CV_8U)
    return picture


def _opponent(picture: Picture, size: tuple[int, int]) -> Doubles:
    """The pixels [n, 3] of a picture of ``size`` (width, height) as luma and differences."""
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    pixels: Doubles = small.reshape(-1, 3).astype(np.float64) @ _OPPONENT.T
    return pixels


def _skin(pixels: Doubles, sure: NDArray[np.bool_]) -> Doubles:
    """How much each pixel [n] is of the colour that most of the face has, 0..1."""
    middle = np.median(pixels[sure], axis=0)
    spread = _MAD_TO_SIGMA * np.median(np.abs(pixels[sure] - middle), axis=0)
    away = np.abs(pixels - middle) / np.maximum(spread, _LEAST_SPREAD)
    near: Doubles = np.exp(-((away.max(axis=1) / _SIGMAS) ** 2))
    return near


def _moments(pixels: Doubles, share: Doubles) -> tuple[Doubles, Doubles]:
    """Mean [3] and spread [3] of pixels that count by ``share``."""
    total = share.sum()
    mean = share @ pixels / total
    spread = np.sqrt(share @ (pixels - mean) ** 2 / total)
    return mean, np.maximum(spread, _LEAST_SPREAD / 4)


def _plane(left: Doubles, share: Doubles, places: Doubles) -> Doubles:
    """The plane [3, 3] nearest to what is left [n, 3] at ``places`` [n, 3], which count by
    ``share`` [n]."""
    weighted = places * share[:, None]
    stiff = np.diag([0.0, _STIFF, _STIFF]) * share.sum()
    plane: Doubles = np.linalg.solve(weighted.T @ places + stiff, weighted.T @ left)
    return plane


def _places(size: tuple[int, int]) -> Doubles:
    """1, and where each pixel of (width, height) lies, across and down [width * height, 3]."""
    across, down = np.meshgrid(*_axes(size))
    return np.column_stack([np.ones(across.size), across.ravel(), down.ravel()]).astype(np.float64)


def _axes(size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Where columns and rows of (width, height) lie: -1 at the first, 1 at the last."""
    across, down = (np.linspace(-1, 1, side).astype(np.float32) for side in size)
    return across, down
