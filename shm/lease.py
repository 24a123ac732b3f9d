"""A lease: the right to one slot, ended exactly once, together with every view made from it.

Numpy arrays cannot be revoked, but they can be counted: all arrays of a lease are made from one
ctypes array over the slot, each array (and each dlpack export of one) keeps that object alive,
and so a weak reference to it says exactly whether any pixel view survives.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from mpflow.shm.errors import LeaseEnded, ViewOutside
from mpflow.shm.word import (
    ALONE,
    BANK_SHIFT,
    EPOCH_SHIFT,
    MAX_EPOCH,
    MAX_RETRIES,
    RETRIES_SHIFT,
    SEQ_SHIFT,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from mpflow.shm.segment import Segment


class Lease:
    """One slot, held by one worker. Made by the ring; ended by publish, give, free or retire.

    ``word`` is the slot's word as this holder left it, ``cell`` where it stands on the board,
    ``exporter`` what all views are made from, once there is one.
    """

    __slots__ = ("cell", "closed", "exporter", "segment", "slot", "stage", "word")

    def __init__(self, segment: Segment, stage: int, slot: int, cell: int, word: int) -> None:
        self.segment = segment
        self.exporter: ctypes.Array[ctypes.c_ubyte] | None = None
        self.stage = stage
        self.slot = slot
        self.cell = cell
        self.word = word
        self.closed = False

    @property
    def seq(self) -> int:
        """The frame's number, counted from 0 in decoding order."""
        return self.word >> SEQ_SHIFT

    @property
    def epoch(self) -> int:
        """The epoch the frame was decoded in."""
        return self.word >> EPOCH_SHIFT & MAX_EPOCH

    @property
    def born(self) -> int:
        """When the frame was born, as its source said in nanoseconds of the monotonic clock.

        Its age counts from there; a source knows it only once it has published the frame.
        """
        if self.closed:
            self._refuse()
        return self.segment.births[self.slot]

    @property
    def retries(self) -> int:
        """How many workers of this stage died while they worked on the frame."""
        return self.word >> RETRIES_SHIFT & MAX_RETRIES

    @property
    def alone(self) -> bool:
        """Whether the frame is a suspect: it must be worked on by itself."""
        return bool(self.word & ALONE)

    @property
    def quarantined(self) -> bool:
        """Whether a worker died on this frame when it was worked on alone."""
        return self.alone and self.retries > 1

    @property
    def token(self) -> bytes:
        """A copy of the frame's token; empty for a slot that was just allocated."""
        if self.closed:
            self._refuse()
        segment = self.segment
        bank = self.word >> BANK_SHIFT & 1
        # the token was written before its writer's unlock and is read after this holder's lock
        # (SYNC with Ring.give and Ring.publish); nobody writes this bank while the slot is held
        place = 2 * self.slot + bank
        at = segment.geometry.tokens_at + place * segment.geometry.token_bytes
        return segment.bytes[at : at + segment.lengths[place]].tobytes()

    def view(
        self,
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        dtype: npt.DTypeLike = "u1",
        *,
        writable: bool = False,
    ) -> npt.NDArray[Any]:
        """Make an array over part of the slot, without a copy.

        ``offset`` and ``strides`` are bytes from the slot's begin; the side area follows the
        picture. Raises ViewOutside if any element lies outside, LeaseEnded after the end.
        """
        import numpy as np  # here: who only watches the ring does without its weight

        if self.closed:
            self._refuse()
        if self.exporter is None:
            at = self.segment.geometry.slot_at(self.slot)
            self.exporter = self.segment.slot_type.from_buffer(self.segment.memory, at)
        try:
            if offset < 0:  # numpy does not look
                raise ValueError("it begins before the slot")  # noqa: TRY301
            array: npt.NDArray[Any] = np.ndarray(
                tuple(shape), dtype, memoryview(self.exporter), offset, strides
            )
        except (ValueError, TypeError) as error:
            raise ViewOutside(
                f"no view of shape {tuple(shape)} at byte {offset} fits slot {self.slot}: {error}",
                slot=self.slot,
                offset=offset,
            ) from error
        if not writable:
            array.flags.writeable = False
        return array

    def end(self) -> weakref.ref[Any] | None:
        """End the lease; return a weak reference to what its living views share, or None.

        Called by the ring, once. None means that no view survives.
        """
        self.closed = True
        exporter = self.exporter
        if exporter is None:
            return None
        self.exporter = None
        watch = weakref.ref(exporter)
        del exporter
        return watch if watch() is not None else None

    def let_go(self) -> bool:
        """Forget the exporter if no view made from it is alive; whether that is so."""
        exporter, self.exporter = self.exporter, None
        if exporter is None:
            return True
        watch = weakref.ref(exporter)
        del exporter
        self.exporter = watch()
        return self.exporter is None

    def _refuse(self) -> NoReturn:
        raise LeaseEnded(
            f"the lease on frame {self.seq} of stage {self.stage} has ended",
            stage=self.stage,
            seq=self.seq,
        )
