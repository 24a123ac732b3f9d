"""Whether a face looks as it did a moment ago, by the brightness of a few parts of it.

A film that cuts from one person to another before the same wall has no cut that the whole picture
shows, and the face does not jump. What is in the face's place changes all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mpflow.identity.following import FOUND
from mpflow.policies.recognition import GAP_S
from mpflow.tokens import Box, Face

if TYPE_CHECKING:
    from mpflow.frame import Frame

Likeness = NDArray[np.float64]

_PARTS, _POINTS = 12, 3  # parts along each side, and points along each side of a part
_AROUND = 0.2  # of the face's sides, taken in on each side

ALIKE = 0.6
"""Of so much correlation at least it may be the same face. Along franck it is at least 0.91 from
frame to frame and 0.81 over five; where one portrait follows another it is 0.1 at most. A face that
turns fast has less now and then, which costs it a look."""


class Likenesses:
    """How each track's face looked when it was seen last.

    A fresh worker does not know that. It is told of whom the next sight is a strange one.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, Likeness]] = {}
        self._foretold: set[int] = set()

    def foretell(self, tracks: Iterable[int]) -> None:
        """The tracks with a face that will look as if it were another's when it is seen next."""
        self._foretold = set(tracks)

    def strange(self, faces: Iterable[Face], frame: Frame, time: float) -> list[int]:
        """The tracks with a face in a frame that looks as if it were another's since then."""
        before, strange = self._last, []
        self._last = {t: (at, look) for t, (at, look) in before.items() if time - at <= GAP_S}
        for face in faces:
            if face.track is None or face.sighting not in FOUND:
                continue
            now = likeness(frame, face.box)
            known = before.get(face.track)
            if face.track in self._foretold or (known and not alike(known[1], now)):
                strange.append(face.track)
            self._foretold.discard(face.track)
            self._last[face.track] = time, now
        return strange


def likeness(frame: Frame, box: Box) -> Likeness:
    """How the face in a box looks from afar: [12, 12], whatever the light, its mean 0."""
    luma = frame.planes[0]
    height, width = luma.shape[:2]
    across, down = _places(box[0], box[2], width), _places(box[1], box[3], height)
    few = luma[np.ix_(down, across)].astype(np.float64)
    parts = few.reshape(_PARTS, _POINTS, _PARTS, _POINTS).mean(axis=(1, 3))
    flat: Likeness = parts - parts.mean()
    return flat


def alike(before: Likeness, now: Likeness) -> bool:
    """Whether both may be of the same face; what is all of one brightness tells nothing."""
    size = float(np.sqrt((before**2).sum() * (now**2).sum()))
    return size == 0 or float((before * now).sum()) >= ALIKE * size


def _places(start: float, stop: float, size: int) -> NDArray[np.intp]:
    """Points in equal steps along a side of a face and a little around it, within the picture."""
    more, count = (stop - start) * _AROUND, _PARTS * _POINTS
    steps = (np.arange(count) + 0.5) / count
    places = start - more + steps * (stop - start + 2 * more)
    return np.clip(places, 0, size - 1).astype(np.intp)
