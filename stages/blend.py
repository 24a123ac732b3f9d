"""Lay made faces into the picture, the only place where they enter it.

    token.faces with a "swap" -> the same crop of the frame -> where it may be laid (masks)
        -> colours, edge, join (compose), steadied along the track -> back into the planes

All faces of a frame are composed before the first is laid, so that two that overlap do not see
each other; the largest comes on top. Where nothing is laid, every sample stays bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from mpflow.stage import Job, Options, Stage, StageContext, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.models.detections import Floats
    from mpflow.swapping.contract import Made, Picture
    from mpflow.swapping.laying import Composed

MESH = "mesh"
_FRAME_S = 1 / 25
_LEAST_POINTS = 468  # a mesh of fewer leaves the forehead out

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class BlendOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How made faces are joined with the picture.

    ``colour``: match gives them the colours of what they cover; keep leaves their own. ``blend``:
    soft lays them by their weight; seamless keeps their gradients only and takes the colours at
    their edge from the picture, which takes longer. ``ratio``: how much of them is seen. ``edge``:
    the share of their crop's side over which they fade in. ``shape``: ``mesh`` keeps to the face's
    outline (it needs ``landmarks`` before it), ``crop`` to what was made. ``smooth``: colours
    and edges that tremble are steadied along a track, with this time constant in seconds; 0, or
    several workers, leave them. ``threads``: 0 takes what the worker may use.
    """

    colour: Literal["match", "keep"] = "match"
    blend: Literal["soft", "seamless"] = "soft"
    ratio: Share = 1.0
    edge: Annotated[float, msgspec.Meta(ge=0, le=0.5)] = 0.08
    shape: Literal["mesh", "crop"] = "mesh"
    smooth: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.4
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Blend(Stage[BlendOptions]):
    """Lays the face made for each face over it."""

    Options = BlendOptions
    needs = ("swaps",)
    gives = ("blended",)
    changes_pixels = True
    tunable = ("colour", "blend", "ratio", "edge")
    advice = "blend=soft, or more workers with smooth=0, would help"

    def __init__(self, options: BlendOptions, context: StageContext) -> None:
        super().__init__(options, context)
        # a track is followed by one worker only if it sees all frames
        self._smooth = options.smooth if context.workers == 1 else 0.0
        self.ordered = self._smooth > 0

    @classmethod
    def needs_with(cls, options: BlendOptions) -> tuple[str, ...]:
        """Meshes for their outline."""
        return (*cls.needs, *(("meshes",) if options.shape == "mesh" else ()))

    def open(self) -> None:
        """Use no more threads than the worker may."""
        import cv2

        cv2.setNumThreads(self.options.threads or self.context.threads)
        self.tune(self.options)
        self._forget()

    def tune(self, options: Any) -> None:
        """Join faces otherwise from here on."""
        from mpflow.swapping.compose import Blending

        super().tune(options)
        self._blending = Blending(options.colour, options.blend, options.ratio, options.edge)

    def begin(self, job: Job) -> None:
        """No track is known yet."""
        self._forget()

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Lay the faces of one frame after the other."""
        for work in batch:
            self._lay(work.frame, work.token)
            yield work.token

    def _forget(self) -> None:
        from mpflow.swapping.steady import Tracks

        self._tracks = Tracks(self._smooth)

    def _lay(self, frame: Frame, token: Token) -> None:
        faces = sorted(token.faces, key=_width)
        time = token.seq * _FRAME_S if token.time is None else token.time
        composed = [each for face in faces if (each := self._composed(frame, face, time))]
        regions = frame.edit([each.extent for each in composed])
        for each, region in zip(composed, regions, strict=True):
            if region.planes:
                frame.put_bgr(region.box, *each.patch(region.box))

    def _composed(self, frame: Frame, face: Face, time: float) -> Composed | None:
        """What is laid over a face; None for one that nothing was made for."""
        from mpflow.models.warp import warped
        from mpflow.swapping.compose import compose
        from mpflow.swapping.laying import Composed, within

        found = self._made(frame, face)
        if found is None:
            return None
        made, matrix = found
        side = len(made.mask)
        crop = warped(frame, matrix, (side, side), repeat_edge=True)
        made = within(made, matrix, (frame.width, frame.height))
        memory = self._tracks.of(face.track, time)
        picture, weight = compose(crop, made, self._blending, memory, time)
        return Composed(picture, weight, matrix)

    def _made(self, frame: Frame, face: Face) -> tuple[Made, Floats] | None:
        """The face that was made, masked by all that is known of this one."""
        from mpflow.swapping.contract import MASK, MATRIX, SWAP, Made
        from mpflow.swapping.masks import least

        picture, matrix = frame.attached(face, SWAP), frame.attached(face, MATRIX)
        mask = frame.attached(face, MASK)
        if picture is None or matrix is None or mask is None:
            return None
        outline = self._outline(frame, face, matrix, len(mask))
        return Made(picture, least(mask, outline)), matrix

    def _outline(self, frame: Frame, face: Face, matrix: Floats, size: int) -> Picture | None:
        """Where in the crop the face's mesh is; None for a face without one."""
        import numpy as np

        from mpflow.swapping.masks import outline_mask

        mesh = frame.attached(face, MESH) if self.options.shape == "mesh" else None
        if mesh is None or len(mesh) < _LEAST_POINTS or not np.isfinite(mesh).all():
            return None
        return outline_mask(mesh[:, :2] @ matrix[:, :2].T + matrix[:, 2], size)


def _width(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
