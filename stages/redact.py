"""Cover every face of a frame, in place, on its YUV planes.

    token.faces -> boxes with margin and feather -> Frame.edit (journals them all)
                -> per face and plane: cover (blur, mosaic, solid) weighted by an ellipse or box

Cells and sigma are shares of the face, so a face of 30 pixels is hidden as well as one of 600.
A frame marked MASKED is covered whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from mpflow.stage import Options, Stage, Work
from mpflow.tokens import Box, Face, FrameState, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.cover import Plane, Weights
    from mpflow.frame import Frame, Region
    from mpflow.picture import PlaneFormat

Share = Annotated[float, msgspec.Meta(ge=0, le=2)]

# Fewer pixels than this per cell hide nothing in a face of a few pixels.
_LEAST_CELL = 4.0
# A soft edge draws a face where a cell's hard edge breaks it: detectors lose a blurred face only
# when its sigma is this many times the cell at which they lose a mosaic.
_SIGMA_PER_CELL = 1.75


class RedactOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are covered.

    ``margin``: share of the face's side added on each side; ``feather``: share of the radius
    over which the cover fades, outside of the margin; ``cells``: mosaic cells along the longer
    side of a face; ``strength``: how many times coarser than that; ``colour``: of ``solid``.
    """

    method: Literal["blur", "mosaic", "solid"] = "blur"
    shape: Literal["ellipse", "box"] = "ellipse"
    margin: Share = 0.5
    feather: Share = 0.15
    cells: Annotated[float, msgspec.Meta(ge=1, le=64)] = 3.0
    strength: Annotated[float, msgspec.Meta(ge=0.1, le=10)] = 1.0
    colour: Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$", examples=["#00ff00"])] = (
        "#000000"
    )


class Redact(Stage[RedactOptions]):
    """Covers the faces that a token names."""

    Options = RedactOptions
    needs = ("faces",)
    advice = "more workers, or a simpler cover (method=solid), would help"
    protects = True
    changes_pixels = True

    def open(self) -> None:
        """Keep OpenCV to the threads this worker may use."""
        import cv2

        from mpflow.cover import Outline

        cv2.setNumThreads(self.context.threads)
        options = self.options
        self._outline = Outline(options.shape, options.margin, options.feather)
        red, green, blue = bytes.fromhex(options.colour[1:])
        self._bgr = blue, green, red

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Cover one frame after the other, each given on before the next is touched."""
        for work in batch:
            if work.token.state is FrameState.MASKED:
                self._cover_all(work.frame)
            elif work.token.faces:
                self._cover_faces(work.frame, work.token.faces)
            yield work.token

    def _cover_all(self, frame: Frame) -> None:
        for region in frame.edit([frame.layout.whole]):
            for plane, values in zip(region.planes, self._values(frame), strict=True):
                plane[:] = values

    def _cover_faces(self, frame: Frame, faces: Sequence[Face]) -> None:
        regions = frame.edit([self._outline.extent(face.box) for face in faces])
        values = self._values(frame)
        for face, region in zip(faces, regions, strict=True):
            if region.planes:
                self._cover_face(face.box, region, frame.layout.format.planes, values)

    def _cover_face(
        self,
        face: Box,
        region: Region,
        formats: Sequence[PlaneFormat],
        values: Sequence[tuple[int, ...]],
    ) -> None:
        from mpflow import cover

        side = max(face[2] - face[0], face[3] - face[1])
        cell = max(side / self.options.cells * self.options.strength, _LEAST_CELL)
        weights: dict[PlaneFormat, Weights] = {}
        for plane, plane_format, value in zip(region.planes, formats, values, strict=True):
            if plane_format not in weights:
                weights[plane_format] = self._outline.weights(face, region.box, plane_format)
            hidden = self._cover(plane, plane_format, cell, value)
            cover.blend(plane, hidden, weights[plane_format])

    def _cover(
        self, plane: Plane, plane_format: PlaneFormat, cell: float, value: tuple[int, ...]
    ) -> Plane:
        from mpflow import cover

        across, down = 1 << plane_format.xshift, 1 << plane_format.yshift
        match self.options.method:
            case "mosaic":
                pixels = 2 * round(cell / 2)  # even, so that chroma has the same cells
                return cover.mosaic(plane, (pixels // across, pixels // down))
            case "blur":
                sigma = cell * _SIGMA_PER_CELL
                return cover.blur(plane, (sigma / across, sigma / down))
            case "solid":
                return cover.solid(plane, value)

    def _values(self, frame: Frame) -> tuple[tuple[int, ...], ...]:
        """The solid colour as samples of each plane."""
        from mpflow.frame import plane_values

        return plane_values(frame.layout.format, frame.colour, self._bgr)
