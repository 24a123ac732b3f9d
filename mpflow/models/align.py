"""Bring a face into the place where embedders, swappers and enhancers expect it.

    aligned(frame, face.points, "ffhq", 512) -> the crop, and the matrix that brought it there

``aligned`` takes a face out of a frame's planes; ``crop`` out of a picture that is BGR already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpflow.errors import ContractError
from mpflow.models.detections import Floats
from mpflow.models.warp import warped

if TYPE_CHECKING:
    from mpflow.frame import Frame

Template: TypeAlias = Literal["arcface", "arcface-v1", "arcface-128", "ffhq"]

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

# The template before that, also for 112x112, with a smaller face that lies higher: the frontal one
# of the five by which insightface once aligned. SimSwap still does (insightface_func/utils/
# face_align_ffhqandnewarc.py, src3), and so does GHOST. Others call it arcface_112_v1, and the
# newer one arcface_112_v2.
_ARCFACE_V1_POINTS = np.array(
    [
        (39.730, 51.138),
        (72.270, 51.138),
        (56.000, 68.493),
        (42.463, 87.010),
        (69.537, 87.010),
    ]
)

# The newer face in 128x128, which insightface shifts instead of scaling it (face_align.py,
# estimate_norm): what swappers with a crop of 128 or 256 take.
_ARCFACE_128_POINTS = ARCFACE_POINTS + np.array([8.0, 0.0])
# Where the FFHQ set has the points of a face, 512x512, as enhancers were trained on it
# (facexlib, face_restoration_helper.py).
_FFHQ_POINTS = np.array(
    [
        (192.98138, 239.94708),
        (318.90277, 240.1936),
        (256.63416, 314.01935),
        (201.26117, 371.41043),
        (313.08905, 371.15118),
    ]
)
TEMPLATES: Mapping[Template, NDArray[np.float64]] = {
    "arcface": ARCFACE_POINTS / CROP,
    "arcface-v1": _ARCFACE_V1_POINTS / CROP,
    "arcface-128": _ARCFACE_128_POINTS / 128,
    "ffhq": _FFHQ_POINTS / 512,
}
"""Where each puts the five points, in a crop of side 1."""


def aligned(
    frame: Frame, points: ArrayLike, template: Template = "arcface", size: int = CROP
) -> tuple[NDArray[np.uint8], Floats]:
    """The face with these five points [5, 2] upright in a BGR crop [size, size, 3], straight from
    the frame's planes, and the matrix [2, 3] from places in the frame to places in the crop.

    It is black outside the frame. Raises ContractError where there are not five points, or all
    are one.
    """
    matrix = matrix_to(points, template, size)
    return warped(frame, matrix, (size, size)), matrix


def matrix_to(points: ArrayLike, template: Template, size: int) -> Floats:
    """The matrix [2, 3] that brings five points [5, 2] to a template's in a crop of ``size``."""
    five = np.asarray(points, np.float64)
    if five.shape != (5, 2):
        raise ContractError(f"a face is aligned by five points, not by {list(five.shape)}")
    return similarity(five, TEMPLATES[template] * size)


def crop(bgr: NDArray[np.uint8], points: ArrayLike, size: int = CROP) -> NDArray[np.uint8]:
    """The face with these five points [5, 2], upright in a picture [size, size, 3]."""
    matrix = similarity(points, ARCFACE_POINTS * (size / CROP))
    aligned: NDArray[np.uint8] = cv2.warpAffine(bgr, matrix, (size, size)).astype(np.uint8)
    return aligned


def cut(
    bgr: NDArray[np.uint8], points: ArrayLike, template: Template, size: int
) -> NDArray[np.uint8]:
    """The face of a photo with these five points [5, 2], upright in a picture [size, size, 3].

    A photo that is more than twice too large is halved first; outside it, its edge goes on.
    """
    matrix = matrix_to(points, template, size).astype(np.float64)
    while np.sqrt(abs(np.linalg.det(matrix[:, :2]))) <= 0.5 and min(bgr.shape[:2]) > 1:
        height, width = (side // 2 for side in bgr.shape[:2])
        even = bgr[: 2 * height, : 2 * width]
        bgr = cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA).astype(np.uint8)
        matrix[:, 2] += matrix[:, :2] @ (0.5, 0.5)  # sample x of the half lies at 2x + 1/2
        matrix[:, :2] *= 2
    edge = cv2.BORDER_REPLICATE
    return cv2.warpAffine(bgr, matrix, (size, size), borderMode=edge).astype(np.uint8)


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
