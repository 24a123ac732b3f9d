"""A frame outside the ring, in plain memory: to try a stage or a model without a pipeline.

slot = MemorySlot.of("yuv420p", 1920, 1080)
slot.frame().fill_planes()[0][:] = 16
stage.process([Work(token, slot.frame(journaled=True))])
slot.restored()     # the bytes as they were, put back from the journal
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mpflow.colour import Colour
from mpflow.frame import Frame
from mpflow.picture import PictureLayout
from mpflow.shm import Span


class MemorySlot:
    """Bytes of one picture, with the lease and the journal that a Frame needs.

    ``side_bytes`` follow the picture, for arrays that stages keep beside it.
    """

    def __init__(
        self, layout: PictureLayout, colour: Colour | None = None, side_bytes: int = 0
    ) -> None:
        self.layout = layout
        self.colour = colour or Colour(depth=layout.format.depth)
        self.bytes = np.zeros(layout.nbytes + side_bytes, np.uint8)
        self.journal: list[tuple[Span, npt.NDArray[np.uint8]]] = []

    @classmethod
    def of(
        cls,
        format_name: str,
        width: int,
        height: int,
        colour: Colour | None = None,
        side_bytes: int = 0,
    ) -> MemorySlot:
        """A black-and-green slot of zeros for one picture."""
        return cls(PictureLayout.of(format_name, width, height), colour, side_bytes)

    def frame(self, *, journaled: bool = False) -> Frame:
        """A new frame over the bytes; only a journaled one can be edited."""
        beside = self.layout.nbytes, len(self.bytes) - self.layout.nbytes
        journal = self._save if journaled else None
        return Frame(self.layout, self, self.colour, journal, beside)

    def view(
        self,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: npt.DTypeLike,
        /,
        *,
        writable: bool,
    ) -> npt.NDArray[Any]:
        """A view as a ring's lease gives it."""
        array: npt.NDArray[Any] = np.ndarray(shape, dtype, self.bytes, offset, strides)
        array.flags.writeable = writable
        return array

    def restored(self) -> npt.NDArray[np.uint8]:
        """The bytes with everything that was journaled put back, newest first."""
        copy = self.bytes.copy()
        for span, old in reversed(self.journal):
            _rows(copy, span)[:] = old
        return copy

    def _save(self, spans: Sequence[Span]) -> None:
        self.journal += [(span, _rows(self.bytes, span).copy()) for span in spans]


def _rows(data: npt.NDArray[np.uint8], span: Span) -> npt.NDArray[np.uint8]:
    shape, strides = (span.rows, span.row_bytes), (span.stride, 1)
    return np.ndarray(shape, np.uint8, data, span.offset, strides)
