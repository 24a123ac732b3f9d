"""A face detector as a stage's options ask for it: which file, what runs it, how it looks.

options -> of the store, or described -> session -> detector -> sizes and scores for the stage
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from mpflow.errors import ConfigError
from mpflow.models.detections import Detections, Floats
from mpflow.models.detectors import detector, detector_file
from mpflow.models.engines import Engines
from mpflow.models.sessions import open_session
from mpflow.models.sizes import AUTO_SIDE, GRID, auto_size, parse_size
from mpflow.models.store import ModelStore


class Choice(Protocol):
    """What the options of a stage that looks for faces say; see mpflow.stages.detect."""

    @property
    def size(self) -> str:
        """WIDTHxHEIGHT, or auto."""

    @property
    def side(self) -> int:
        """The longer side of an auto size."""

    @property
    def score(self) -> float | None:
        """The least score of a face; None takes the model's own."""

    @property
    def weak(self) -> float:
        """The least score of a weak find; 0 leaves them out."""

    @property
    def iou(self) -> float | None:
        """The overlap that makes two finds one; None takes the model's own."""

    @property
    def max_batch(self) -> int:
        """The most pictures in one call."""

    @property
    def model(self) -> str:
        """A name of the manifest, or the path of a description."""

    @property
    def path(self) -> str:
        """A file to use instead of the one that ``model`` means."""

    @property
    def device(self) -> str:
        """See mpflow.models.sessions."""

    @property
    def providers(self) -> tuple[str, ...]:
        """See mpflow.models.sessions."""


class OpenedDetector:
    """A detector with its session; ``facts`` say how it runs, ``sure`` is the least score of a face
    that is not weak.

    Raises ConfigError for options that do not fit the model, and for a wrong description;
    ModelError for a file that cannot be had or does not fit.
    """

    def __init__(
        self,
        choice: Choice,
        store: ModelStore,
        *,
        threads: int,
        warn: Callable[[str], None],
        told: Callable[[str], None],
    ) -> None:
        self._folder = store.cache_dir / "engines"
        engines = self._engines(choice)
        self._most = engines.most
        if choice.path:
            file = Path(choice.path)
        else:
            file = detector_file(choice.model, lambda name: store.path(name, told))
        self._session, self.facts = open_session(
            file,
            device=choice.device,
            providers=choice.providers,
            threads=threads,
            warn=warn,
            engines=engines,
        )
        self._detector = detector(
            choice.model, self._session, iou=choice.iou, file=file, most=choice.max_batch
        )
        self._own_score = self._detector.score
        self.follow(choice)

    def follow(self, choice: Choice) -> None:
        """Look by other sizes and scores from here on; what does not fit changes nothing."""
        self._check_size(choice)
        self._choice = choice
        self.sure = self._own_score if choice.score is None else choice.score
        self._detector.score = min(choice.weak or 1.0, self.sure)

    def outgrown(self, choice: Choice) -> bool:
        """Whether pictures are larger now than an engine was built for."""
        builds = "TensorrtExecutionProvider" in self._session.get_providers()
        return builds and self._engines(choice).most > self._most

    @property
    def side_counts(self) -> bool:
        """Whether the blob's size follows from the longer side that is asked for."""
        return self._detector.size is None and self._choice.size == "auto"

    def size(self, width: int, height: int, side: int | None = None) -> tuple[int, int]:
        """Width and height of the blob for an upright picture of these sides; ``side`` is another
        longer side of it than the options say."""
        if self._detector.size is not None:
            return self._detector.size
        if self._choice.size != "auto":
            return parse_size(self._choice.size)
        longer = self._choice.side if side is None else side
        return auto_size(width, height, self._detector.multiple, longer)

    def detect(self, blobs: Floats, inner: Sequence[tuple[int, int]]) -> list[Detections]:
        """See mpflow.models.detections.Detector."""
        return self._detector.detect(blobs, inner)

    def _check_size(self, choice: Choice) -> None:
        if choice.size == "auto":
            return
        sides, only = parse_size(choice.size), self._detector.size
        multiple = self._detector.multiple
        if only is not None and sides != only:
            raise ConfigError(
                f"the detector {choice.model} takes pictures of {only[0]}x{only[1]} only, "
                f"not of {choice.size}",
                cure="leave size=auto",
            )
        if only is None and any(side % multiple for side in sides):
            raise ConfigError(
                f"the detector {choice.model} takes sides that are multiples of {multiple}, "
                f"unlike {choice.size}",
                cure="choose other sides, or size=auto",
            )

    def _engines(self, choice: Choice) -> Engines:
        """Where a runtime that builds engines keeps them: one for all sizes up to the chosen."""
        wide = auto_size(16_000, 9_000, GRID, max(choice.side, AUTO_SIDE))
        width, height = wide if choice.size == "auto" else parse_size(choice.size)
        if max(width, height) < AUTO_SIDE:
            width, height = wide
        return Engines.for_pictures(self._folder, choice.max_batch, width, height, GRID)
