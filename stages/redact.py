"""Cover every face of a frame, in place, on its YUV planes.

    token.faces -> those that are to be covered, each with its form -> Frame.edit (all at once)
                -> per face and plane: cover (blur, mosaic, solid), weighted by the form
                -> a picture on top, where one is to take the faces' place

Cells and sigma are shares of the face, so a face of 30 pixels is hidden as well as one of 600.
A frame marked MASKED is covered whole. One outside of the spans is left as it is, and says so.
Each card says how many of its faces were covered, and how many were left open as asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from mpflow.accounts import COVERED, LEFT, OPEN
from mpflow.coverage import MEASURED_CELLS, weak_cover
from mpflow.errors import ConfigError
from mpflow.policies.identity import KNOWN_BY, People, covered
from mpflow.showing import Clock, check_spans
from mpflow.spans import Spans
from mpflow.spec import JobSpec, MediaInfo
from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Box, Face, FrameState, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.cover import Plane, Weights
    from mpflow.forms import Form
    from mpflow.frame import Frame, Region
    from mpflow.picture import PlaneFormat

Share = Annotated[float, msgspec.Meta(ge=0, le=2)]

_MARGINS = {"face": 0.5, "head": 0.2}

# Fewer pixels than this per cell hide nothing in a face of a few pixels.
_LEAST_CELL = 4.0
# Meshes of fewer points leave the forehead out (mpflow.models.landmarks).
_WHOLE_FACE = 468
# A soft edge draws a face where a cell's hard edge breaks it: detectors lose a blurred face only
# when its sigma is this many times the cell at which they lose a mosaic.
_SIGMA_PER_CELL = 1.75


class RedactOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are covered, whose, and when.

    ``method``: with ``image`` the picture of that path is laid over each face, and what shows
    through it is blurred. ``shape``: ``mesh`` follows the face's outline (it needs ``landmarks``
    before it; a face without a mesh gets an ellipse). ``region``: the face, or the ``head`` with
    hair, ears and chin. ``margin``: share of the side added on each side; null takes 0.5, and 0.2
    of a head. ``feather``: share of the radius over which the cover fades, outside of the margin.
    ``cells``: mosaic cells along the longer side of a face; ``strength``: how many times coarser
    than that. ``colour``: of ``solid``, and of frames covered whole. ``people``: all, all
    ``except`` those of a gallery, or ``only`` those (both need ``embed`` before it; who is not
    surely known is covered), or the ``unswapped``, who did not get another face (it needs ``swap``
    before it). ``spans``: only then, as in 0:05-0:10,1:00- or f120-f240; empty is
    always.
    """

    method: Literal["blur", "mosaic", "solid", "image"] = "blur"
    shape: Literal["ellipse", "box", "mesh"] = "ellipse"
    region: Literal["face", "head"] = "face"
    margin: Share | None = None
    feather: Share = 0.15
    cells: Annotated[float, msgspec.Meta(ge=1, le=64)] = MEASURED_CELLS
    strength: Annotated[float, msgspec.Meta(ge=0.1, le=10)] = 1.0
    colour: Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$", examples=["#00ff00"])] = (
        "#000000"
    )
    image: str = ""
    people: People = "all"
    spans: str = ""

    def __post_init__(self) -> None:
        Spans.parse(self.spans)
        if (self.method == "image") != bool(self.image):
            raise ConfigError(
                "a replacement takes method=image and image=PICTURE, one of which is missing",
                cure="--replacement PICTURE sets both",
            )

    @property
    def reach(self) -> float:
        """The margin that counts."""
        return _MARGINS[self.region] if self.margin is None else self.margin


