"""What every make of described face detector has: keys, output shapes, and a way to read outputs.

A make is one class: its fields are the keys of a description, their defaults its conventions.

    outputs of the file, by name or shape -> {role: arrays} -> Make.faces -> Detections
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np

from mpflow.models.description import Description, Names, Picture, Share
from mpflow.models.detections import Detections, Floats, Found, Integers, best_of_each

Shape: TypeAlias = tuple[int, ...]
Layout: TypeAlias = Mapping[str, Sequence[Shape]]
"""By role, the shapes of its outputs for one picture, in the order of the strides."""
Outputs: TypeAlias = Mapping[str, Sequence[Floats]]
"""By role, its outputs [n, *shape]."""


class Make(Description, frozen=True, kw_only=True, tag_field="decoder"):
    """A description of a detector; pixels and places are those of the picture it is given.

    ``outputs`` names the file's outputs by role, one name or one for each stride; a role left out
    is found by the shape of its outputs. ``score`` is the least score of a face, ``iou`` the
    overlap above which two finds are one.
    """

    convention: ClassVar[Mapping[str, Any]] = {}
    """What its ``input`` is unless a description says otherwise."""
    usual_names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names of outputs by role, where files of this make have the same ones."""

    input: Picture
    outputs: dict[str, Names] = msgspec.field(default_factory=dict)
    strides: tuple[int, ...] = (8, 16, 32)
    score: Share = 0.5
    iou: Share = 0.4

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """The ways in which files of this make give their outputs for a picture of this size."""
        raise NotImplementedError

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """Everything of at least this score, a part for each stride or one for all."""
        raise NotImplementedError

    def faces(
        self, outputs: Outputs, size: tuple[int, int], score: float, iou: float
    ) -> list[Detections]:
        """The faces of each picture of ``size`` (width, height), double finds suppressed."""
        count = len(next(iter(outputs.values()))[0])
        return best_of_each(self.candidates(outputs, *size, score), count, iou)

    def grids(self, width: int, height: int) -> list[tuple[int, int, int]]:
        """Stride, rows and columns of each grid of cells."""
        return [(each, math.ceil(height / each), math.ceil(width / each)) for each in self.strides]


def cell_corners(cell: Integers, columns: int) -> Floats:
    """Column and row [k, 2] of cells that are counted row by row."""
    row, column = np.divmod(cell, columns)
    return np.stack([column, row], axis=1).astype(np.float32)


def around(centre: Floats, sides: Floats) -> Floats:
    """Boxes [k, 4] of these sides [k, 2] around centres [k, 2]."""
    half = sides / 2
    boxes: Floats = np.concatenate([centre - half, centre + half], axis=1)
    return boxes


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    spread: Floats = np.tanh(values * np.float32(0.5)) * np.float32(0.5) + np.float32(0.5)
    return spread
