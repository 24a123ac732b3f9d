"""The loop of the last stage: take the next frame in order, write it, let go of it.

    take -> write -> note -> retire        until all frames are there, or the order comes to close

The same loop serves a caller who takes the frames itself. What became of each frame goes into the
book, on the disk before the frames themselves are durable. In live runs frames are missing; shared
memory knows who dropped each, and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mpflow import wire
from mpflow.desk import Desk
from mpflow.errors import ContractError, MpflowError
from mpflow.frame import Frame
from mpflow.ledger import LEDGER, Book
from mpflow.orders import Task
from mpflow.recall import CUT_SHORT, Spill
from mpflow.shedding import Losses, Shedder, card_of
from mpflow.shm import RECORDS, Lease, drop_of
from mpflow.spec import BEGINNING, Place, SinkSummary, name_in_parts
from mpflow.stage import Sink
from mpflow.tokens import FrameState, Stamp, Token

_SAY_EVERY = 64
"""After so many frames a live run's last stage says what it has counted, for a successor."""

_PROGRESS_EVERY = 256
"""After so many frames a last stage that cannot be replaced has got on, whoever dies behind it."""


class SinkRunner:
    """Takes every frame in order, for a sink or for a caller who takes them itself."""

    def __init__(
        self,
        desk: Desk,
        book: Book,
        task: Task,
        place: Place = BEGINNING,
        spill: Spill | None = None,
    ) -> None:
        self._desk = desk
        self._book = book
        self._task = task
        self._spill = spill
        self._kept = place
        self._restartable = False
        self._rest: Callable[[], None] = lambda: None
        self._shedder = Shedder(desk, task.rules)
        self._losses = Losses(desk)
        self._current: tuple[Token, int, int] | None = None
        self._undelivered = ""
        self.written = book.next
        """The next sequence: frames before it were taken, or are known to be dropped."""
        self._said = self.written
        if self._live:
            self._take_over(place.frame)

    def run(self, sink: Sink[Any]) -> SinkSummary:
        """Write until all frames are there (or the order comes to close), then finish."""
        desk = self._desk
        sink.before_keeping = self._keep
        sink.recant = self._recant
        self._restartable = sink.restartable
        self._rest = sink.rest
        for token, frame in self.frames():
            self._undelivered = sink.write(token, frame) or ""
            if sink.kept != self._kept and not self._live:
                self._say_kept(sink.kept)
        complete = bool(desk.orders.conclude) and not desk.orders.close_now
        start = time.monotonic_ns()
        summary = sink.finish(complete=complete)
        desk.ring.reap()
        desk.meter.worked(time.monotonic_ns() - start)
        if sink.kept != self._kept and not self._live:
            self._say_kept(sink.kept)
        return self.close(summary)

    def frames(self) -> Iterator[tuple[Token, Frame]]:
        """Every frame in order, until there are no more or it is time to close.

        A frame ends when the next one is asked for; its slot is free again once nobody uses
        the pixels exported from it. A frame that was dropped does not come; none that was cut short
        by a stop does, and none after it.
        """
        desk = self._desk
        for lease in self._leases():
            taken, outside = time.monotonic_ns(), desk.meter.outside_ns
            if self._live:
                self._note_missing(lease.seq)
                self._say_progress()
            if self._shedder.drops(lease):
                continue
            token = wire.unpack(lease.token)
            if CUT_SHORT in token.fields:
                desk.ring.retire(lease)
                self._await_conclusion()
                return
            delivered = True
            if token.state is FrameState.DROPPED:
                self._book.note(token, None)
                desk.meter.count("undelivered")
            else:
                frame = desk.frame(lease)
                self._current = token, taken, time.monotonic_ns()
                try:
                    self._show(token, frame)
                    yield token, frame
                finally:
                    frame.end()
                delivered = not self._undelivered
                self._note_current()
            desk.ring.retire(lease)
            self.written = lease.seq + 1
            self._say_progress()
            outside = desk.meter.outside_ns - outside
            worked = time.monotonic_ns() - taken - outside
            desk.meter.worked(worked, frames=int(delivered))

    def close(self, summary: SinkSummary) -> SinkSummary:
        """Close the book; the sink's summary with what it says."""
        self._losses.tell(now=True)
        return self._book.close(summary)

    @property
    def _live(self) -> bool:
        return self._task.rules.live

    @property
    def _names(self) -> tuple[str, ...]:
        """The stages by number."""
        return self._task.source, *self._task.ops

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
        why, self._current, self._undelivered = self._undelivered, None, ""
        now, desk = time.monotonic_ns(), self._desk
        if why:
            token = token.with_state(FrameState.DROPPED, stage=desk.name, reason=why)
            self._book.note(token, None)
            return
        self._book.note(token, Stamp(desk.name, desk.worker, taken, started, now))
        desk.meter.timed(now - started, started - token.since)
        desk.meter.age(now - token.born)
        if token.degradations:
            desk.meter.count("degraded")

    def _recant(self, token: Token, why: str) -> None:
        """A frame that was noted as delivered was not: it is dropped."""
        dropped = token.with_state(FrameState.DROPPED, stage=self._desk.name, reason=why)
        self._book.recant(token, dropped)

    def _note_missing(self, stop: int) -> None:
        """Account for frames that were dropped on their way: the next one that comes is ``stop``.

        Frames come by watermark, so whatever is not here by now comes no more.
        """
        for seq in range(self.written, stop):
            dropped = drop_of(self._desk.ring.segment, seq)
            card = card_of(self._task.job.id, seq, dropped, self._names)
            self._book.note(card, None)
            self._losses.note(card)
        self.written = max(self.written, stop)
        self._losses.tell()

    def _take_over(self, stop: int) -> None:
        """Account for what a dead last stage had taken without having told of it.

        It let go of a frame only after it had written it; a frame that was dropped has a record,
        as long as not too many were dropped since.
        """
        job, segment = self._task.job.id, self._desk.ring.segment
        for seq in range(self.written, stop):
            dropped = drop_of(segment, seq)
            written = dropped is None and seq >= stop - RECORDS
            card = Token(job, seq) if written else card_of(job, seq, dropped, self._names)
            self._book.note(card, None)
        self.written = max(self.written, stop)

    def _show(self, token: Token, frame: Frame) -> None:
        """Write a picture of the frame, if somebody asked for one; of one frame only one."""
        if not self._desk.orders.previews:
            return
        path = self._desk.orders.previews.pop(0)
        from mpflow.media.preview import write_picture

        try:
            write_picture(frame, Path(path))
        except MpflowError as error:
            self._desk.tell("previewed", frame=token.seq, path=path, error=str(error))
        else:
            self._desk.tell("previewed", frame=token.seq, path=path, error="")

    def _say_progress(self) -> None:
        """Let the supervisor know from time to time how far a stage is that keeps nothing."""
        if self._live:
            if self.written - self._said < _SAY_EVERY:
                return
            self._said = self.written
            self._book.keep(self._book.next)
            books = msgspec.to_builtins(self._book.so_far)
            self._desk.tell("kept", place=msgspec.to_builtins(Place(self.written)), books=books)
        elif not self._restartable and self.written % _PROGRESS_EVERY == 0:
            self._say_kept(Place(self.written))

    def _say_kept(self, place: Place) -> None:
        self._kept = place
        self._desk.tell("kept", place=msgspec.to_builtins(place))

    def _await_conclusion(self) -> None:
        """Wait for the order to close: what comes is not kept, and the supervisor is not ready."""
        orders = self._desk.orders
        while orders.conclude is None and not (orders.close_now or orders.over):
            self._desk.meter.waited_for_input(self._desk.wait())

    def _leases(self) -> Iterator[Lease]:
        desk = self._desk
        while not (desk.orders.close_now or desk.orders.over):
            desk.ring.reap()
            lease = desk.ring.take()
            if lease is not None:
                yield lease
                desk.orders.read()
            elif desk.orders.conclude is not None and self._has_all():
                return
            elif desk.ring.retired >= desk.slots:
                raise ContractError(
                    f"{desk.name} keeps pixels of {desk.ring.retired} frames,"
                    " which is every slot of the ring",
                    cure="copy what is kept longer than its frame: plane.copy()",
                )
            else:
                self._rest()
                desk.meter.waited_for_input(desk.wait())

    def _has_all(self) -> bool:
        """Whether no frame is still to come; in live runs the last ones may have been dropped."""
        ring = self._desk.ring
        if self._live and ring.end is not None and ring.upstream_empty():
            self._note_missing(ring.end)
        return ring.end == self.written


def open_book(task: Task, desk: Desk, parts: Path | None = None, start: Place = BEGINNING) -> Book:
    """Where the frames' outcomes are kept, beside the parts of a sink that can go on.

    In a live run nothing is on the disk: a successor takes over what the dead one had told.
    """
    past = task.books
    return Book(
        parts,
        tokens=Path(task.job.tokens) if task.job.tokens else None,
        trace=Path(task.job.trace) if task.job.trace else None,
        start=start if past is None else Place(past.frames),
        begun=task.started,
        name=name_in_parts(task.job, LEDGER),
        past=past,
        no_face_for=task.rules.no_face_for,
        alert=lambda what, text, frame: desk.tell("alert", what=what, text=text, frame=frame),
    )
