"""A swapper whose faces are one colour each, the source's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpflow.models.align import Template
from mpflow.swapping.contract import Made, Photo, Source, Target

COLOURS = {"red": (40, 40, 220), "green": (60, 190, 60), "blue": (210, 60, 40)}
"""BGR, by the stem of a source's photo."""


class PaintStudio:
    """Reads sources from the names of files that need not be there."""

    embedder = None

    def source(self, photos: Sequence[Path]) -> tuple[Source, npt.NDArray[np.float32]]:
        """A photo of the colour for each."""
        found = [np.full((8, 8, 3), COLOURS[photo.stem], np.uint8) for photo in photos]
        points, mesh = np.zeros((5, 2), np.float32), np.zeros((468, 3), np.float32)
        source = Source(tuple(Photo(each, points, mesh, (0.0, 0.0, 0.0)) for each in found))
        return source, np.eye(len(found), 128, dtype=np.float32)


class Painter:
    """Paints each crop of ``size`` pixels."""

    template: Template = "arcface"

    def __init__(self, size: int) -> None:
        self.size = size
        self.calls: list[int] = []

    def prepare(self, source: Source) -> Any:
        """The colour of its first photo."""
        return source.photos[0].picture[0, 0]

    def swap(self, targets: Sequence[Target], prepared: Sequence[Any]) -> list[Made | None]:
        """The colour all over."""
        self.calls.append(len(targets))
        for target in targets:
            assert target.crop.shape == (self.size, self.size, 3)
        mask = np.full((self.size, self.size), 255, np.uint8)
        return [Made(np.full((*mask.shape, 3), each, np.uint8), mask) for each in prepared]
