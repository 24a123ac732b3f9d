"""YuNet and CenterFace files of one's own: the makes of the store's detectors, by description.

Their outputs cannot be told by shape alone; the names that the published files have are expected
unless ``outputs`` says others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mpflow.models import centerface, yunet
from mpflow.models.description import Share
from mpflow.models.detections import Found
from mpflow.models.makes import Layout, Make, Outputs


class YuNetFile(Make, frozen=True, kw_only=True, tag="yunet"):
    """See mpflow.models.yunet."""

    convention: ClassVar[Mapping[str, Any]] = {"colour": "bgr"}
    usual_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        kind: tuple(f"{kind}_{stride}" for stride in yunet.STRIDES) for kind in yunet.KINDS
    }

    score: Share = 0.6
    iou: Share = 0.3

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """Four kinds, each by stride."""
        cells = [rows * columns for _, rows, columns in self.grids(width, height)]
        wide = dict(zip(yunet.KINDS, (1, 1, 4, 10), strict=True))
        return [{kind: [(count, wide[kind]) for count in cells] for kind in yunet.KINDS}]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part for each stride."""
        return [
            yunet.level([outputs[kind][number] for kind in yunet.KINDS], stride, width, score)
            for number, stride in enumerate(self.strides)
        ]


class CenterFaceFile(Make, frozen=True, kw_only=True, tag="centerface"):
    """See mpflow.models.centerface."""

    convention: ClassVar[Mapping[str, Any]] = {"colour": "rgb"}
    kinds: ClassVar[tuple[str, ...]] = ("heat", "size", "offset", "points")
    usual_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        kind: (name,) for kind, name in zip(kinds, centerface.OUTPUTS, strict=True)
    }

    strides: tuple[int, ...] = (centerface.STRIDE,)
    score: Share = 0.35
    iou: Share = 0.3

    def __post_init__(self) -> None:
        if self.strides != (centerface.STRIDE,):
            raise ValueError(f"strides of a centerface file are [{centerface.STRIDE}]")

    def layouts(self, width: int, height: int) -> Sequence[Layout]:
        """Four kinds on one grid."""
        ((_, rows, columns),) = self.grids(width, height)
        wide = zip(self.kinds, (1, 2, 2, 10), strict=True)
        return [{kind: [(channels, rows, columns)] for kind, channels in wide}]

    def candidates(self, outputs: Outputs, width: int, height: int, score: float) -> list[Found]:
        """One part."""
        return [centerface.candidates([outputs[kind][0] for kind in self.kinds], score=score)]
