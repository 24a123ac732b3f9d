"""Make the face of another person for each face, and keep it beside the picture.

    token.faces -> who of them gets which source (map, identity) -> crops, of all frames of a batch
                -> swapper -> faded towards the profile -> now and then: still like its source?
                -> beside the picture ("swap", "swap.matrix", "swap.mask")

No pixel of the picture changes here: ``blend`` lays what was made over it, and ``redact`` can cover
the faces that got none. A face is made again where it is not like its source and the stage runs
with less than it began with; where that does not help, the frame's card says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from mpflow.accounts import DRIFT
from mpflow.side import bytes_for
from mpflow.stage import MAX_WAIT_MS, Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    import numpy.typing as npt

    from mpflow.models.store import ModelStore
    from mpflow.swapping.cast import Cast, Part
    from mpflow.swapping.contract import Source

MESH = "mesh"
_FRAME_S = 1 / 25
_STRAIGHT = 90.0

Degrees = Annotated[float, msgspec.Meta(ge=0, le=_STRAIGHT)]


class SwapOptions(Options, frozen=True, forbid_unknown_fields=True):
    """Whose faces are made for whom, and by what.

    ``sources``: photos of the one person whom every face is to show. ``map``: REFERENCE=SOURCE
    for each person instead; references are those of ``embed.photos``, in its order. ``model``:
    ``mesh`` draws the photo over the face's mesh; or the path of an INSwapper file (.onnx), or of a
    description (.yaml, see docs/models.md). ``size``: pixels of a side of the crop; 0 takes 256,
    or what a network takes. ``faces``: so many of a frame get another, the largest first.
    ``fade``: degrees to the side from which on less is seen of the made face, and from which on
    nothing. ``drift``: the least similarity to its source that a made face has to have, 0 for any;
    ``sample``: after so many seconds a track's face is looked at for that again. ``max_batch``,
    ``max_wait_ms``: frames in one batch, and how long it waits for them. ``threads``: 0 takes what
    the worker may use.
    """

    sources: tuple[str, ...] = ()
    map: tuple[str, ...] = ()
    model: str = MESH
    size: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    faces: Annotated[int, msgspec.Meta(ge=1, le=64)] = 6
    fade: tuple[Degrees, Degrees] = (50.0, 75.0)
    drift: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.25
    sample: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    max_batch: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    max_wait_ms: Annotated[float, msgspec.Meta(ge=0, le=1000)] = MAX_WAIT_MS
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Swap(Stage[SwapOptions]):
    """Keeps a made face beside the picture for each face that a source is for."""

    Options = SwapOptions
    needs = ("faces",)
    gives = ("swaps",)
    makes_faces = True
    generator = "model"
    tunable = ("size", "faces", "fade", "drift", "sample")
    advice = "more workers, a smaller size, or a GPU, would help"

    @classmethod
    def needs_with(cls, options: SwapOptions) -> tuple[str, ...]:
        """Meshes to draw over, identities for a map."""
        meshes = ("meshes",) if options.model == MESH else ()
        return (*cls.needs, *meshes, *(("identities",) if options.map else ()))

    @property
    def max_batch(self) -> int:
        """The most frames whose faces are made together."""
        return self.options.max_batch

    @property
    def max_wait_ms(self) -> float:
        """How long a call waits for a full batch."""
        return self.options.max_wait_ms

    @property
    def side_bytes(self) -> int:
        """A crop, its matrix and its mask for every face that gets another."""
        side = self._first.swapper.size
        each = bytes_for((side, side, 3), "u1") + bytes_for((side, side), "u1")
        return self._most * (each + bytes_for((2, 3), "f4"))

    def open(self) -> None:
        """Read the photos and load the swapper; raises ConfigError for what is of no use."""
        import cv2

        from mpflow.models.store import ModelStore
        from mpflow.swapping.drift import Drift
        from mpflow.swapping.maps import casting
        from mpflow.swapping.opened import check_model
        from mpflow.swapping.sources import open_studio

        options, context = self.options, self.context
        self._most = options.faces
        self._casting = casting(options.sources, options.map)
        check_model(options.model, options.size)
        self._threads = options.threads or context.threads
        cv2.setNumThreads(self._threads)
        store = ModelStore(offline=context.offline)
        with context.building():
            studio = open_studio(store, self._threads)
            found = {photos: studio.source(photos) for photos in self._casting.sources}
            self._sources: Mapping[tuple[Path, ...], Source] = {k: v[0] for k, v in found.items()}
            self._first = self._cast = self._load(store, options.size)
        likenesses = {photos: embeddings for photos, (_, embeddings) in found.items()}
        self._drift = Drift(studio.embedder, likenesses, options.drift, options.sample)
        context.report("model", options.model)
        context.report("sources", {"people": len(found), "photos": sum(map(len, found))})
        self._seen: set[str] = set()

    def tune(self, options: Any) -> None:
        """Go on with other options; crops are never larger, nor more, than at the start."""
        from mpflow.models.store import ModelStore

        size, most = options.size, self._first.swapper.size
        if size != self.options.size:
            same = not size or size >= most
            store = ModelStore(offline=self.context.offline)
            with self.context.building():
                self._cast = self._first if same else self._load(store, size)
        super().tune(options)
        self._drift.tune(options.drift, options.sample)

    def begin(self, job: Job) -> None:
        """Nobody has been seen yet."""
        self._drift.begin()
        self._seen = set()

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Make the faces of all frames of the batch together."""
        parts = [part for at, work in enumerate(batch) for part in self._parts(at, work)]
        self._cast.make(parts)
        for at, work in enumerate(batch):
            mine = {part.at[1]: part for part in parts if part.at[0] == at}
            yield self._given(work, mine)

    def end(self) -> None:
        """Say how like their sources the faces were, and whom of the map nobody was."""
        facts = self._drift.facts()
        context, several = self.context, self.context.workers > 1
        context.report(f"similarity.{context.worker}" if several else "similarity", facts)
        if self._drift.flagged:
            context.warn(
                f"{self._drift.flagged} of {facts['looks']} looks at made faces found them not like"
                f" their source (similarity below {self.options.drift})"
            )
        for photo in [] if several else self._unseen():
            context.warn(f"nobody was recognised as the person of the reference photo {photo.name}")

    def _parts(self, at: int, work: Work) -> list[Part]:
        """The faces of a frame that get another, the largest first."""
        from mpflow.swapping.cast import Part
        from mpflow.swapping.targets import clear, share_of

        parts: list[Part] = []
        faces = work.token.faces
        self._seen |= {face.identity for face in faces if face.identity is not None}
        meshes = [work.frame.attached(face, MESH) for face in faces]
        for n in clear(faces, meshes):
            photos = self._casting.photos_for(faces[n].identity)
            share = share_of(faces[n].pose, self.options.fade)
            if photos and share and len(parts) < min(self.options.faces, self._most):
                target = self._cast.target(work.frame, faces[n], meshes[n])
                parts.append(Part((at, n), photos, target, share))
        return parts

    def _given(self, work: Work, parts: Mapping[int, Part]) -> Token:
        """The frame's card with what was made for its faces."""
        from mpflow.swapping.contract import MASK, MATRIX, SWAP, UNSWAPPED

        token, faces = work.token, work.token.faces
        time = token.seq * _FRAME_S if token.time is None else token.time
        looks = [self._looked_at(work, faces[n], part, time) for n, part in parts.items()]
        unlike = [look for look in looks if look is not None and self._drift.below(look)]
        if unlike:
            token = token.with_field(DRIFT, round(min(unlike), 3))
        rows = [parts[n] if n in parts and parts[n].made else None for n in range(len(faces))]
        arrays: dict[str, list[npt.NDArray[Any] | None]] = {
            MATRIX: [row.target.matrix if row else None for row in rows],
            MASK: [row.made.mask if row and row.made else None for row in rows],
            SWAP: [row.made.picture if row and row.made else None for row in rows],  # all is there
        }
        given = list(work.frame.attach(faces, arrays))
        for n, part in parts.items():
            if part.share < 1 and SWAP in given[n].refs:  # the own face is seen through it
                refs = {**given[n].refs, UNSWAPPED: given[n].refs[SWAP]}
                given[n] = replace(given[n], refs=refs)
        return token.with_faces(given)

    def _looked_at(self, work: Work, face: Face, part: Part, time: float) -> float | None:
        """How like its source the made face is, if it is time to look; it is made again where it
        is not and more can be done."""
        from mpflow.swapping.cast import Part

        if part.made is None or part.share < 1 or not self._drift.due(face.track, time):
            return None
        cosine = self._drift.cosine(part.target, part.made, part.photos)
        if self._drift.below(cosine) and self._cast is not self._first:
            target = self._first.target(work.frame, face, work.frame.attached(face, MESH))
            again = Part(part.at, part.photos, target, part.share)
            self._first.make([again])
            if again.made is not None:
                part.target, part.made = target, again.made
                cosine = self._drift.cosine(target, again.made, part.photos)
                self._drift.again += 1
        self._drift.note(cosine)
        return cosine

    def _unseen(self) -> list[Path]:
        """The reference photos of people whom no face showed."""
        from mpflow.policies.identity import mark_of

        references = self._casting.references
        return [each for n, each in enumerate(references) if mark_of(n) not in self._seen]

    def _load(self, store: ModelStore, size: int) -> Cast:
        from mpflow.swapping.cast import Cast
        from mpflow.swapping.opened import open_swapper

        context = self.context
        swapper, facts = open_swapper(
            self.options, size, store, threads=self._threads, warn=context.warn
        )
        if facts:
            context.count("sessions", 1)
            context.report("session", facts)
        return Cast.of(swapper, self._sources)
