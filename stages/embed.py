"""Say of every track's face whom of a gallery it shows, by a mark without a name.

    faces with tracks -> doubts -> who is due -> aligned crops -> network -> similarities -> looks
                      -> marks, of this frame and of those behind it -> Face.identity

A track is looked at when it is first seen well, again when it is seen much better, when it is in
doubt, and now and then; not in every frame. Embeddings stay in this process: what goes on the token
and into the analysis log are marks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import msgspec

from mpflow.errors import ConfigError, Refused
from mpflow.policies.identity import Mark, Thresholds, decide
from mpflow.policies.recognition import Look
from mpflow.stage import Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.identity.following import Moment
    from mpflow.models.embedders import Embedder
    from mpflow.models.store import ModelStore

Cosine = Annotated[float, msgspec.Meta(ge=0, lt=1)]

LOOKS, CHECK = "embed.looks", "embed.gallery"
STRANGE, NEXT_STRANGE = "embed.strange", "embed.next_strange"
_FRAME_S = 1 / 25


class EmbedOptions(Options, frozen=True, forbid_unknown_fields=True):
    """Who is known, and how surely.

    ``gallery``: a folder with a photo of each person, or a sub-folder of photos for each;
    ``photos``: the photos themselves instead, one of each person. ``same``: the similarity from
    which on a face is a person's; ``other``: below it, it is surely not; 0 takes the model's own.
    ``again``: a track is looked at anew after so many seconds at the latest. ``ahead``: so many
    frames wait for what later ones say of a face nobody is sure of. ``faces``: so many are looked
    at in one frame, those seen best; others wait for the next. ``model``: an embedder of the
    manifest, insightface:PACK, or insightface:FILE.onnx. ``threads``: 0 takes what the worker may
    use.
    """

    gallery: str = ""
    photos: tuple[str, ...] = ()
    model: str = "sface"
    same: Cosine = 0.0
    other: Cosine = 0.0
    again: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    ahead: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    faces: Annotated[int, msgspec.Meta(ge=1, le=64)] = 4
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        if self.same and self.other > self.same:
            raise ValueError("other must not be above same")
        if self.gallery and self.photos:
            raise ConfigError("gallery and photos contradict each other", cure="give one of them")


class Embed(Stage[EmbedOptions]):
    """Marks the faces of people of a gallery."""

    Options = EmbedOptions
    needs = ("tracks",)
    gives = ("identities",)
    ordered = True
    remembers = True
    less_ahead = "people are recognised later, and covered until then"
    advice = "again=5, or a GPU, would help"

    @property
    def holds(self) -> int:
        """The most frames that wait for what later ones say."""
        return self.options.ahead

    @property
    def least_holds(self) -> int:
        """One, which tells a fresh worker whose face will look strange on the next frame."""
        return min(1, self.options.ahead)

    def open(self) -> None:
        """Load the networks, and read the gallery; raises ConfigError for one of no use."""
        import cv2

        from mpflow.identity.gallery import open_gallery
        from mpflow.models.store import ModelStore

        options, context = self.options, self.context
        if not (options.gallery or options.photos):
            raise ConfigError(
                f"{context.name} has no gallery",
                cure="name a folder of photos: --keep DIR, --only DIR"
                f" or --set {context.name}.gallery=DIR",
            )
        threads = options.threads or context.threads
        cv2.setNumThreads(threads)
        store = ModelStore(offline=context.offline)
        with context.building():
            self._embedder = self._load(store, threads)
            self._gallery = open_gallery(options, self._embedder, store, threads)
        self._limits = self._thresholds()
        people, photos = self._gallery.people, len(self._gallery.persons)
        context.report("gallery", {"people": people, "photos": photos})
        context.report("thresholds", asdict(self._limits))
        self._tracks: set[int] = set()
        self._embeddings = 0
        self._forget()

    def begin(self, job: Job) -> None:
        """Nobody is known yet."""
        self._forget()

    def recall(self, tokens: Iterable[Token]) -> None:
        """Learn from what was said of finished frames; raises Refused for another gallery's."""
        for token in tokens:
            time = _time(token)
            self._following.see(token.faces, time, token.fields.get(STRANGE, ()))
            self._likenesses.foretell(token.fields.get(NEXT_STRANGE, ()))
            if token.fields.get(CHECK, self._gallery.check) != self._gallery.check:
                raise Refused(
                    "the gallery is not the one that the earlier run had",
                    cure="start anew, without --resume, or bring the photos back",
                )
            for track, mark, quality in token.fields.get(LOOKS, ()):
                self._look(track, mark or None, quality, time)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Look at whoever is due, then give on what has waited long enough."""
        for work in batch:
            self._waiting.append(self._follow(work.token, work.frame))
            while len(self._waiting) > self.may_hold:
                yield self._next()

    def flush(self) -> Iterator[Token]:
        """No later frame will say more."""
        while self._waiting:
            yield self._next()

    def end(self) -> None:
        """Say how many embeddings this input took."""
        self.context.report("embeddings", self._embeddings)
        self.context.report("tracks", len(self._tracks))
        self._tracks.clear()
        self._embeddings = 0

    def _follow(self, token: Token, frame: Frame) -> tuple[Token, Moment]:
        """The frame's card with what was looked at, and what is known when it comes."""
        strange = self._likenesses.strange(token.faces, frame, time := _time(token))
        self._following.see(token.faces, time, strange)
        due = self._due(token.faces, time)
        marks = self._marks(frame, [face for face, _ in due])
        rows = []
        for (face, quality), mark in zip(due, marks, strict=True):
            if face.track is not None:
                self._look(face.track, mark, quality, time)
                rows.append((face.track, mark or "", quality))
        self._embeddings += len(rows)
        self._tracks.update(track for track, _, _ in rows)
        if strange:
            token = token.with_field(STRANGE, strange)
        if rows:
            token = token.with_field(LOOKS, rows).with_field(CHECK, self._gallery.check)
        return token, self._following.moment()

    def _due(self, faces: Sequence[Face], time: float) -> list[tuple[Face, float]]:
        """The faces to be looked at, and how well each is seen.

        The pose takes longer than all else here, and most frames need none.
        """
        from mpflow.identity.sight import quality_at_best, quality_of

        hopeful = [each for each in faces if self._following.due(each, quality_at_best(each), time)]
        sights = [(face, quality_of(face)) for face in hopeful]
        due = [sight for sight in sights if self._following.due(*sight, time)]
        return sorted(due, key=lambda sight: -sight[1])[: self.options.faces]

    def _marks(self, frame: Frame, faces: Sequence[Face]) -> list[Mark]:
        """Whom faces show, by one call of the network."""
        from mpflow.models.align import aligned

        if not faces:
            return []
        size = self._embedder.size
        crops = [aligned(frame, face.points, "arcface", size)[0] for face in faces]
        cosines = self._gallery.similarities(self._embedder.embed(crops))
        return [decide(each, self._limits) for each in cosines]

    def _look(self, track: int, mark: Mark, quality: float, time: float) -> None:
        self._following.look(track, Look(mark, quality, time))

    def _next(self) -> Token:
        """The card of the frame that has waited longest, with the marks of its faces."""
        from mpflow.identity.following import next_slips, settled

        token = self._waiting[0][0]
        moments = [moment for _, moment in self._waiting]
        wary = self.may_hold < self.options.ahead
        self._waiting.popleft()
        marked = [
            replace(face, identity=settled(face.track, moments, wary=wary)) for face in token.faces
        ]
        if slips := next_slips(moments[1:]):
            token = token.with_field(NEXT_STRANGE, slips)
        return token.with_faces(marked)

    def _forget(self) -> None:
        from mpflow.identity.following import Following
        from mpflow.identity.likeness import Likenesses

        self._following = Following(self.options.again)
        self._likenesses = Likenesses()
        self._waiting: deque[tuple[Token, Moment]] = deque()

    def _load(self, store: ModelStore, threads: int) -> Embedder:
        from mpflow.models.embedders import open_embedder

        options, context = self.options, self.context
        embedder, facts = open_embedder(
            options.model,
            store,
            device=options.device,
            providers=options.providers,
            threads=threads,
            warn=context.warn,
        )
        context.count("sessions", 1)
        context.report("model", options.model)
        context.report("session", asdict(facts))
        return embedder

    def _thresholds(self) -> Thresholds:
        same = self.options.same or self._embedder.same
        return Thresholds(same, min(self.options.other or self._embedder.other, same))


def _time(token: Token) -> float:
    """When the frame is seen, in seconds; counted where it has no time stamp."""
    return token.seq * _FRAME_S if token.time is None else token.time
