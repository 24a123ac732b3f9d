"""Find the faces of every frame and write them into its token.

planes -> Frame.detector_blob, turned upright -> one tensor for the batch -> network
       -> boxes and points, turned and scaled back -> token.faces

with every=k: the frames between two looks get the faces of the last one, in larger boxes
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from mpflow.errors import ConfigError
from mpflow.stage import MAX_WAIT_MS, Job, Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    import numpy as np
    import numpy.typing as npt

    from mpflow.frame import Frame
    from mpflow.models.engines import Engines
    from mpflow.models.store import ModelStore

    Floats = npt.NDArray[np.float32]

Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]

# The network's coarsest grid has a cell of 32 pixels, and small faces are found down to about
# 10 pixels of the scaled picture: 640 along the longer side finds one of 30 in a 1080p frame.
_GRID = 32
_AUTO_SIDE = 640
_MOST_ENLARGED = 2


class DetectOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are looked for.

    ``every``: look at each so-many-th frame only. Those between get the faces of the last look in
    boxes that grow; a face that comes into the picture between two looks is found by the second.
    With several workers more frames are looked at. ``size``: the scaled picture, WIDTHxHEIGHT in
    multiples of 32, or auto. ``score``: the least score of a face; 0.6, since a face missed costs
    more than a thing covered (over 0.7 it adds 2 finds to 54 in a street scene). ``iou``: overlap
    that makes two finds one. ``max_batch`` and ``max_wait_ms``: frames in one call, and how long a
    call waits for them. ``model``: a detector of the manifest; ``path``: a file to use instead of
    the one it names. ``threads``: 0 takes what the worker may use.
    """

    every: Annotated[int, msgspec.Meta(ge=1, le=30)] = 1
    size: str = "auto"
    score: Share = 0.6
    iou: Share = 0.3
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


class Detect(Stage[DetectOptions]):
    """Writes the faces of each frame into its token."""

    Options = DetectOptions
    gives = ("faces",)
    tunable = ("every", "size", "threads", "score")
    advice = "a smaller size, more workers, every=2 or a GPU would help"

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
        import numpy as np

        from mpflow.models.carry import Carrier

        self._loads = 0
        self._load()
        self.context.report("model", self.options.path or self.options.model)
        self._turns = 0
        self._tensor = np.empty((0, 3, 0, 0), np.float32)
        self._carrier = Carrier()

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned."""
        self._turns = round(job.media.video.rotation / 90) % 4
        self._carrier.forget()

    def tune(self, options: DetectOptions) -> None:
        """Go on with other options; the network is loaded anew only for other threads."""
        before, self.options = self.options, options
        own = self.context.threads
        if (options.threads or own) != (before.threads or own) or self._outgrown():
            self._load()
        elif options.score != before.score:
            self._detect_with(self._session)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Look at all frames of the batch that are due in one call of the network."""
        frames = [(work.token, work.frame, work.alone) for work in batch]
        looks = self._carrier.plan(frames, self.options.every)
        due = [work.frame for work, look in zip(batch, looks, strict=True) if look]
        found = iter(self._look_at(due))
        for work, look in zip(batch, looks, strict=True):
            if look is not None:
                yield self._carrier.looked(look, work.token, next(found))
            else:
                yield self._carrier.carried(work.token)

    def _look_at(self, frames: Sequence[Frame]) -> list[tuple[Face, ...]]:
        """The faces of each frame, found in one call."""
        from mpflow.models.upright import to_faces

        if not frames:
            return []
        tensor, scales = self._fill(frames)
        found = self._detector.detect(tensor)
        return [
            to_faces(detections, scale, (frame.width, frame.height), self._turns)
            for frame, scale, detections in zip(frames, scales, found, strict=True)
        ]

    def _fill(self, frames: Sequence[Frame]) -> tuple[Floats, list[float]]:
        """Every frame upright in one tensor [n, 3, height, width], and the scale of each."""
        import numpy as np

        from mpflow.models.upright import fill_upright

        width, height = self._blob_size(frames[0])
        if self._tensor.shape[2:] != (height, width) or len(self._tensor) < len(frames):
            self._tensor = np.empty((len(frames), 3, height, width), np.float32)
        tensor = self._tensor[: len(frames)]
        pairs = zip(frames, tensor, strict=True)
        return tensor, [fill_upright(frame, out, self._turns) for frame, out in pairs]

    def _blob_size(self, frame: Frame) -> tuple[int, int]:
        """Width and height of the upright scaled picture."""
        if self.options.size != "auto":
            return parse_size(self.options.size)
        sides = frame.width, frame.height
        return auto_size(*(sides if self._turns % 2 == 0 else sides[::-1]))

    def _load(self) -> None:
        """Open a session; counted, since it is to be kept from file to file."""
        import cv2

        from mpflow.models.sessions import open_session

        options, context = self.options, self.context
        threads = options.threads or context.threads
        cv2.setNumThreads(threads)
        engines = self._engines()
        self._most = engines.most
        with context.building():
            self._session, facts = open_session(
                self._model_path(),
                device=options.device,
                providers=options.providers,
                threads=threads,
                warn=context.warn,
                engines=engines,
            )
        self._detect_with(self._session)
        self._loads += 1
        context.count("sessions", 1)
        context.report("session", asdict(facts))
        context.report("sessions", self._loads)

    def _outgrown(self) -> bool:
        """Whether pictures are larger now than an engine was built for."""
        builds = "TensorrtExecutionProvider" in self._session.get_providers()
        return builds and self._engines().most > self._most

    def _detect_with(self, session: Any) -> None:
        from mpflow.models.detectors import detector

        options = self.options
        self._detector = detector(options.model, session, score=options.score, iou=options.iou)

    def _model_path(self) -> Path:
        if self.options.path:
            return Path(self.options.path)
        return self._store().path(self.options.model, self.context.log.info)

    def _engines(self) -> Engines:
        """Where a runtime that builds engines keeps them: one for all sizes up to the chosen."""
        from mpflow.models.engines import Engines

        size = self.options.size
        width, height = (_AUTO_SIDE, 384) if size == "auto" else parse_size(size)
        if max(width, height) < _AUTO_SIDE:
            width, height = _AUTO_SIDE, 384
        folder = self._store().cache_dir / "engines"
        return Engines.for_pictures(folder, self.max_batch, width, height, _GRID)

    def _store(self) -> ModelStore:
        from mpflow.models.store import ModelStore

        return ModelStore(offline=self.context.offline)


def parse_size(text: str) -> tuple[int, int]:
    """Read WIDTHxHEIGHT; raises ConfigError unless both are multiples of 32."""
    match = re.fullmatch(r"(\d{2,4})x(\d{2,4})", text)
    sides = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(sides) or any(side % _GRID for side in sides):
        raise ConfigError(
            f"the detector size {text!r} does not fit",
            cure=f"WIDTHxHEIGHT in multiples of {_GRID} such as 640x384, or auto",
        )
    return sides


def auto_size(width: int, height: int) -> tuple[int, int]:
    """A size of a picture's own shape: 640 along its longer side, a small one at most doubled."""
    scale = min(_AUTO_SIDE / max(width, height), _MOST_ENLARGED)
    return _round_up(width * scale), _round_up(height * scale)


def _round_up(side: float) -> int:
    return max(1, -(-round(side) // _GRID)) * _GRID
