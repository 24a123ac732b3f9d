"""Lay a mesh over every face: 468 points with depth, the head's pose, better eyes, nose and mouth.

token.faces -> a crop of each, of all frames of the batch -> network, twice -> meshes
            -> frames wait for later ones, as far as is asked -> each mesh steadied by those around
            -> beside the picture ("mesh"); Face.points and Face.pose from it
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import msgspec

from mpflow.side import bytes_for
from mpflow.stage import MAX_WAIT_MS, Job, Options, Stage, StageContext, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.models.detections import Floats
    from mpflow.models.landmarks import Landmarks as Mesh

MESH = "mesh"
_MOST_POINTS = 478
_AXES = 3

Few = Annotated[int, msgspec.Meta(ge=0, le=15)]


class LandmarksOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How meshes are laid.

    ``score``: the least score of a mesh; what has less is no face that a mesh could be laid over,
    and keeps the points it had. ``faces``: so many of a frame get a mesh, the largest first.
    ``refine``: eyes, nose and mouth are taken from the mesh. ``smooth``: by so many frames on
    either side the trembling of a track's mesh is taken out, 0 leaves it; ``ahead``: for so many
    later frames each frame waits for that. With fewer than ``smooth`` more of those before count;
    0 in live runs, where it would be delay. With several workers nothing is smoothed. ``crops``:
    faces in one call of the network. ``model``: a landmark network of the manifest, or the path of
    a description of one's own (``.yaml``, see docs/models.md). ``max_batch``, ``max_wait_ms``:
    frames in one batch, and how long it waits for them. ``threads``: 0 takes what the worker may
    use.
    """

    model: str = "facemesh"
    score: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    faces: Annotated[int, msgspec.Meta(ge=1, le=64)] = 16
    refine: bool = True
    smooth: Few = 3
    ahead: Few = 3
    crops: Annotated[int, msgspec.Meta(ge=1, le=256)] = 16
    max_batch: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    max_wait_ms: Annotated[float, msgspec.Meta(ge=0, le=1000)] = MAX_WAIT_MS
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A frame that waits, and what was laid over each of its faces, if anything was."""

    token: Token
    frame: Frame
    meshes: Sequence[Mesh | None]


class Landmarks(Stage[LandmarksOptions]):
    """Puts a mesh beside the picture for each face, and the head's pose on the face."""

    Options = LandmarksOptions
    needs = ("faces",)
    gives = ("meshes", "poses")
    tunable = ("score",)
    less_ahead = "meshes tremble more"
    advice = "more workers with smooth=0, or a GPU, would help"

    def __init__(self, options: LandmarksOptions, context: StageContext) -> None:
        super().__init__(options, context)
        # frames around one are seen by one worker only if it sees them all
        self._smooth = options.smooth if context.workers == 1 else 0
        self._ahead = min(options.ahead, self._smooth)

    @property
    def holds(self) -> int:
        """The most frames that wait for later ones."""
        return self._ahead

    @property
    def least_holds(self) -> int:
        """None at all: frames before say how to steady a mesh, too."""
        return 0

    @property
    def max_batch(self) -> int:
        """The most frames in one call of the network."""
        return self.options.max_batch

    @property
    def max_wait_ms(self) -> float:
        """How long a call waits for a full batch."""
        return self.options.max_wait_ms

    @property
    def side_bytes(self) -> int:
        """A mesh for every face that gets one."""
        return self.options.faces * bytes_for((_MOST_POINTS, _AXES), "f4")

    def open(self) -> None:
        """Load the network, and say in the report what runs it."""
        from mpflow.models.landmarkers import open_landmarker
        from mpflow.models.store import ModelStore

        store = ModelStore(offline=self.context.offline)
        with self.context.building():
            self._model, facts = open_landmarker(
                self.options,
                store,
                threads=self.options.threads or self.context.threads,
                warn=self.context.warn,
                told=self.context.log.info,
            )
        self.context.report("model", self.options.model)
        self.context.report("session", asdict(facts))

    def begin(self, job: Job) -> None:
        """Forget the frames before; note how the pictures of this input are turned."""
        from mpflow.models.smoothing import Window

        self._turned = float(job.media.video.rotation)
        self._window = Window(2 * self._smooth - self.may_hold, self.may_hold)
        self._waiting: deque[Fitted] = deque()

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Lay a mesh over all faces of the batch; give on the frames that have waited."""
        for fitted in self._fitted(batch):
            self._waiting.append(fitted)
            self._note(fitted)
        while len(self._waiting) > self.may_hold:
            yield self._next()

    def flush(self) -> Iterator[Token]:
        """No frame will come any more: those that wait have seen all there is."""
        while self._waiting:
            yield self._next()

    def _fitted(self, batch: Sequence[Work]) -> list[Fitted]:
        """Each frame with the meshes of its largest faces, all of them fitted together."""
        from mpflow.models.landmarks import fit

        chosen = [(at, n) for at, work in enumerate(batch) for n in self._chosen(work.token.faces)]
        sights = [(batch[at].frame, batch[at].token.faces[n]) for at, n in chosen]
        found = fit(self._model, sights, self.options.crops, turned=self._turned)
        meshes: list[list[Mesh | None]] = [[None] * len(work.token.faces) for work in batch]
        for (at, n), (_, face), mesh in zip(chosen, sights, found, strict=True):
            if mesh.score >= self.options.score and mesh.is_in(face.box):
                meshes[at][n] = mesh
        return [
            Fitted(work.token, work.frame, mine) for work, mine in zip(batch, meshes, strict=True)
        ]

    def _chosen(self, faces: Sequence[Face]) -> list[int]:
        """Which faces get a mesh: the largest."""
        order = sorted(range(len(faces)), key=lambda n: _width(faces[n]), reverse=True)
        return sorted(order[: self.options.faces])

    def _note(self, fitted: Fitted) -> None:
        """Keep the meshes of tracks for the frames around."""
        for face, mesh in zip(fitted.token.faces, fitted.meshes, strict=True):
            if self._smooth and mesh is not None and face.track is not None:
                self._window.add(fitted.token, face.track, mesh.points)

    def _next(self) -> Token:
        """The token of the frame that has waited longest, its meshes beside its picture."""
        fitted = self._waiting.popleft()
        token, points = fitted.token, self._points(fitted)
        faces = [self._told(face, mine) for face, mine in zip(token.faces, points, strict=True)]
        self._window.forget_before(self._waiting[0].token.seq if self._waiting else token.seq + 1)
        return token.with_faces(fitted.frame.attach(faces, {MESH: points}))

    def _points(self, fitted: Fitted) -> list[Floats | None]:
        """The points of every face's mesh, steadied where its track is known."""
        points: list[Floats | None] = []
        for face, mesh in zip(fitted.token.faces, fitted.meshes, strict=True):
            if mesh is None:
                points.append(None)
            elif self._smooth and face.track is not None:
                points.append(self._window.steadied(fitted.token.seq, face.track))
            else:
                points.append(mesh.points)
        return points

    def _told(self, face: Face, points: Floats | None) -> Face:
        """The face with what its mesh says; with the pose of its own points where it has none."""
        from mpflow.models.pose import pose_of, upright

        if points is None:
            pose = pose_of(face.points)
            return replace(face, pose=upright(pose, self._turned) if pose else face.pose)
        five = self._model.five(points)
        pose = pose_of(points) or pose_of(five)
        told = replace(face, pose=upright(pose, self._turned) if pose else face.pose)
        if not self.options.refine:
            return told
        return replace(told, points=tuple((x, y) for x, y in five.tolist()))


def _width(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
