"""The loop of the last stage: take the next frame in order, write it, let go of it.

    take -> write -> retire        until all frames are there, or the order comes to close

The same loop serves a caller who takes the frames itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from mpflow import wire
from mpflow.desk import Desk
from mpflow.errors import ContractError
from mpflow.frame import Frame
from mpflow.shm import Lease
from mpflow.spec import SinkSummary
from mpflow.stage import Sink
from mpflow.tokens import Token


class SinkRunner:
    """Takes every frame in order, for a sink or for a caller who takes them itself."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.written = 0
        """Frames taken so far; as they come in order, also the next sequence."""
        self._faces = 0
        self._frames_with_faces = 0

    def run(self, sink: Sink[Any]) -> SinkSummary:
        """Write until all frames are there (or the order comes to close), then finish."""
        desk = self._desk
        for token, frame in self.frames():
            sink.write(token, frame)
        complete = bool(desk.orders.conclude) and not desk.orders.close_now
        start = time.monotonic_ns()
        summary = sink.finish(complete=complete)
        desk.ring.reap()
        desk.meter.worked(time.monotonic_ns() - start)
        return self.counted(summary)

    def frames(self) -> Iterator[tuple[Token, Frame]]:
        """Every frame in order, until there are no more or it is time to close.

        A frame ends when the next one is asked for; its slot is free again once nobody uses
        the pixels exported from it.
        """
        desk = self._desk
        for lease in self._leases():
            started = time.monotonic_ns()
            frame = desk.frame(lease)
            token = wire.unpack(lease.token)
            self._faces += len(token.faces)
            self._frames_with_faces += bool(token.faces)
            try:
                yield token, frame
            finally:
                frame.end()
            desk.ring.retire(lease)
            self.written = lease.seq + 1
            desk.meter.worked(time.monotonic_ns() - started, frames=1)

    def counted(self, summary: SinkSummary) -> SinkSummary:
        """The sink's summary with the faces that came by."""
        return msgspec.structs.replace(
            summary, faces=self._faces, frames_with_faces=self._frames_with_faces
        )

    def _leases(self) -> Iterator[Lease]:
        desk = self._desk
        while not (desk.orders.close_now or desk.orders.over):
            desk.ring.reap()
            lease = desk.ring.take()
            if lease is not None:
                yield lease
                desk.orders.read()
            elif desk.orders.conclude is not None and desk.ring.end == self.written:
                return
            elif desk.ring.retired >= desk.slots:
                raise ContractError(
                    f"{desk.name} keeps pixels of {desk.ring.retired} frames,"
                    " which is every slot of the ring",
                    cure="copy what is kept longer than its frame: plane.copy()",
                )
            else:
                desk.meter.waited_for_input(desk.wait())
