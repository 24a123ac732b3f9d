"""Lay a made face over its target's crop: colours, mask, edge, and how the two are joined.

    crop, Made -> weight (masks) -> colours of the crop -> steadied along the track
               -> soft: as it is | seamless: its gradients in the crop's surroundings
               -> picture and weight; ``laid_over`` joins them with the crop

All in the crop's pixels. ``mpflow.swapping.laying`` brings the result into the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from mpflow.models.detections import Floats
from mpflow.swapping.colours import matching, shifted
from mpflow.swapping.contract import Made, Picture
from mpflow.swapping.masks import FULL, weight_of
from mpflow.swapping.steady import Steady

EDGE = 0.04
"""Over which share of its longer side a made face fades in, unless another is asked for. More costs
likeness: what is faded is the target's."""

_HALF = 0.5
_LEAST_SIDE = 8  # pixels of a mask that a Poisson equation is worth solving for


@dataclass(frozen=True, slots=True)
class Blending:
    """How a made face is joined with what is around it.

    ``colour``: ``match`` gives it the colours of its target, ``keep`` leaves its own. ``blend``:
    ``soft`` lays it by its weight; ``seamless`` keeps its gradients and takes the colours at its
    edge from the target (Perez and others, "Poisson Image Editing", 2003). ``ratio``: how much of
    it is seen, 0..1. ``edge``: the share of its own longer side over which it fades in.
    """

    colour: Literal["match", "keep"] = "match"
    blend: Literal["soft", "seamless"] = "soft"
    ratio: float = 1.0
    edge: float = EDGE


def compose(
    crop: Picture,
    made: Made,
    blending: Blending,
    memory: Steady | None = None,
    time: float = 0.0,
) -> tuple[Picture, Floats]:
    """The picture BGR [s, s, 3] to be laid over ``crop`` BGR [s, s, 3], and its weight [s, s],
    float32 0..1.

    The mask of ``made`` is where the face may be laid at all: what its swapper left out, what is
    beyond its outline and what hides it is 0 (``mpflow.swapping.masks.least`` joins them).
    ``memory`` is the track's, whose frames come in their order, this one at ``time`` seconds.
    """
    weight = weight_of(made.mask, blending.edge)
    found = matching(crop, made.picture, weight) if blending.colour == "match" else None
    if memory is not None:
        weight, found = memory.steadied(weight, found, time)
    picture = made.picture if found is None else shifted(made.picture, found, _part(weight))
    if blending.blend == "seamless":
        picture = _seamless(crop, picture, weight)
    return picture, weight * np.float32(blending.ratio)


def laid_over(crop: Picture, picture: Picture, weight: Floats) -> Picture:
    """The crop BGR [s, s, 3] with the picture over it, by its weight [s, s], 0..1."""
    share = weight[:, :, None]
    mixed = crop * (1 - share) + picture * share
    return np.rint(mixed).clip(0, FULL).astype(np.uint8)


def _part(weight: Floats) -> tuple[slice, slice]:
    """The rows and columns in which there is weight."""
    x, y, width, height = cv2.boundingRect((weight > 0).astype(np.uint8))
    return slice(y, y + height), slice(x, x + width)


def _seamless(crop: Picture, picture: Picture, weight: Floats) -> Picture:
    """The picture's gradients on the colours that the crop has around them.

    Its edge is where half of each is seen: farther out there may be hair or a wall, whose colours
    would come in and change with every frame.
    """
    mask = np.where(weight > _HALF, np.uint8(FULL), np.uint8(0))
    mask[[0, -1]] = 0
    mask[:, [0, -1]] = 0
    x, y, width, height = cv2.boundingRect(mask)
    if min(width, height) < _LEAST_SIDE:
        return picture
    # OpenCV lays the middle of the mask's bounding box there
    centre = x + width // 2, y + height // 2
    joined = cv2.seamlessClone(picture, crop, mask, centre, cv2.NORMAL_CLONE)
    return np.asarray(joined, np.uint8)
