"""Enhance faces: restore them, or enlarge what was made too small; no pixel of the picture changes.

token.faces with a "swap" (or all) -> crops of all frames of the batch -> network
    -> "swap", "swap.matrix" and "swap.mask" in the enhancer's template and size, for ``blend``
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from mpflow.errors import ConfigError
from mpflow.side import bytes_for
from mpflow.stage import MAX_WAIT_MS, Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.swapping.enhancing import Cut, Enhanced

_SWAP = "swap"  # mpflow.swapping.contract.SWAP, which loads what works with pixels


class EnhanceOptions(Options, frozen=True, forbid_unknown_fields=True):
    """What enhances which faces.

    ``model``: the path of a description of GFPGAN, CodeFormer, RestoreFormer or a network that
    enlarges (``.yaml``, see docs/models.md), or an enhancer of the manifest; there is no default.
    ``faces``: those that were swapped, or all. ``ratio``: how much of what the network makes is
    seen. ``most``: so many of a frame, the largest first. ``size``: at most so many pixels of a
    side are kept, which takes memory. ``colour``: whether a swapped face gets the colours of its
    surroundings before it is enhanced (match) or keeps its own, as ``blend`` does it. ``crops``:
    faces in one call of the network. ``max_batch``, ``max_wait_ms``: frames in one batch, and how
    long it waits for them. ``threads``: 0 takes what the worker may use.
    """

    model: str = ""
    faces: Literal["swapped", "all"] = "swapped"
    ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    most: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    size: Annotated[int, msgspec.Meta(ge=64, le=1024)] = 512
    colour: Literal["match", "keep"] = "match"
    crops: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    max_batch: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    max_wait_ms: Annotated[float, msgspec.Meta(ge=0, le=1000)] = MAX_WAIT_MS
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Enhance(Stage[EnhanceOptions]):
    """Puts an enhanced face in the place of what the swapper made."""

    Options = EnhanceOptions
    needs = ("swaps",)
    gives = ("swaps",)
    makes_faces: ClassVar[bool] = True
    generator: ClassVar[str] = "model"
    tunable = ("ratio",)
    advice = "a GPU, fewer faces (most) or leaving the stage out would help"

    @classmethod
    def needs_with(cls, options: EnhanceOptions) -> tuple[str, ...]:
        """Faces are enough where all are enhanced."""
        return ("faces",) if options.faces == "all" else cls.needs

    @property
    def max_batch(self) -> int:
        """The most frames whose faces go through the network together."""
        return self.options.max_batch

    @property
    def max_wait_ms(self) -> float:
        """How long a call waits for a full batch."""
        return self.options.max_wait_ms

    @property
    def side_bytes(self) -> int:
        """A picture, its mask and its matrix for every face that gets one."""
        size = self.options.size
        kept = bytes_for((size, size, 3), "u1") + bytes_for((size, size), "u1")
        return self.options.most * (kept + bytes_for((2, 3), "f4") + bytes_for((1,), "u1"))

    def open(self) -> None:
        """Load the network, and say in the report what runs it; raises ConfigError for no model."""
        import cv2

        from mpflow.models.store import ModelStore
        from mpflow.swapping.enhancers import open_enhancer
        from mpflow.swapping.enhancing import colours

        options, context = self.options, self.context
        threads = options.threads or context.threads
        cv2.setNumThreads(threads)
        try:
            with context.building():
                self._model, facts = open_enhancer(
                    options.model,
                    ModelStore(offline=context.offline),
                    size=options.size,
                    most=options.crops,
                    device=options.device,
                    providers=options.providers,
                    threads=threads,
                    warn=context.warn,
                    told=context.log.info,
                )
        except ConfigError as error:
            if options.model:
                raise
            raise ConfigError(f"{context.name} has no model", cure=error.cure) from error
        context.count("sessions", 1)
        context.report("model", options.model)
        context.report("session", asdict(facts))
        self._colours = colours(options.colour)
        self._counts = {"enhanced": 0, "left": 0}

    def begin(self, job: Job) -> None:
        """Count anew."""
        self._counts = {"enhanced": 0, "left": 0}

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Enhance the faces of all frames of the batch, then give them on."""
        made = self._made(batch)
        for number, work in enumerate(batch):
            mine = {n: each for (at, n), each in made.items() if at == number}
            yield self._attached(work, mine)

    def end(self) -> None:
        """Say how many faces were enhanced, and how many left as they were."""
        self.context.report("faces", dict(self._counts))

    def _made(self, batch: Sequence[Work]) -> dict[tuple[int, int], Enhanced]:
        """What comes of each chosen face, by the frame's place in the batch and its own there."""
        from mpflow.swapping.enhancing import cut, enhanced

        cuts: dict[tuple[int, int], Cut] = {}
        for at, work in enumerate(batch):
            for number in self._chosen(work.token.faces):
                face = work.token.faces[number]
                found = cut(work.frame, face, self._model, self._colours)
                self._counts["left" if found is None else "enhanced"] += 1
                if found is not None:
                    cuts[at, number] = found
        options = self.options
        made = enhanced(
            self._model,
            [*cuts.values()],
            ratio=options.ratio,
            size=options.size,
            most=options.crops,
        )
        return dict(zip(cuts, made, strict=True))

    def _attached(self, work: Work, made: dict[int, Enhanced]) -> Token:
        import numpy as np

        from mpflow.swapping.contract import MASK, MATRIX, SWAP, UNSWAPPED

        token = work.token
        if not made:
            return token
        rows = [made.get(number) for number in range(len(token.faces))]
        mark = np.ones(1, np.uint8)
        own = [each and SWAP not in face.refs for face, each in zip(token.faces, rows, strict=True)]
        arrays: dict[str, list[Any]] = {
            UNSWAPPED: [mark if each else None for each in own],
            MATRIX: [each and each.matrix for each in rows],
            MASK: [each and each.mask for each in rows],
            SWAP: [each and each.picture for each in rows],
        }
        return token.with_faces(work.frame.attach(token.faces, arrays))

    def _chosen(self, faces: Sequence[Face]) -> list[int]:
        """Those that are to be enhanced, the largest if they are too many."""
        wanted = [
            number
            for number, face in enumerate(faces)
            if self.options.faces == "all" or _SWAP in face.refs
        ]
        wanted.sort(key=lambda number: _width(faces[number]), reverse=True)
        return sorted(wanted[: self.options.most])


def _width(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
