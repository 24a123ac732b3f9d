"""Engines that a runtime builds for a GPU: built once for all sizes, and kept on the disk.

TensorRT builds an engine for each range of input shapes, which takes minutes. Without a range it
does so for every shape that comes, in the middle of a run; with one, when the session is opened.
Engines and the timings that a build measures are kept beside the models, so that the next run, and
the next worker, load what the first has built.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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

    def options(self, name: str) -> dict[str, str]:
        """Options of onnxruntime's TensorRT provider, for the input called ``name``."""
        shapes = {"min": self.least, "opt": self.usual, "max": self.most}
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
