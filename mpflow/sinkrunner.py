"""The loop of the last stage: take the next frame in order, write it, let go of it.

    take -> write -> note -> retire        until all frames are there, or the order comes to close

The same loop serves a caller who takes the frames itself. What became of each frame goes into the
book, on the disk before the frames themselves are durable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mpflow import wire
from mpflow.desk import Desk
from mpflow.errors import ContractError
from mpflow.frame import Frame
from mpflow.ledger import LEDGER, Book
from mpflow.orders import Task
from mpflow.recall import Spill
from mpflow.shm import Lease
from mpflow.spec import BEGINNING, Place, SinkSummary, name_in_parts
from mpflow.stage import Sink
from mpflow.tokens import FrameState, Stamp, Token

_PROGRESS_EVERY = 256
"""After so many frames a last stage that cannot be replaced has got on, whoever dies behind it."""


class SinkRunner:
    """Takes every frame in order, for a sink or for a caller who takes them itself."""

    def __init__(
        self, desk: Desk, book: Book, place: Place = BEGINNING, spill: Spill | None = None
    ) -> None:
        self._desk = desk
        self._book = book
        self._spill = spill
        self._kept = place
        self._restartable = False
        self._current: tuple[Token, int, int] | None = None
        self.written = place.frame
        """Frames taken so far; as they come in order, also the next sequence."""

    def run(self, sink: Sink[Any]) -> SinkSummary:
        """Write until all frames are there (or the order comes to close), then finish."""
        desk = self._desk
        sink.before_keeping = self._keep
        self._restartable = sink.restartable
        for token, frame in self.frames():
            sink.write(token, frame)
            if sink.kept != self._kept:
                self._say_kept(sink.kept)
        complete = bool(desk.orders.conclude) and not desk.orders.close_now
        start = time.monotonic_ns()
        summary = sink.finish(complete=complete)
        desk.ring.reap()
        desk.meter.worked(time.monotonic_ns() - start)
        if sink.kept != self._kept:
            self._say_kept(sink.kept)
        return self.close(summary)

    def frames(self) -> Iterator[tuple[Token, Frame]]:
        """Every frame in order, until there are no more or it is time to close.

        A frame ends when the next one is asked for; its slot is free again once nobody uses
        the pixels exported from it. A frame that was dropped does not come.
        """
        desk = self._desk
        for lease in self._leases():
            taken = time.monotonic_ns()
            token = wire.unpack(lease.token)
            if token.state is FrameState.DROPPED:
                self._book.note(token, None)
            else:
                frame = desk.frame(lease)
                self._current = token, taken, time.monotonic_ns()
                try:
                    yield token, frame
                finally:
                    frame.end()
                self._note_current()
            desk.ring.retire(lease)
            self.written = lease.seq + 1
            if not self._restartable and self.written % _PROGRESS_EVERY == 0:
                self._say_kept(Place(self.written))
            desk.meter.worked(time.monotonic_ns() - taken, frames=1)

    def close(self, summary: SinkSummary) -> SinkSummary:
        """Close the book; the sink's summary with what it says."""
        return self._book.close(summary)

    def _keep(self, stop: int) -> None:
        """Frames below ``stop`` are about to be durable: what is known of them goes first."""
        if self._current is not None and self._current[0].seq < stop:
            self._note_current()
        self._book.keep(stop)
        if self._spill is not None:
            self._spill.keep()

    def _note_current(self) -> None:
        if self._current is None:
            return
        token, taken, started = self._current
        self._current = None
        stamp = Stamp(self._desk.name, self._desk.worker, taken, started, time.monotonic_ns())
        self._book.note(token, stamp)

    def _say_kept(self, place: Place) -> None:
        self._kept = place
        self._desk.tell("kept", place=msgspec.to_builtins(place))

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


def open_book(task: Task, desk: Desk, parts: Path | None = None, start: Place = BEGINNING) -> Book:
    """Where the frames' outcomes are kept, beside the parts of a sink that can go on."""
    return Book(
        parts,
        tokens=Path(task.job.tokens) if task.job.tokens else None,
        trace=Path(task.job.trace) if task.job.trace else None,
        start=start,
        begun=task.started,
        name=name_in_parts(task.job, LEDGER),
        no_face_for=task.rules.no_face_for,
        alert=lambda what, text, frame: desk.tell("alert", what=what, text=text, frame=frame),
    )
