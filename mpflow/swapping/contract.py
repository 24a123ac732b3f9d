"""What swapping is about: a source, a target, and what a swapper makes of the two.

    photos -> Source --------+
                             +-> Swapper.swap -> Made -> beside the picture -> blended in
    frame, face -> Target ---+

A target is a crop of the frame: upright, in the template and size of the swapper. Everything from
there on is reckoned in the crop's pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpflow.models.align import Template
from mpflow.models.detections import Floats

Picture = NDArray[np.uint8]

SWAP, MATRIX, MASK = "swap", "swap.matrix", "swap.mask"
"""Arrays beside the picture (``Face.refs``): what was made, uint8 [s, s, 3] BGR; the matrix from
the frame to it, float32 [2, 3]; and how much of each pixel is good, uint8 [s, s]."""

LAID = "laid"
"""The place of a made face again, on a face that it hides now."""

UNSWAPPED = "unswapped"
"""Beside a face that has a ``swap`` that does not hide it: its own, enhanced, or one
through which its own is seen (towards the profile)."""


@dataclass(frozen=True, slots=True, eq=False)
class Photo:
    """A photo of a source: BGR, upright, with the five points [5, 2] and the mesh [468, 3] of the
    one face in it, both in its pixels, and the pose of the head in degrees (yaw, pitch, roll)."""

    picture: Picture
    points: Floats
    mesh: Floats
    pose: tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One person whose face is to be seen: at least one photo, the best first."""

    photos: tuple[Photo, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A face to be replaced: its crop BGR [s, s, 3], the matrix [2, 3] that brought it there, and
    in the crop's pixels its mesh [468, 3], where one was laid, and its five points [5, 2]."""

    crop: Picture
    matrix: Floats
    points: Floats
    mesh: Floats | None
    pose: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A made face in the target's crop: BGR [s, s, 3], and how much of each pixel is good, 0..255
    [s, s]: 0 where the swapper has nothing to say."""

    picture: Picture
    mask: Picture


class Swapper(Protocol):
    """Makes faces; a network's or none's."""

    template: Template
    """Where the five points of a target lie in its crop."""

    @property
    def size(self) -> int:
        """Pixels of a side of the crop."""

    def prepare(self, source: Source) -> Any:
        """What ``swap`` takes of a source, made once: an embedding, say.

        Raises ConfigError where the source is of no use to this swapper.
        """

    def swap(self, targets: Sequence[Target], prepared: Sequence[Any]) -> list[Made | None]:
        """A face for each target from the prepared source at the same place.

        All go through the network together. None where there is nothing to go by (no mesh).
        """
