"""Bring a face into the place where embedders expect it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpflow.errors import ContractError
from mpflow.models.detections import Floats

CROP = 112
# Where ArcFace (insightface's norm_crop) puts image-left eye, image-right eye, nose, image-left
# and image-right corner of the mouth in a crop of 112x112 pixels.
ARCFACE_POINTS = np.array(
    [
        (38.2946, 51.6963),
        (73.5318, 51.5014),
        (56.0252, 71.7366),
        (41.5493, 92.3655),
        (70.7299, 92.2041),
    ]
)


def crop(bgr: NDArray[np.uint8], points: ArrayLike, size: int = CROP) -> NDArray[np.uint8]:
    """The face with these five points [5, 2], upright in a picture [size, size, 3]."""
    matrix = similarity(points, ARCFACE_POINTS * (size / CROP))
    aligned: NDArray[np.uint8] = cv2.warpAffine(bgr, matrix, (size, size)).astype(np.uint8)
    return aligned


def similarity(source: ArrayLike, target: ArrayLike) -> Floats:
    """The rotation, scale and shift [2, 3] that brings points [k, 2] nearest to others.

    Least squares over all points, no reflection (Umeyama, "Least-squares estimation of
    transformation parameters between two point patterns", 1991). Raises ContractError if the
    source points are all one.
    """
    start, goal = np.asarray(source, np.float64), np.asarray(target, np.float64)
    start_mean, goal_mean = start.mean(axis=0), goal.mean(axis=0)
    centred = start - start_mean
    spread = (centred**2).sum() / len(start)
    if not spread > 0:
        raise ContractError("a face whose points are all one cannot be aligned")
    left, strengths, right = np.linalg.svd((goal - goal_mean).T @ centred / len(start))
    signs = np.array([1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    linear = (left * signs) @ right * ((strengths * signs).sum() / spread)
    shift = goal_mean - linear @ start_mean
    return np.hstack([linear, shift[:, None]]).astype(np.float32)
