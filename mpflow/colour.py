"""From YUV to RGB and back: which matrix and range a stream means, as plain numbers.

Sources: ITU-T H.273 (matrix codes, Kr and Kb), ITU-R BT.601, BT.709 and BT.2020 (ranges).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mpflow.spec import VideoInfo

Matrix = npt.NDArray[np.float64]

# H.273 matrix code -> (name, Kr, Kb)
_MATRICES: dict[int, tuple[str, float, float]] = {
    1: ("bt709", 0.2126, 0.0722),
    4: ("fcc", 0.30, 0.11),
    5: ("bt601", 0.299, 0.114),
    6: ("bt601", 0.299, 0.114),
    7: ("smpte240m", 0.212, 0.087),
    9: ("bt2020", 0.2627, 0.0593),
    10: ("bt2020", 0.2627, 0.0593),
}
_LUMA = {name: (kr, kb) for name, kr, kb in _MATRICES.values()}
_FULL_RANGE = 2
_HD_WIDTH, _HD_HEIGHT = 1280, 720


@dataclass(frozen=True)
class Colour:
    """What a sample means: the matrix's name, whether the range is full, and bits per sample."""

    matrix: str = "bt709"
    full_range: bool = False
    depth: int = 8

    def __post_init__(self) -> None:
        if self.matrix not in _LUMA:
            raise ValueError(f"unknown colour matrix {self.matrix!r}: one of {sorted(_LUMA)}")

    @classmethod
    def from_tags(cls, video: VideoInfo) -> Colour:
        """Read a stream's tags; untagged is 709 for HD sizes and 601 below, limited range."""
        code = video.matrix
        if code not in _MATRICES:
            code = 1 if video.height >= _HD_HEIGHT or video.width >= _HD_WIDTH else 6
        full = video.range == _FULL_RANGE or "yuvj" in (video.pixel_format + video.source_format)
        depth = 10 if "10" in video.pixel_format.removeprefix("nv") else 8
        return cls(_MATRICES[code][0], full, depth)

    @cached_property
    def bgr_from_yuv(self) -> Matrix:
        """3x4: columns Y, U, V (as stored) and 1; rows B, G, R in 0..255, not clipped."""
        kr, kb = _LUMA[self.matrix]
        kg = 1 - kr - kb
        rows = np.array(
            [
                [1, 2 * (1 - kb), 0],
                [1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg],
                [1, 0, 2 * (1 - kr)],
            ]
        )
        scaled = rows * (255 / np.array([self._luma_span, self._chroma_span, self._chroma_span]))
        return np.column_stack([scaled, -scaled @ self._zero])

    @cached_property
    def yuv_from_bgr(self) -> Matrix:
        """3x4: columns B, G, R in 0..255 and 1; rows Y, U, V as stored, not rounded."""
        inverse = np.linalg.inv(self.bgr_from_yuv[:, :3])
        return np.column_stack([inverse, self._zero])

    def yuv(self, bgr: tuple[int, int, int]) -> tuple[int, int, int]:
        """One colour as stored samples, rounded and kept inside the depth."""
        exact = self.yuv_from_bgr @ np.array([*bgr, 1.0])
        y, u, v = np.clip(np.rint(exact), 0, self.peak).astype(int).tolist()
        return y, u, v

    @property
    def peak(self) -> int:
        """The largest value a sample can hold."""
        return (1 << self.depth) - 1

    @property
    def _zero(self) -> npt.NDArray[np.float64]:
        """Stored values that mean black without colour."""
        black = 0.0 if self.full_range else 16.0 * self._step
        return np.array([black, 128.0 * self._step, 128.0 * self._step])

    @property
    def _luma_span(self) -> float:
        return float(self.peak) if self.full_range else 219.0 * self._step

    @property
    def _chroma_span(self) -> float:
        return float(self.peak) if self.full_range else 224.0 * self._step

    @property
    def _step(self) -> int:
        """One 8-bit code in codes of this depth."""
        return 1 << (self.depth - 8)
