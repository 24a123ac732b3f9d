"""The loop inside a worker: take, process, stamp, give.

    source:  picture -> free slot -> fill -> publish            until the input ends
    stage:   take a batch -> work -> give each frame on         until the job is over

The sink's is in sinkrunner.py. Each loop waits on its bell and on the supervisor's orders, always
bounded, and looks again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from mpflow import wire
from mpflow.batcher import BatchPolicy
from mpflow.desk import Desk
from mpflow.errors import ContractError
from mpflow.frame import Frame
from mpflow.shm import Lease, ViewSurvives
from mpflow.spec import SourceSummary
from mpflow.stage import Picture, Source, Stage, Work
from mpflow.tokens import Stamp, Token


class SourceRunner:
    """Copies each picture of a source into a free slot and publishes it."""

    def __init__(self, desk: Desk, source: Source[Any], request: str, ops: tuple[str, ...]) -> None:
        self._desk = desk
        self._source = source
        self._request = request
        self._ops = ops

    def run(self) -> SourceSummary:
        """Publish every picture, or fewer when told to stop; then mark the end of the stream."""
        taken = time.monotonic_ns()
        for picture in self._source.pictures():
            decoded = time.monotonic_ns()
            lease = self._free_slot()
            if lease is None:
                break
            self._publish(lease, picture, taken, decoded)
            self._desk.orders.read()
            if self._desk.orders.leave:
                break
            taken = time.monotonic_ns()
        self._desk.ring.end_of_stream()
        summary = self._source.end()
        return replace_stopped(summary) if self._desk.orders.leave else summary

    def _free_slot(self) -> Lease | None:
        """Wait for a free slot; None when there is reason to leave instead."""
        while (lease := self._desk.ring.alloc()) is None:
            self._desk.meter.waited_for_slot(self._desk.wait())
            if self._desk.orders.leave:
                return None
        return lease

    def _publish(self, lease: Lease, picture: Picture, taken: int, decoded: int) -> None:
        desk = self._desk
        copying = time.monotonic_ns()
        frame = desk.frame(lease)
        picture.fill(frame)
        frame.end()
        now = time.monotonic_ns()
        token = Token(
            request=self._request,
            seq=lease.seq,
            pts=picture.pts,
            time_base=picture.time_base,
            duration=picture.duration,
            key=picture.key,
            ops=self._ops,
            born=taken,
            stamps=(Stamp(desk.name, desk.worker, taken, taken, now),),
        )
        desk.ring.publish(lease, wire.pack(token))
        desk.meter.worked(decoded - taken + now - copying, frames=1)


@dataclass(slots=True)
class _Held:
    """A frame this worker has: its lease, its pixels, its token, and when it was taken."""

    lease: Lease
    frame: Frame
    token: Token
    taken: int


class StageRunner:
    """Gives a stage its batches and gives on every frame that the stage has finished."""

    def __init__(self, desk: Desk, stage: Stage[Any]) -> None:
        self._desk = desk
        self._stage = stage
        self._policy = BatchPolicy(stage.max_batch, int(stage.max_wait_ms * 1e6))
        self._held: dict[int, _Held] = {}

    def run(self) -> None:
        """Work until the job is over."""
        desk = self._desk
        while not desk.orders.over:
            batch = self._collect()
            if batch:
                self._work(batch)
                desk.orders.read()
            elif self._held and desk.ring.upstream_empty():
                self._flush()
            else:
                desk.meter.waited_for_input(desk.wait())

    def _flush(self) -> None:
        """No frame will come any more: the stage must give on something of what it holds."""
        before = len(self._held)
        self._give_all(self._stage.flush(), time.monotonic_ns())
        if len(self._held) == before:
            raise ContractError(
                f"stage {self._desk.name} holds {before} frames, and flush gave none of them",
                cure="yield the token of every frame held back in flush",
            )

    def _collect(self) -> list[Lease]:
        """Take what is ready, and wait for more as long as the batch's policy says."""
        desk = self._desk
        batch = desk.ring.take_batch(self._policy.max_batch)
        first = time.monotonic_ns()
        while batch and not desk.orders.over:
            left = self._policy.wait_left(
                len(batch),
                first=first,
                now=time.monotonic_ns(),
                upstream_empty=desk.ring.upstream_empty(),
            )
            if left == 0:
                break
            desk.meter.waited_for_input(desk.wait(left / 1e9))
            batch += desk.ring.take_batch(self._policy.room(len(batch)))
        return batch

    def _work(self, batch: Iterable[Lease]) -> None:
        started = time.monotonic_ns()
        works = [work for lease in batch if (work := self._accept(lease, started)) is not None]
        if works:
            self._give_all(self._stage.process(works), started)
        if len(self._held) > self._stage.holds:
            raise ContractError(
                f"stage {self._desk.name} keeps {len(self._held)} frames"
                f" but declares holds = {self._stage.holds}",
                cure="yield a token for every frame, or declare what the stage holds back",
            )

    def _accept(self, lease: Lease, taken: int) -> Work | None:
        """Open a frame's card; None when it wants nothing here and was passed on."""
        token = replace(wire.unpack(lease.token), retries=lease.retries)
        if not token.wants(self._desk.name):
            self._desk.ring.give(lease, wire.pack(token))
            return None
        self._desk.ring.work(lease)
        frame = self._desk.frame(lease, editable=self._stage.changes_pixels)
        self._held[token.seq] = _Held(lease, frame, token, taken)
        return Work(token, frame, alone=lease.alone)

    def _give_all(self, tokens: Iterable[Token], started: int) -> None:
        given = 0
        for token in tokens:
            self._give(token, started)
            given += 1
        self._desk.meter.worked(time.monotonic_ns() - started, frames=given, batches=1)

    def _give(self, token: Token, started: int) -> None:
        desk = self._desk
        held = self._held.pop(token.seq, None)
        if held is None:
            raise ContractError(
                f"stage {desk.name} gave a token for frame {token.seq}, which it does not have",
                cure="yield each frame's token exactly once",
            )
        stamp = Stamp(desk.name, desk.worker, held.taken, started, time.monotonic_ns())
        held.frame.end()
        try:
            desk.ring.give(held.lease, wire.pack(token.done(stamp)))
        except ViewSurvives as error:
            raise ContractError(
                f"stage {desk.name} still holds pixels of frame {token.seq} when it gives it on",
                cure="let go of every array made from a frame before yielding its token;"
                " pixel work in a method of its own leaves none behind",
            ) from error


def replace_stopped(summary: SourceSummary) -> SourceSummary:
    """The same summary, marked as cut short."""
    return SourceSummary(
        summary.frames, summary.damaged, summary.expected, stopped=True, warnings=summary.warnings
    )
