"""Engines that a runtime builds for a GPU: built once for all sizes, and kept on the disk.

TensorRT builds an engine for each range of input shapes, which takes minutes. Without a range it
does so for every shape that comes, in the middle of a run; with one, when the session is opened.
Engines and the timings that a build measures are kept beside the models, so that the next run, and
the next worker, load what the first has built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpflow.models.lock import locked

Shape = tuple[int, ...]

BUILD_LIMIT_S = 3600.0
"""How long one process waits for another's build."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Where they are kept, and the shapes of a model's input: the least, usual and most of each
    side. One engine serves all shapes between."""

    folder: Path
    least: Shape
    usual: Shape
    most: Shape

    @classmethod
    def for_pictures(cls, folder: Path, batch: int, width: int, height: int, least: int) -> Engines:
        """For up to ``batch`` pictures [3, height, width], upright ones too, and smaller ones."""
        short, long = sorted((width, height))
        return cls(
            folder,
            least=(1, 3, least, least),
            usual=(batch, 3, short, long),
            most=(batch, 3, long, long),
        )

    def options_for(self, given: Any) -> dict[str, str]:
        """The same as ``options``, for an input as onnxruntime tells it."""
        return self.options(given.name, given.shape)

    def options(self, name: str, shape: Sequence[object] = ()) -> dict[str, str]:
        """Options of onnxruntime's TensorRT provider, for the input called ``name``.

        Sides that are numbers in its ``shape`` are fixed in the file; where all are, there is no
        range to give.
        """
        shapes = {"min": self.least, "opt": self.usual, "max": self.most}
        shapes = {kind: _as_fixed(sides, shape) for kind, sides in shapes.items()}
        if len({*shapes.values()}) == 1:
            shapes = {}
        return {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(self.folder),
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": str(self.folder),
            **{
                f"trt_profile_{kind}_shapes": f"{name}:{'x'.join(map(str, shape))}"
                for kind, shape in shapes.items()
            },
        }

    @contextmanager
    def building(self) -> Iterator[None]:
        """Let one process build at a time: whoever waited finds the engine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock", limit=BUILD_LIMIT_S, waiting=lambda: None):
            yield


def _as_fixed(sides: Shape, shape: Sequence[object]) -> Shape:
    """The sides with those of ``shape`` in their place that are numbers."""
    if len(shape) != len(sides):
        return sides
    pairs = zip(sides, shape, strict=True)
    return tuple(fixed if isinstance(fixed, int) else side for side, fixed in pairs)
