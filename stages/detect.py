"""Find the faces of every frame and write them into its token.

planes -> Frame.detector_blob, turned upright -> one tensor for the batch -> network
       -> boxes and points, turned and scaled back -> token.faces

with every=N or auto: the frames between two looks wait for the second, and get the faces of both;
one that cannot wait any longer is looked at itself
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from mpflow.models.sizes import parse_size
from mpflow.stage import MAX_WAIT_MS, Job, Options, Stage, StageContext, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.models.carry import Plan

Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Every = Annotated[int, msgspec.Meta(ge=1, le=30)]


class DetectOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are looked for.

    ``size``: the scaled picture, WIDTHxHEIGHT in multiples of 32, or auto: the shape of the video,
    ``side`` pixels along its longer side. Faces are found from about 10 pixels of the scaled
    picture on. ``glance``: a smaller side for most looks, where no face is that a glance would
    miss and nothing happens; a new small face is then found up to 10 frames late, which ``track``
    makes good; 0 looks closely always. ``score``: the least score of a face; none takes the
    model's own (yunet 0.6, centerface 0.35). ``weak``: finds of less, down to this, are given too,
    marked as such: a tracker (stage ``track``) takes them for a face where it has seen one before;
    0 leaves them out. ``iou``: overlap that makes two finds one; none takes the model's own.
    ``every``: look at every N-th frame only, or, ``auto``, as often as the motion of the faces and
    the picture asks for, ``most`` frames and 0.2 seconds apart at most. Frames between wait for
    the next look, so that a face which comes into the picture is covered in time, and get the
    faces of both in larger boxes; whatever lies between no two looks (the last frame, one beside a
    cut or a gap) is looked at too. With several workers only frames of one batch wait for each
    other. ``ahead``: how many frames may wait when ``every`` is raised while the job runs; 0 takes
    what it says at its start. ``max_batch`` and ``max_wait_ms``: frames in one call, and how long
    a call waits for them. ``model``: a detector of the manifest, or the path of a description of
    one's own (``.yaml``, see docs/models.md); ``path``: a file to use instead of the one it names.
    ``threads``: 0 takes what the worker may use.
    """

    size: str = "auto"
    side: Annotated[int, msgspec.Meta(ge=32, le=4096)] = 640
    glance: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 0
    score: Share | None = None
    weak: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0
    iou: Share | None = None
    every: Every | Literal["auto"] = 1
    most: Every = 5
    ahead: Annotated[int, msgspec.Meta(ge=0, le=29)] = 0
    max_batch: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    max_wait_ms: Annotated[float, msgspec.Meta(ge=0, le=1000)] = MAX_WAIT_MS
    model: str = "yunet"
    path: str = ""
    device: str = "auto"
    providers: tuple[str, ...] = ()
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        if self.size != "auto":
            parse_size(self.size)

    @property
    def apart(self) -> int:
        """The most frames from one look to the next."""
        return self.most if self.every == "auto" else self.every


