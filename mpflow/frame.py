"""A frame: views of its planes in the ring, and the few ways to look at them or change them.

    decoder -> fill_planes                       (source)
               planes, bgr, detector_blob        (any stage: read only)
               edit -> journal -> Region.planes  (a stage that changes pixels)
               export -> encoder                 (sink)

    attach -> arrays beside the picture -> attached    (from stage to stage)

Nothing here ever holds the whole frame as BGR. Boxes are in pixels of the frame, their sides
pixel edges; they are grown to whole chroma samples and cut at the picture's edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mpflow import convert, side
from mpflow.colour import Colour
from mpflow.cover import blend
from mpflow.errors import ContractError
from mpflow.picture import (
    PIXEL_FORMATS,
    IntBox,
    PictureLayout,
    PixelFormat,
    PlaneLayout,
    area,
)
from mpflow.shm import Span
from mpflow.tokens import Box, Face

__all__ = [
    "Frame",
    "FrameEnded",
    "Region",
    "PictureLayout",
    "PlaneLayout",
    "PixelFormat",
    "PIXEL_FORMATS",
    "IntBox",
    "Plane",
]

Plane = npt.NDArray[Any]
Journal = Callable[[Sequence[Span]], None]


class FrameEnded(ContractError):
    """The frame was used after its lease was given back."""


class PixelLease(Protocol):
    """What a frame needs of a slot's lease: array views of its bytes."""

    def view(
        self,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: npt.DTypeLike,
        /,
        *,
        writable: bool,
    ) -> Plane:
        """A view that starts ``offset`` bytes into the slot."""


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle that may be changed: its aligned box and writable views of every plane.

    ``planes`` is empty when the box lies outside the picture.
    """

    box: IntBox
    planes: tuple[Plane, ...]


def plane_values(
    pixel_format: PixelFormat, colour: Colour, bgr: tuple[int, int, int]
) -> tuple[tuple[int, ...], ...]:
    """One BGR colour as stored samples, one tuple for each plane."""
    y, u, v = (value << pixel_format.low_bits for value in colour.yuv(bgr))
    chroma = ((u, v),) if pixel_format.interleaved else ((u,), (v,))
    return ((y,), *(() if pixel_format.gray else chroma))


class Frame:
    """The pixels of one frame while its lease lasts; ``end`` stops every access."""

    __slots__ = (
        "_journal",
        "_journaled",
        "_lease",
        "_reading",
        "_side",
        "_writing",
        "colour",
        "layout",
    )

    def __init__(
        self,
        layout: PictureLayout,
        lease: PixelLease,
        colour: Colour,
        journal: Journal | None = None,
        side: tuple[int, int] = (0, 0),
    ) -> None:
        self.layout = layout
        self.colour = colour
        self._lease: PixelLease | None = lease
        self._journal = journal
        self._side = side
        self._journaled: list[IntBox] = []
        self._reading: tuple[Plane, ...] | None = None
        self._writing: tuple[Plane, ...] | None = None

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self.layout.width

    @property
    def height(self) -> int:
        """Rows of pixels."""
        return self.layout.height

    @property
    def planes(self) -> tuple[Plane, ...]:
        """Read-only views (Y, U, V), (Y, UV) or (Y,): uint8, or uint16 for 10 bits."""
        if self._reading is None:
            self._reading = self._views(writable=False)
        return self._reading

    def fill_planes(self) -> tuple[Plane, ...]:
        """Writable views for a source to fill. No other stage may: nothing is journaled here."""
        return self._writable()

    def export(self) -> tuple[Plane, ...]:
        """Fresh writable views for a sink to hand on (dlpack); the frame keeps none of them."""
        return self._views(writable=True)

    def bgr(self, box: Box) -> tuple[npt.NDArray[np.uint8], IntBox]:
        """A copy of a region as uint8 BGR, shape (height, width, 3), and its aligned box."""
        aligned = self.layout.align(box)
        crops = [
            view[plane.slices(aligned)]
            for view, plane in zip(self.planes, self.layout.planes, strict=True)
        ]
        width, height = aligned[2] - aligned[0], aligned[3] - aligned[1]
        return convert.to_bgr(crops, (width, height), self.layout.format, self.colour), aligned

    def edit(self, boxes: Sequence[Box]) -> tuple[Region, ...]:
        """Save the old pixels of every box, then open them for change; one region for each box.

        Call it once with all boxes where that can be: a later call saves what lies outside the
        boxes of the earlier ones. A region and its planes must not outlive the frame. Raises
        ContractError for a stage that did not declare ``changes_pixels``.
        """
        aligned = [self.layout.align(box) for box in boxes]
        self._save(aligned)
        return tuple(self._region(box) for box in aligned)

    def cover(self) -> None:
        """Paint the whole frame black: of one that could not be worked on nothing may be seen.

        Nothing is journalled, since what was there is wanted by nobody.
        """
        values = plane_values(self.layout.format, self.colour, (0, 0, 0))
        for plane, value in zip(self._writable(), values, strict=True):
            plane[:] = value

    def put_bgr(
        self, box: IntBox, patch: npt.NDArray[np.uint8], mask: npt.NDArray[np.float32] | None = None
    ) -> None:
        """Lay a BGR patch over an aligned box (as ``bgr`` gave it), weighted by ``mask`` (0..1).

        A pixel whose weight is 0 keeps its luma bit for bit; a chroma sample keeps its value when
        all pixels it serves have weight 0.
        """
        width, height = box[2] - box[0], box[3] - box[1]
        if self.layout.align(box) != box or patch.shape != (height, width, 3):
            raise ContractError(
                f"a patch of shape {patch.shape} does not fit the box {box}",
                cure="use the aligned box that bgr returned",
            )
        weight = np.ones((height, width), np.float32) if mask is None else mask
        planes = convert.from_bgr(patch, self.layout.format, self.colour)
        weights = convert.plane_weights(weight, self.layout.format)
        for target, cover, plane_weight in zip(
            self.edit([box])[0].planes, planes, weights, strict=True
        ):
            blend(target, cover, plane_weight)

    def detector_blob(
        self, width: int, height: int, out: npt.NDArray[np.float32] | None = None
    ) -> tuple[npt.NDArray[np.float32], float]:
        """The frame scaled into (3, height, width) float32 BGR 0..255, and the scale used.

        It fills the top left, the rest is 0. ``out`` is written when given (any C-contiguous
        float32 array of that shape), so that a batch can be one tensor.
        """
        blob = np.empty((3, height, width), np.float32) if out is None else out
        scale = convert.to_blob(self.planes, self.layout.format, self.colour, blob)
        return blob, scale

    def attach(
        self, faces: Sequence[Face], arrays: Mapping[str, Sequence[npt.NDArray[Any] | None]]
    ) -> tuple[Face, ...]:
        """Keep arrays beside the picture: for each name one array a face, or None.

        Returns the faces with the arrays' places in their ``refs``. A stage says in
        ``side_bytes`` how much it may keep; where there is no room for all arrays of a face, it
        keeps the refs it had. Call it once, with all faces of the token.
        """
        area = self._beside(writable=True)
        free = side.behind(area, (at for face in faces for at in face.refs.values()))
        attached = []
        for number, face in enumerate(faces):
            refs, end = dict(face.refs), free
            for name, rows in arrays.items():
                array = rows[number]
                if array is None:
                    continue
                at, room = end, side.write(area, end, array)
                if room is None:
                    refs, end = dict(face.refs), free  # of what belongs together, all or nothing
                    break
                refs[name], end = at, room
            free = end
            attached.append(replace(face, refs=refs))
        return tuple(attached)

    def attached(self, face: Face, name: str) -> npt.NDArray[Any] | None:
        """A copy of the array that an earlier stage has kept for a face, if it has."""
        if name not in face.refs:
            return None
        return side.read(self._beside(writable=False), face.refs[name])

    def end(self) -> None:
        """Let go of every view; from here on each access raises FrameEnded."""
        self._lease = None
        self._reading = self._writing = None

    def _save(self, boxes: Sequence[IntBox]) -> None:
        """Journal the boxes that are not saved yet."""
        self._held()
        if self._journal is None:
            raise ContractError(
                "this stage may not change pixels", cure="declare changes_pixels = True"
            )
        fresh = [box for box in boxes if area(box) and not self._is_saved(box)]
        if not fresh:
            return
        whole = [self.layout.whole]
        if self._cost(self._journaled + fresh) > self._cost(whole):
            # many overlapping boxes: the whole picture once is less, and journals are sized by it
            fresh = whole
        self._journal(self.layout.spans(fresh))
        self._journaled += fresh

    def _cost(self, boxes: Sequence[IntBox]) -> int:
        return sum(span.journal_bytes for span in self.layout.spans(boxes))

    def _is_saved(self, box: IntBox) -> bool:
        return any(
            old[0] <= box[0] and old[1] <= box[1] and old[2] >= box[2] and old[3] >= box[3]
            for old in self._journaled
        )

    def _region(self, box: IntBox) -> Region:
        if not area(box):
            return Region(box, ())
        pairs = zip(self._writable(), self.layout.planes, strict=True)
        return Region(box, tuple(view[plane.slices(box)] for view, plane in pairs))

    def _writable(self) -> tuple[Plane, ...]:
        if self._writing is None:
            self._writing = self._views(writable=True)
        return self._writing

    def _views(self, *, writable: bool) -> tuple[Plane, ...]:
        lease, dtype = self._held(), self.layout.format.dtype
        return tuple(
            lease.view(p.offset, p.shape, p.strides, dtype, writable=writable)
            for p in self.layout.planes
        )

    def _beside(self, *, writable: bool) -> npt.NDArray[np.uint8]:
        offset, size = self._side
        return self._held().view(offset, (size,), (1,), np.uint8, writable=writable)

    def _held(self) -> PixelLease:
        if self._lease is None:
            raise FrameEnded(
                "the frame was used after it was given on",
                cure="keep a copy of the pixels, or hold the frame back",
            )
        return self._lease