class Redact(Stage[RedactOptions]):
    """Covers the faces that a token names."""

    Options = RedactOptions
    needs = ("faces",)
    advice = "more workers, or a simpler cover (method=solid), would help"
    protects = True
    protects_all: ClassVar[Mapping[str, Any]] = {"people": "all", "spans": ""}
    changes_pixels = True

    @classmethod
    def needs_with(cls, options: RedactOptions) -> tuple[str, ...]:
        """Meshes for their shape, identities or made faces for some of the people."""
        meshes = ("meshes",) if options.shape == "mesh" else ()
        return (*cls.needs, *meshes, *KNOWN_BY.get(options.people, ()))

    @classmethod
    def check_input(cls, options: RedactOptions, job: JobSpec, media: MediaInfo) -> None:
        """Refuse spans that the input does not have, or not in what is wanted of it."""
        check_spans(Spans.parse(options.spans), job, media)

    def open(self) -> None:
        """Keep OpenCV to the threads this worker may use, and read the picture."""
        import cv2

        from mpflow.replacement import read_picture

        cv2.setNumThreads(self.context.threads)
        options = self.options
        if text := weak_cover(options.method, options.cells / options.strength):
            self.context.warn(text)
        red, green, blue = bytes.fromhex(options.colour[1:])
        self._bgr = blue, green, red
        self._picture = read_picture(options.image) if options.image else None
        self._spans = Spans.parse(options.spans)
        self._clock = Clock()
        self._turn(0)

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned, and where its times begin."""
        self._clock = Clock.of(job)
        self._turn(round(job.media.video.rotation / 90) % 4)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Cover one frame after the other, each given on before the next is touched."""
        for work in batch:
            token = work.token
            if token.state is FrameState.MASKED:
                self._cover_all(work.frame)
            else:
                token = self._redact(work.frame, token)
            yield token

    def _redact(self, frame: Frame, token: Token) -> Token:
        left = bool(self._spans.spans) and not self._spans.hold(*self._clock.on_show(token))
        people = self.options.people
        chosen = [] if left else [face for face in token.faces if covered(face, people)]
        if chosen:
            self._cover_faces(frame, chosen)
        told = {LEFT: left, COVERED: len(chosen), OPEN: len(token.faces) - len(chosen)}
        return replace(token, fields={**token.fields, **{k: v for k, v in told.items() if v}})

    def _turn(self, turns: int) -> None:
        """Pictures are shown turned by so many quarters, counter-clockwise."""
        from mpflow.cover import Outline
        from mpflow.forms import Former
        from mpflow.heads import UPRIGHT
        from mpflow.replacement import Replacement

        options, up = self.options, UPRIGHT
        for _ in range(turns):
            up = -up[1], up[0]
        shape: Literal["box", "ellipse"] = "box" if options.shape == "box" else "ellipse"
        outline = Outline(shape, options.reach, options.feather)
        self._former = Former(outline, options.region, up)
        self._laid = None if self._picture is None else Replacement(self._picture, turns)

    def _cover_all(self, frame: Frame) -> None:
        for region in frame.edit([frame.layout.whole]):
            for plane, values in zip(region.planes, self._values(frame), strict=True):
                plane[:] = values

    def _cover_faces(self, frame: Frame, chosen: Sequence[Face]) -> None:
        forms = [self._form(frame, face) for face in chosen]
        regions = frame.edit([self._extent(form) for form in forms])
        values = self._values(frame)
        for face, form, region in zip(chosen, forms, regions, strict=True):
            if region.planes:
                self._cover_face(face.box, form, region, frame.layout.format.planes, values)
        if self._laid is not None:
            for form, region in zip(forms, regions, strict=True):
                if region.planes:
                    place = self._laid.place(form.core)
                    frame.put_bgr(region.box, *self._laid.patch(place, region.box))

    def _form(self, frame: Frame, face: Face) -> Form:
        if self.options.shape == "mesh":
            import numpy as np

            from mpflow.models.landmarks import mesh_outline

            mesh = frame.attached(face, "mesh")
            if mesh is not None and np.isfinite(mesh).all():
                whole = len(mesh) >= _WHOLE_FACE
                return self._former.around_hull(face, mesh_outline(mesh), whole=whole)
        return self._former.around(face)

    def _extent(self, form: Form) -> Box:
        """What is touched of a frame: the form, and all of the picture on top of it."""
        if self._laid is None:
            return form.extent
        one, other = form.extent, self._laid.place(form.core)
        left, top = map(min, one[:2], other[:2])
        right, bottom = map(max, one[2:], other[2:])
        return left, top, right, bottom

    def _cover_face(
        self,
        face: Box,
        form: Form,
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
                weights[plane_format] = form.weights(region.box, plane_format)
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
            case "blur" | "image":
                sigma = cell * _SIGMA_PER_CELL
                return cover.blur(plane, (sigma / across, sigma / down))
            case "solid":
                return cover.solid(plane, value)

    def _values(self, frame: Frame) -> tuple[tuple[int, ...], ...]:
        """The solid colour as samples of each plane."""
        from mpflow.frame import plane_values

        return plane_values(frame.layout.format, frame.colour, self._bgr)
