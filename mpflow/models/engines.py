"""Engines that a runtime builds for a GPU: built once for all sizes, and kept on the disk.

TensorRT builds an engine for each range of input shapes, which takes minutes. Without a range it
does so for every shape that comes, in the middle of a run; with one, when the session is opened.
Engines and the timings that a build measures are kept beside the models, so that the next run, and
the next worker, load what the first has built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpflow.models.lock import locked

Shape = tuple[int, ...]
_NONE: Mapping[str, Sequence[object]] = {}

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

    def options_for(self, inputs: Sequence[Any]) -> dict[str, str]:
        """The same as ``options``, for inputs as onnxruntime tells them: the first that takes
        pictures, and what else belongs to each of these."""
        pictures = next((each for each in inputs if len(each.shape) == len(self.most)), inputs[0])
        others = {each.name: each.shape for each in inputs if each is not pictures and each.shape}
        return self.options(pictures.name, pictures.shape, others)

    def options(
        self,
        name: str,
        shape: Sequence[object] = (),
        others: Mapping[str, Sequence[object]] = _NONE,
    ) -> dict[str, str]:
        """Options of onnxruntime's TensorRT provider, for the input called ``name``, and for
        ``others`` with their shapes.

        Sides that are numbers in its ``shape`` are fixed in the file; where all are, there is no
        range to give.
        """
        sides = {"min": self.least, "opt": self.usual, "max": self.most}
        shapes = {
            kind: {
                name: _as_fixed(most, shape),
                **{other: _as_many(most[0], each) for other, each in others.items()},
            }
            for kind, most in sides.items()
        }
        if shapes["min"] == shapes["max"]:
            shapes = {}
        return {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(self.folder),
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": str(self.folder),
            **{
                f"trt_profile_{kind}_shapes": ",".join(
                    f"{each}:{'x'.join(map(str, wanted))}" for each, wanted in named.items()
                )
                for kind, named in shapes.items()
            },
        }

    @contextmanager
    def building(self) -> Iterator[None]:
        """Let one process build at a time: whoever waited finds the engine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock", limit=BUILD_LIMIT_S, waiting=lambda: None):
            yield


def _as_many(batch: int, shape: Sequence[object]) -> Shape:
    """A shape of what belongs to each picture: so many of it; no other side of it is free."""
    first, *rest = (side if isinstance(side, int) else None for side in shape)
    return (first or batch, *(side or 1 for side in rest))


def _as_fixed(sides: Shape, shape: Sequence[object]) -> Shape:
    """The sides with those of ``shape`` in their place that are numbers."""
    if len(shape) != len(sides):
        return sides
    pairs = zip(sides, shape, strict=True)
    return tuple(fixed if isinstance(fixed, int) else side for side, fixed in pairs)
