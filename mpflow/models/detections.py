"""What a face detector finds in one picture, and the suppression of double finds.

Boxes are (x1, y1, x2, y2) and points (x, y), in pixels of the picture that the detector was
given; whoever scaled the picture scales them back (``Detections.scaled``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ContractError

Floats = NDArray[np.float32]
Integers = NDArray[np.intp]
Found = tuple[Integers, Floats, Floats, Floats]
"""Candidates: numbers of their pictures [k], boxes [k, 4], scores [k], points [k, 5, 2]."""

MOST_CANDIDATES = 5000
"""A picture full of faces has far fewer. A network that is fed wrong pictures may say "face"
everywhere, and the suppression would take many seconds a frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """The faces of one picture, best first: boxes [k, 4], scores [k], points [k, 5, 2]; float32.

    The points are image-left eye, image-right eye, nose, image-left and image-right corner of
    the mouth.
    """

    boxes: Floats
    scores: Floats
    points: Floats

    def __len__(self) -> int:
        return len(self.scores)

    def scaled(self, factor: float) -> Detections:
        """The same faces with all coordinates multiplied by ``factor``."""
        scale = np.float32(factor)
        return Detections(self.boxes * scale, self.scores, self.points * scale)


class Detector(Protocol):
    """What the detect stage needs of a detector."""

    score: float
    """The least score of what it finds; may be changed between two calls."""

    @property
    def multiple(self) -> int:
        """Both sides of a blob must be a multiple of this many pixels."""

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height, if it takes blobs of no other size."""

    def detect(self, blobs: Floats, inner: Sequence[tuple[int, int]] = ()) -> list[Detections]:
        """Find faces in blobs [n, 3, h, w], float32 BGR 0..255; one result per picture.

        ``inner`` is width and height of each picture at the top left of its blob, where it does
        not fill it.
        """


def none_found() -> Detections:
    """The result for a picture without a face."""
    return Detections(
        np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros((0, 5, 2), np.float32)
    )


def best_of(boxes: Floats, scores: Floats, points: Floats, iou: float) -> Detections:
    """Keep the best of each cluster of overlapping candidates, best first.

    Of more than ``MOST_CANDIDATES`` only the best are looked at.
    """
    if not len(scores):
        return none_found()
    if len(scores) > MOST_CANDIDATES:
        best = np.argsort(-scores, kind="stable")[:MOST_CANDIDATES]
        boxes, scores, points = boxes[best], scores[best], points[best]
    kept = non_maximum_suppression(boxes, scores, iou)
    return Detections(boxes[kept], scores[kept], points[kept])


def best_of_each(parts: Sequence[Found], count: int, iou: float) -> list[Detections]:
    """The same for each of ``count`` pictures whose candidates lie mixed in ``parts``."""
    picture, boxes, scores, points = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not len(picture):
        return [none_found() for _ in range(count)]
    if count == 1:
        return [best_of(boxes, scores, points, iou)]
    chosen = (picture == number for number in range(count))
    return [best_of(boxes[mine], scores[mine], points[mine], iou) for mine in chosen]


def non_maximum_suppression(boxes: Floats, scores: Floats, iou: float) -> Integers:
    """Greedy suppression: indices of the boxes kept, best first.

    A box goes if its intersection over union with a better box that was kept exceeds ``iou``.
    Candidates of equal score keep their order, so the result does not depend on the sort.
    The loop runs once per box kept, not once per candidate.
    """
    order = np.argsort(-scores, kind="stable")
    x1, y1, x2, y2 = np.ascontiguousarray(boxes[order].T)
    area = (x2 - x1) * (y2 - y1)
    alive = np.ones(len(order), bool)
    kept: list[int] = []
    best = 0
    while True:
        kept.append(best)
        width = np.minimum(x2, x2[best]) - np.maximum(x1, x1[best])
        height = np.minimum(y2, y2[best]) - np.maximum(y1, y1[best])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        alive &= shared <= iou * (area + area[best] - shared)
        alive[best] = False  # also a box without area, which shares nothing with itself
        best = int(alive.argmax())
        if not alive[best]:
            return order[kept]


def check_numbers(outputs: Iterable[Floats]) -> None:
    """Raise FloatingPointError for values that are none: a face with such a score is missed.

    Their sum tells it, in a tenth of the time that it takes to ask each of them.
    """
    for values in outputs:
        with np.errstate(all="ignore"):
            is_whole = np.isfinite(values.sum(dtype=np.float32))
        if not is_whole:
            raise FloatingPointError("the network gave values that are no numbers")


def check_blobs(blobs: Floats, multiple: int) -> None:
    """Raise ContractError unless ``blobs`` is float32 [n, 3, h, w], sides a multiple."""
    shape = blobs.shape
    if blobs.dtype != np.float32 or len(shape) != 4 or shape[1] != 3:
        raise ContractError(
            f"a detector takes float32 [n, 3, h, w], not {blobs.dtype} {list(shape)}"
        )
    if shape[2] % multiple or shape[3] % multiple or not shape[2] * shape[3]:
        raise ContractError(
            f"a detector picture of {shape[3]}x{shape[2]} does not fit",
            cure=f"make both sides a multiple of {multiple}",
        )
