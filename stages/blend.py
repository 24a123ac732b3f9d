"""Lay made faces into the picture, the only place where they enter it.

    token.faces with a "swap" -> the same crop of the frame -> where it may be laid (masks)
        -> colours, edge, join (compose), steadied along the track -> back into the planes

All faces of a frame are composed before the first is laid, so that two that overlap do not see
each other; the largest comes on top. Where nothing is laid, every sample stays bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.swapping.beside import Swap
    from mpflow.swapping.contract import Picture
    from mpflow.swapping.hiding import Hiding
    from mpflow.swapping.laying import Composed

_FRAME_S = 1 / 25

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class BlendOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How made faces are joined with the picture.

    ``colour``: match gives them the colours of what they cover; keep leaves their own. ``blend``:
    soft lays them by their weight; seamless keeps their gradients only and takes the colours at
    their edge from the picture, which takes longer. ``ratio``: how much of them is seen. ``edge``:
    the share of their longer side over which they fade in. ``shape``: ``mesh`` keeps to the face's
    outline (it needs ``landmarks`` before it), ``crop`` to what was made. ``masks``: descriptions
    of networks that say what covers a face, or which parts of it may change (``.yaml``, see
    docs/models.md). ``smooth``: colours and edges that tremble are steadied along a track, with
    this time constant in seconds; 0 leaves them. ``threads``: 0 takes what the worker may use.
    """

    colour: Literal["match", "keep"] = "match"
    blend: Literal["soft", "seamless"] = "soft"
    ratio: Share = 1.0
    edge: Annotated[float, msgspec.Meta(ge=0, le=0.5)] = 0.04
    shape: Literal["mesh", "crop"] = "mesh"
    masks: tuple[str, ...] = ()
    smooth: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.4
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Blend(Stage[BlendOptions]):
    """Lays the face made for each face over it."""

    Options = BlendOptions
    needs = ("swaps",)
    gives = ("blended",)
    ordered = True
    changes_pixels = True
    makes_faces = True
    tunable = ("colour", "blend", "ratio", "edge")
    advice = "blend=soft, or smaller crops (swap.size), would help"

    @classmethod
    def needs_with(cls, options: BlendOptions) -> tuple[str, ...]:
        """Meshes for their outline."""
        return (*cls.needs, *(("meshes",) if options.shape == "mesh" else ()))

    def open(self) -> None:
        """Load the networks that give masks; raises ConfigError or ModelError for one of no use."""
        import cv2

        threads = self.options.threads or self.context.threads
        cv2.setNumThreads(threads)
        self._hiding = [self._opened(path, threads) for path in self.options.masks]
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
            yield self._laid(work.frame, work.token)

    def _forget(self) -> None:
        from mpflow.swapping.steady import Tracks

        self._tracks = Tracks(self.options.smooth)

    def _opened(self, path: str, threads: int) -> Hiding:
        from mpflow.swapping.hiding import open_hiding

        context = self.context
        with context.building():
            hiding, facts = open_hiding(
                Path(path), self.options, threads=threads, warn=context.warn
            )
        context.count("sessions", 1)
        context.report("session", asdict(facts))
        return hiding

    def _laid(self, frame: Frame, token: Token) -> Token:
        """The frame's card once its made faces are in the picture; those that hide the face which
        was there are marked."""
        from mpflow.swapping.beside import swaps
        from mpflow.swapping.contract import LAID, SWAP

        found = swaps(frame, sorted(token.faces, key=_width))
        hidden = [each.masks(frame, found) for each in self._hiding]
        time = token.seq * _FRAME_S if token.time is None else token.time
        composed = [
            self._composed(frame, swap, masks, time)
            for swap, *masks in zip(found, *hidden, strict=True)
        ]
        regions = frame.edit([each.extent for each, _ in composed])
        for (each, _), region in zip(composed, regions, strict=True):
            if region.planes:
                frame.put_bgr(region.box, *each.patch(region.box))
        laid = {
            id(swap.face) for swap, (_, is_hidden) in zip(found, composed, strict=True) if is_hidden
        }
        faces = [
            replace(face, refs={**face.refs, LAID: face.refs[SWAP]}) if id(face) in laid else face
            for face in token.faces
        ]
        return token.with_faces(faces)

    def _composed(
        self, frame: Frame, swap: Swap, masks: Sequence[Picture | None], time: float
    ) -> tuple[Composed, bool]:
        """What is laid over a face, and whether the face is hidden by it."""
        from mpflow.models.warp import warped
        from mpflow.swapping.beside import outline
        from mpflow.swapping.compose import compose
        from mpflow.swapping.contract import Made
        from mpflow.swapping.laying import Composed, hides, within
        from mpflow.swapping.masks import least

        mesh = outline(frame, swap) if self.options.shape == "mesh" else None
        made = Made(swap.made.picture, least(swap.made.mask, mesh, *masks))
        made = within(made, swap.matrix, (frame.width, frame.height))
        crop = warped(frame, swap.matrix, (swap.side, swap.side), repeat_edge=True)
        memory = self._tracks.of(swap.face.track, time)
        picture, weight = compose(crop, made, self._blending, memory, time)
        face = swap.made.mask if mesh is None else mesh
        return Composed(picture, weight, swap.matrix), hides(weight, face)


def _width(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
