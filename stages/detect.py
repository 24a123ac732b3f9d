"""Find the faces of every frame and write them into its token.

planes -> Frame.detector_blob, turned upright -> one tensor for the batch -> network
       -> boxes and points, turned and scaled back -> token.faces
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
    from mpflow.models.detections import Detections

    Floats = npt.NDArray[np.float32]

Share = Annotated[float, msgspec.Meta(gt=0, lt=1)]

# The network's coarsest grid has a cell of 32 pixels, and small faces are found down to about
# 10 pixels of the scaled picture: 640 along the longer side finds one of 30 in a 1080p frame.
_GRID = 32
_AUTO_SIDE = 640
_MOST_ENLARGED = 2


class DetectOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How faces are looked for.

    ``size``: the scaled picture, WIDTHxHEIGHT in multiples of 32, or auto. ``score``: the least
    score of a face; 0.6, since a face missed costs more than a thing covered (over 0.7 it adds 2
    finds to 54 in a street scene). ``iou``: overlap that makes two finds one. ``max_batch`` and
    ``max_wait_ms``: frames in one call, and how long a call waits for them. ``model``: a detector
    of the manifest; ``path``: a file to use instead of the one it names. ``threads``: 0 takes
    what the worker may use.
    """

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
        import cv2
        import numpy as np

        from mpflow.models.detectors import detector
        from mpflow.models.sessions import open_session

        options, context = self.options, self.context
        threads = options.threads or context.threads
        cv2.setNumThreads(threads)
        session, facts = open_session(
            self._model_path(),
            device=options.device,
            providers=options.providers,
            threads=threads,
            warn=context.warn,
        )
        self._detector = detector(options.model, session, score=options.score, iou=options.iou)
        context.report("model", options.path or options.model)
        context.report("session", asdict(facts))
        self._turns = 0
        self._tensor = np.empty((0, 3, 0, 0), np.float32)

    def begin(self, job: Job) -> None:
        """Note how the pictures of this input are turned."""
        self._turns = round(job.media.video.rotation / 90) % 4

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Look at all frames of the batch in one call of the network."""
        tensor, scales = self._fill([work.frame for work in batch])
        found = self._detector.detect(tensor)
        for work, scale, detections in zip(batch, scales, found, strict=True):
            size = work.frame.width, work.frame.height
            yield work.token.with_faces(to_faces(detections, scale, size, self._turns))

    def _fill(self, frames: Sequence[Frame]) -> tuple[Floats, list[float]]:
        """Every frame upright in one tensor [n, 3, height, width], and the scale of each."""
        import numpy as np

        width, height = self._blob_size(frames[0])
        if self._tensor.shape[2:] != (height, width) or len(self._tensor) < len(frames):
            self._tensor = np.empty((len(frames), 3, height, width), np.float32)
        tensor = self._tensor[: len(frames)]
        scales = [self._fill_one(*pair) for pair in zip(frames, tensor, strict=True)]
        return tensor, scales

    def _fill_one(self, frame: Frame, out: Floats) -> float:
        import numpy as np

        if not self._turns:
            return frame.detector_blob(out.shape[2], out.shape[1], out)[1]
        height, width = out.shape[1:] if self._turns == 2 else out.shape[:0:-1]
        blob, scale = frame.detector_blob(width, height)
        columns, rows = round(frame.width * scale), round(frame.height * scale)
        upright = np.rot90(blob[:, :rows, :columns], self._turns, axes=(1, 2))
        out[:] = 0
        out[:, : upright.shape[1], : upright.shape[2]] = upright
        return scale

    def _blob_size(self, frame: Frame) -> tuple[int, int]:
        """Width and height of the upright scaled picture."""
        if self.options.size != "auto":
            return parse_size(self.options.size)
        sides = frame.width, frame.height
        return auto_size(*(sides if self._turns % 2 == 0 else sides[::-1]))

    def _model_path(self) -> Path:
        from mpflow.models.store import ModelStore

        if self.options.path:
            return Path(self.options.path)
        store = ModelStore(offline=self.context.offline)
        return store.path(self.options.model, self.context.log.info)


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


def to_faces(
    found: Detections, scale: float, size: tuple[int, int], turns: int = 0
) -> tuple[Face, ...]:
    """Faces in pixels of a frame of ``size`` (width, height) from finds in its scaled picture.

    ``turns`` is how many quarter turns counter-clockwise made the picture upright.
    """
    import numpy as np

    corners = _turn_back(found.boxes.reshape(-1, 2, 2) / np.float32(scale), size, turns)
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).tolist()
    points = _turn_back(found.points / np.float32(scale), size, turns).tolist()
    return tuple(
        Face((box[0], box[1], box[2], box[3]), score, tuple((x, y) for x, y in five))
        for box, score, five in zip(boxes, found.scores.tolist(), points, strict=True)
    )


def _turn_back(points: Any, size: tuple[int, int], turns: int) -> Any:
    """Points [..., 2] of an upright picture, in the frame of ``size`` that it was made from."""
    import numpy as np

    width, height = size
    x, y = points[..., 0], points[..., 1]
    turned = {
        0: (x, y),
        1: (width - 1 - y, x),
        2: (width - 1 - x, height - 1 - y),
        3: (y, height - 1 - x),
    }[turns]
    return np.stack(turned, axis=-1)


def _round_up(side: float) -> int:
    return max(1, -(-round(side) // _GRID)) * _GRID
