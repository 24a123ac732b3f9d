"""Face mesh: 468 points over a face, with depth, and a score that it is one.

The network is MediaPipe's face landmark model (Kartynnik, Ablavatski, Grishchenko, Grundmann:
"Real-time Facial Surface Geometry from Monocular Video on Mobile GPUs", 2019). It takes a square
crop of 192 pixels, upright, RGB 0..1, one and a half times as large as the face.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.detections import Floats
from mpflow.models.landmarks import square_region

COUNT = 468
SIDE = 192
PASSES = 2
_POINTS, _SCORE = "conv2d_20", "conv2d_30"

# How much larger than the face the network expects its crop to be (MediaPipe, FaceLandmarkFront:
# RectTransformationCalculator, scale 1.5 of the longer side).
_MARGIN = 1.5
# The side of a face from its five points: 2.1 times the larger of the distances between the eyes
# and from eyes to mouth. In profile the first shrinks and the second does not.
_SPREAD = 2.1

# Points of the mesh around each eye, at the tip of the nose and the corners of the mouth; left and
# right as the picture shows them.
_LEFT_EYE, _RIGHT_EYE = [33, 133, 159, 145], [362, 263, 386, 374]
_NOSE, _LEFT_MOUTH, _RIGHT_MOUTH = 1, 61, 291


class FaceMesh:
    """Fit the mesh with a session of ``facemesh`` (mpflow.models.sessions.open_session).

    Raises ModelError for a session that has not the mesh's inputs and outputs.
    """

    count = COUNT
    side = SIDE
    passes = PASSES

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input: str = session.get_inputs()[0].name
        names = {output.name for output in session.get_outputs()}
        if not {_POINTS, _SCORE} <= names:
            raise ModelError(
                f"the file is no face mesh: it gives {', '.join(sorted(names))}",
                cure=f"it has to give {_POINTS} (points) and {_SCORE} (score)",
            )

    def matrix(self, five: Floats | None, box: Floats) -> Floats:
        """The crop of a face by its five points, or else by its box."""
        if five is None:
            x1, y1, x2, y2 = box.tolist()
            side = _MARGIN * max(x2 - x1, y2 - y1)
            return square_region(((x1 + x2) / 2, (y1 + y2) / 2), side, 0.0, SIDE)
        across = five[1] - five[0]
        eyes, mouth = five[:2].mean(axis=0), five[3:].mean(axis=0)
        spread = max(float(np.linalg.norm(across)), float(np.linalg.norm(mouth - eyes)))
        centre = (eyes + mouth) / 2
        turn = _turn(across)
        return square_region((centre[0], centre[1]), _MARGIN * _SPREAD * spread, turn, SIDE)

    def matrix_again(self, points: Floats) -> Floats:
        """The crop of a face by its mesh, for the next pass."""
        return self.matrix(self.five(points), points[0])

    def points(self, crops: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Meshes [n, 468, 3] and scores [n] of BGR crops [n, 192, 192, 3]."""
        rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
        raw, logits = self._session.run([_POINTS, _SCORE], {self._input: rgb})
        scores: Floats = 1 / (1 + np.exp(-logits[:, 0]))
        return raw.reshape(-1, COUNT, 3), scores

    def five(self, points: Floats) -> Floats:
        """The middles of the eyes, the tip of the nose and the corners of the mouth [5, 2]."""
        left, right = points[_LEFT_EYE].mean(axis=0), points[_RIGHT_EYE].mean(axis=0)
        single = points[[_NOSE, _LEFT_MOUTH, _RIGHT_MOUTH]]
        return np.vstack([left, right, single])[:, :2]


def _turn(across: Floats) -> float:
    """By how many degrees the line from eye to eye is turned clockwise."""
    return float(np.degrees(np.arctan2(across[1], across[0])))
