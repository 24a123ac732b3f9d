"""Where another scene begins: pictures compared by the brightness of a few hundred pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpflow.frame import Frame

Sample = NDArray[np.int16]

NO_SAMPLE: Sample = np.zeros((0, 0), np.int16)
"""For a picture that nobody compares with another."""

_COLUMNS, _ROWS = 32, 18
_DIFFERENT = 24
_CHANGED = 0.3


class Scenes:
    """Goes from frame to frame, and says which of them is the first of a scene."""

    def __init__(self) -> None:
        self._last = NO_SAMPLE

    def forget(self) -> None:
        """Another input begins; its first frame is the first of a scene."""
        self._last = NO_SAMPLE

    def begins(self, frame: Frame) -> bool:
        """Whether a scene begins with this frame, which comes after the one of the last call."""
        before, self._last = self._last, sample_of(frame)
        return changed(before, self._last)


def sample_of(frame: Frame) -> Sample:
    """The brightness of a few hundred pixels in 8 bits, [rows, columns]: how the picture looks."""
    luma = frame.planes[0]
    height, width = luma.shape[:2]
    rows = (np.arange(_ROWS) * 2 + 1) * height // (2 * _ROWS)
    columns = (np.arange(_COLUMNS) * 2 + 1) * width // (2 * _COLUMNS)
    kind = frame.layout.format
    few = luma[np.ix_(rows, columns)] >> (kind.low_bits + kind.depth - 8)
    return few.astype(np.int16)


def changed(before: Sample, now: Sample) -> bool:
    """Whether so much of a picture is different that another scene may have begun."""
    return stir(before, now) > _CHANGED


def stir(before: Sample, now: Sample) -> float:
    """The share of a picture that looks different, 0..1."""
    if before.shape != now.shape or not now.size:
        return 1.0
    return float((abs(now - before) > _DIFFERENT).mean())
