"""Where a face will be: a Kalman filter of its own for each track, OpenCV's.

The state is centre and sides of the box, and the speed of each. Faces speed up and slow down by
no more than some of their own sizes a second, so all noise is in sizes: a face of 30 pixels
moves as one of 600 does. Speed fades with time: who was not seen for a while has hardly gone on.

Source of the noise of a change of speed that is constant over a step: Bar-Shalom, Li and
Kirubarajan, Estimation with Applications to Tracking and Navigation (2001), section 6.3.2.
"""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.boxes import size_of
from mpflow.tokens import Box

ACCELERATION = 8.0
"""Sizes per second squared, one deviation: a head that turns about in a quarter of a second."""

MEASURED = 0.05
"""Sizes, one deviation: by how much a detector's boxes tremble."""

SPEED = 2.0
"""Sizes per second, one deviation: how fast a face may move that was seen but once."""

FADES_S = 1.0
"""After so many seconds unseen a third of the speed is left."""

_AXES = 4
_EYE = np.eye(_AXES)

Matrix = NDArray[np.float64]


class Motion:
    """The motion of one face, from its first box on."""

    def __init__(self, box: Box) -> None:
        kalman = cv2.KalmanFilter(2 * _AXES, _AXES, 0, cv2.CV_64F)
        kalman.measurementMatrix = np.eye(_AXES, 2 * _AXES)
        size = size_of(box)
        kalman.statePost = np.concatenate([_measured(box), np.zeros((_AXES, 1))])
        deviations = [MEASURED * size] * _AXES + [SPEED * size] * _AXES
        kalman.errorCovPost = np.diag(np.square(deviations))
        self._kalman = kalman
        self._size = size

    def predict(self, seconds: float) -> Box:
        """Go on by so many seconds; where the face is expected now."""
        transition, noise = _step(seconds)
        self._kalman.transitionMatrix = transition
        self._kalman.processNoiseCov = noise * self._size**2
        return _box(self._kalman.predict())

    def correct(self, box: Box) -> None:
        """The face was found here."""
        self._size = size_of(box)
        self._kalman.measurementNoiseCov = _EYE * (MEASURED * self._size) ** 2
        self._kalman.correct(_measured(box))


@lru_cache(maxsize=64)
def _step(seconds: float) -> tuple[Matrix, Matrix]:
    """What becomes of a state in so many seconds, and its noise for a face of size 1."""
    kept = math.exp(-seconds / FADES_S)
    way = FADES_S * (1 - kept)
    transition = np.block([[_EYE, way * _EYE], [0 * _EYE, kept * _EYE]])
    place, both, speed = seconds**4 / 4, seconds**3 / 2, seconds**2
    noise = np.block([[place * _EYE, both * _EYE], [both * _EYE, speed * _EYE]])
    return transition, ACCELERATION**2 * noise


def _measured(box: Box) -> Matrix:
    x1, y1, x2, y2 = box
    return np.array([[(x1 + x2) / 2], [(y1 + y2) / 2], [x2 - x1], [y2 - y1]])


def _box(state: cv2.typing.MatLike) -> Box:
    x, y, width, height = (float(value) for value in state[:_AXES, 0])
    across, down = max(width, 1.0) / 2, max(height, 1.0) / 2
    return x - across, y - down, x + across, y + down
