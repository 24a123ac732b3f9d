"""The loop of a live run's first stage: it never waits for a free slot, since its input does not.

    pictures -> free slot, or that of the oldest frame that waits -> fill -> publish -> ...

A picture for which there is no slot is missed, and counted. Nothing can be asked for again: when
the last stage is replaced, the stream goes on with what comes next.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from mpflow.shm import Lease, Why
from mpflow.sourcerunner import SourceRunner
from mpflow.spec import Place, SourceSummary
from mpflow.stage import Picture


class LiveSourceRunner(SourceRunner):
    """Copies each picture of a stream into a slot, or misses it."""

    _missed = 0

    def run(self, place: Place, ended: Callable[[SourceSummary], None]) -> None:
        """Publish what comes until the stream ends, or a stop is obeyed; ``ended`` is told so."""
        self._begun, self._epoch = place, self._desk.ring.epoch
        try:
            self._stream_from(place)
            summary = self._source.end()
        except Exception:
            self._desk.ring.end_of_stream(self._desk.ring.published)
            raise
        summary = msgspec.structs.replace(summary, missed=self._missed + summary.missed)
        while self._end_once(summary, ended):
            self._epoch = self._desk.ring.epoch

    def _stream_from(self, place: Place) -> None:
        desk, orders = self._desk, self._desk.orders
        began, outside = time.monotonic_ns(), desk.meter.outside_ns
        for picture in self._source.pictures(place):
            waited = desk.meter.outside_ns - outside
            now = time.monotonic_ns()
            lease = self._slot()
            if lease is None:
                self._miss(now - began - waited)
            elif not self._publish_next(lease, picture, min(began + waited, now), now):
                self._miss()
            orders.read()
            if orders.leave:
                return
            began, outside = time.monotonic_ns(), desk.meter.outside_ns

    def _publish_next(self, lease: Lease, picture: Picture, began: int, now: int) -> bool:
        self._begun = Place(lease.seq)  # no time stamp is ever asked for again
        self._stamps = self._stamps[:0]
        return self._publish(lease, picture, began, now)

    def _slot(self) -> Lease | None:
        """A free slot; with none free, that of the oldest frame which nobody works on."""
        ring = self._desk.ring
        lease = ring.alloc()
        if lease is None and ring.shed_oldest(Why.FULL) is not None:
            self._desk.meter.count("shed", 1)
            lease = ring.alloc()
        return lease

    def _miss(self, worked_ns: int = 0) -> None:
        self._missed += 1
        self._desk.meter.count("missed", 1)
        self._desk.meter.worked(worked_ns)

    def _end_once(self, summary: SourceSummary, ended: Callable[[SourceSummary], None]) -> bool:
        """Say that the stream is over; True when that has to be said again, to a new last stage."""
        desk, ring = self._desk, self._desk.ring
        while not ring.end_of_stream(ring.published):
            desk.orders.read()
        frames = ring.published
        ended(msgspec.structs.replace(summary, frames=frames, stopped=desk.orders.leave))
        return self._wait_for_rewind()