class Detect(Stage[DetectOptions]):
    """Writes the faces of each frame into its token."""

    Options = DetectOptions
    gives = ("faces",)
    less_ahead = "it looks at more frames, which takes longer"
    tunable = ("every", "size", "side", "glance", "threads", "score", "weak")
    advice = "a smaller size, more workers, every=auto or a GPU would help"

    def __init__(self, options: DetectOptions, context: StageContext) -> None:
        super().__init__(options, context)
        # frames that wait in one worker while the others go on could fill the ring
        self._ahead = max(options.ahead, options.apart - 1) if context.workers == 1 else 0
        # which frames are looked at depends on those before: a successor has to go on like that
        self.ordered = self.remembers = self._ahead > 0

    @property
    def holds(self) -> int:
        """The most frames that wait for the next look."""
        return self._ahead

    @property
    def least_holds(self) -> int:
        """None at all: a frame that cannot wait is looked at itself."""
        return 0

    @property
    def max_batch(self) -> int:
        """The most frames in one call of the network."""
        return self.options.max_batch

    @property
    def max_wait_ms(self) -> float:
        """How long a call waits for a full batch."""
        return self.options.max_wait_ms

    def open(self) -> None:
        """Load the network, and say in the report what runs it."""
        from mpflow.models.carry import Carrier
        from mpflow.models.upright import Blobs

        self._loads = 0
        self._load()
        self.context.report("model", self.options.path or self.options.model)
        self._turns = 0
        self._blobs = Blobs()
        self._carrier = Carrier(self._ahead, self.options.most)
        self._say_what_every_does()

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned, and how many may wait."""
        self._turns = round(job.media.video.rotation / 90) % 4
        self._carrier.forget(self.may_hold)
        self._carrier.glance = self._glance()

    def recall(self, tokens: Iterable[Token]) -> None:
        """Go on looking as the worker before would have."""
        self._carrier.recall(tokens)

    def tune(self, options: DetectOptions) -> None:
        """Go on with other options; the network is loaded anew only for other threads.

        What cannot be had leaves everything as it was.
        """
        before, self.options = self.options, options
        own = self.context.threads
        try:
            if (options.threads or own) != (before.threads or own) or self._eyes.outgrown(options):
                self._load()
            else:
                self._eyes.follow(options)
        except Exception:
            self.options = before
            raise
        self._carrier.glance = self._glance()
        self._say_what_every_does()

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Look at all frames of the batch that are due in one call of the network."""
        frames = [(work.token, work.frame, work.alone) for work in batch]
        return self._carry_out(self._carrier.plan(frames, self.options.every), len(batch))

    def flush(self) -> Iterator[Token]:
        """No frame will come any more: those that wait have to be looked at."""
        return self._carry_out(self._carrier.last_plan(), 1)

    def _carry_out(self, plan: Plan, at_once: int) -> Iterator[Token]:
        """Look at what is due, and give the others the faces of the looks around them.

        ``at_once`` frames fit into one call; those that waited may be due beside a whole batch.
        """
        due = [sight for sight, looked_at in plan if looked_at]
        found: list[tuple[Face, ...]] = []
        for close, sights in groupby(due, lambda sight: sight.close):
            frames = [sight.frame for sight in sights]
            for first in range(0, len(frames), at_once):
                found += self._look_at(frames[first : first + at_once], close)
        yield from self._carrier.given(plan, found)

    def _say_what_every_does(self) -> None:
        """Warn of an ``every`` that is not reached, as too few frames may wait."""
        every, apart = self.options.every, self.options.apart
        most = max(self._ahead, self.max_batch - 1)
        if apart <= most + 1:
            return
        text = f"only {most} frames may wait for the next look; ahead={apart - 1} allows more"
        if self.context.workers > 1:
            text = "frames wait for the next look only with one worker, or in one batch"
        self.context.warn(f"every={every}: {text}")

    def _glance(self) -> int:
        """The longer side of a glance; 0 where there are none.

        Another worker may have seen the faces that it would miss; and where memory is short, a
        tracker does not see far enough ahead to make good what is found late.
        """
        options = self.options
        roomy = self._ahead > 0 and self.may_hold == self.holds
        smaller = self._eyes.side_counts and options.glance < options.side
        return options.glance if roomy and smaller else 0

    def _look_at(self, frames: Sequence[Frame], close: bool) -> list[tuple[Face, ...]]:
        """The faces of each frame, found in one call."""
        from mpflow.models.upright import inner_sides, to_faces

        eyes, turns = self._eyes, self._turns
        sides = frames[0].width, frames[0].height
        side = None if close else self._carrier.glance
        size = eyes.size(*(sides if turns % 2 == 0 else sides[::-1]), side)
        tensor, scales = self._blobs.fill(frames, size, turns)
        found = eyes.detect(tensor, inner_sides(frames, scales, turns))
        return [
            to_faces(detections, scale, (frame.width, frame.height), turns, eyes.sure)
            for frame, scale, detections in zip(frames, scales, found, strict=True)
        ]

    def _load(self) -> None:
        """Open a session; counted, since it is to be kept from file to file."""
        import cv2

        from mpflow.models.opened import OpenedDetector
        from mpflow.models.store import ModelStore

        options, context = self.options, self.context
        threads = options.threads or context.threads
        cv2.setNumThreads(threads)
        store = ModelStore(offline=context.offline)
        with context.building():
            self._eyes = OpenedDetector(
                options, store, threads=threads, warn=context.warn, told=context.log.info
            )
        self._loads += 1
        context.count("sessions", 1)
        context.report("session", asdict(self._eyes.facts))
        context.report("sessions", self._loads)
