"""A sink without video: aligned crops, a table of tracks, and one picture of each person.

    token.faces -> worth a crop? -> crops/ -> line -> frames.jsonl (what a run can go on with)
    the end     -> best crops embedded -> people told apart -> people/, tracks.csv, faces.json

The output is a folder; frames.jsonl gets its final name last. Embeddings stay in this process
unless ``identities`` asks for them.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from mpflow.errors import InternalError, OutputError
from mpflow.spec import BEGINNING, STDOUT, Place, SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import FrameState, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.export.book import Book
    from mpflow.export.crops import Crops
    from mpflow.export.lines import FaceLine, FrameLine
    from mpflow.frame import Frame
    from mpflow.media.lines import FrameLines
    from mpflow.models.embedders import Embedder

FRAMES = "frames.jsonl"
_POINTS = 5
_COVERED = {FrameState.MASKED}


class FacesOptions(Options, frozen=True, forbid_unknown_fields=True):
    """Which crops, and what is made of them.

    ``size``: the side of a crop in pixels; ``template``: where the face is in it, arcface for
    embedders (the face alone) or ffhq (with hair and chin). ``every``: besides the best face of
    each track one crop every so many seconds; 0 for none. ``table``: csv or parquet. ``people``:
    tell people apart, and show each of them. ``same``: the similarity from which on two tracks
    are one person; 0 takes the model's own. ``identities``: write embeddings, which are biometric
    data. ``model``: an embedder, as for embed. ``threads``: 0 takes what the worker may use.
    """

    size: Annotated[int, msgspec.Meta(ge=32, le=1024)] = 256
    template: Literal["arcface", "ffhq"] = "ffhq"
    every: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    table: Literal["csv", "parquet"] = "csv"
    people: bool = True
    same: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    identities: bool = False
    model: str = "sface"
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Faces(Sink[FacesOptions]):
    """Writes a folder about the faces of a video."""

    Options: ClassVar[type[Options]] = FacesOptions
    suffix: ClassVar[str] = ".jsonl"
    within: ClassVar[str] = FRAMES
    advice = "a larger faces.every, or a faster disk, would help"
    restartable = True
    needs = ("tracks",)
    _file: FrameLines | None = None
    _embedder: Embedder | None = None
    _book: Book
    _crops: Crops

    @property
    def kept(self) -> Place:
        """The first frame that is not durable, and the time stamp of the one before it."""
        return self._file.kept if self._file is not None else BEGINNING

    def open(self) -> None:
        """Load what tells people apart; raises ConfigError or ModelError for what is missing."""
        from mpflow.export.tables import require

        require(self.options.table)
        if self.options.people or self.options.identities:
            with self.context.building():
                self._embedder = self._load()

    def begin(self, job: Job) -> None:
        """Begin the lines, or go on with them; raises OutputError, ResourceError or Refused."""
        from mpflow.export.book import Book
        from mpflow.export.crops import Crops
        from mpflow.media.lines import FrameLines

        self.close()
        if job.spec.output in ("", STDOUT):
            raise OutputError("faces are written to a folder", cure="name one with -o")
        file = FrameLines(job, {"faces": msgspec.to_builtins(self.options)}, self._tell)
        options = self.options
        self._folder = Path(job.spec.output).parent
        self._crops = Crops(self._folder, options.template, options.size)
        video = job.media.video
        self._book = Book(options.every, on_its_side=round(video.rotation / 90) % 2 == 1)
        file.open()
        self._file = file
        self._recall(file)
        self._video = {"width": video.width, "height": video.height}

    def write(self, token: Token, frame: Frame) -> None:
        """Take the crops that are worth it, and write the frame's line."""
        from mpflow.export.lines import encoded, line_of

        if self._file is None:
            raise InternalError("faces was used before begin")
        line = line_of(token)
        if token.state not in _COVERED:
            faces = tuple(self._with_crop(face, line, frame) for face in line.faces)
            line = msgspec.structs.replace(line, faces=faces)
        self._book.add(line)
        self._file.add(token.seq, token.pts, encoded(line))

    def finish(self, *, complete: bool) -> SinkSummary:
        """Write all the rest; only then the lines get their final name."""
        if self._file is None:
            raise InternalError("faces was used before begin")
        if complete and not self._file.is_finished:
            self._file.keep()
            with self.context.building():  # many tracks take a while to tell apart
                self._write_results()
        return self._file.finish(complete=complete)

    def close(self) -> None:
        """Close lines that were not finished."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _recall(self, file: FrameLines) -> None:
        """Take up what is known of tracks from the lines that are there."""
        from mpflow.export.lines import DECODER

        for line in file.kept_lines():
            self._book.add(DECODER.decode(line))

    def _with_crop(self, face: FaceLine, line: FrameLine, frame: Frame) -> FaceLine:
        """The face with the crop that was taken of it, if one was."""
        if not face.seen or face.track is None or len(face.points) != _POINTS:
            return face
        from mpflow.models.pose import quality

        book, side = self._book, max(face.box[2] - face.box[0], face.box[3] - face.box[1])
        is_due = book.is_due(face, line.time)
        at_best = quality((0.0, 0.0, 0.0), side, face.score)
        if not (is_due or book.may_be_best(face, at_best)):
            return face  # the pose takes longer than all else here
        posed = _posed(face, side)
        if not (is_due or book.may_be_best(posed, posed.quality or 0.0)):
            return face
        return msgspec.structs.replace(posed, crop=self._crops.take(frame, face, line.frame))

    def _tell(self, stop: int) -> None:
        """Lines are about to be durable: the crops they name come first."""
        self._crops.keep()
        if self.before_keeping is not None:
            self.before_keeping(stop)

    def _write_results(self) -> None:
        from mpflow.export.results import Wanted, write_results

        options = self.options
        facts = {"size": options.size, "template": options.template, "video": self._video}
        wanted = Wanted(options.table, options.identities, options.same, options.model, facts)
        embedder = self._embedder
        people = write_results(self._folder, self._book, self._crops, embedder, wanted)
        self.context.report("tracks", len(list(self._book)))
        if options.people:
            self.context.report("people", people)

    def _load(self) -> Embedder:
        from mpflow.models.embedders import open_embedder
        from mpflow.models.store import ModelStore

        options, context = self.options, self.context
        embedder, facts = open_embedder(
            options.model,
            ModelStore(offline=context.offline),
            device=options.device,
            providers=options.providers,
            threads=options.threads or context.threads,
            warn=context.warn,
        )
        context.count("sessions", 1)
        context.report("model", options.model)
        context.report("session", asdict(facts))
        return embedder


def _posed(face: FaceLine, side: float) -> FaceLine:
    """The face with its pose and its quality."""
    from mpflow.export.lines import rounded
    from mpflow.models.pose import pose_of, quality

    pose = face.pose or pose_of(face.points)
    worth = round(quality(pose, side, face.score), 4)
    return msgspec.structs.replace(
        face, pose=None if pose is None else rounded(pose), quality=worth
    )
