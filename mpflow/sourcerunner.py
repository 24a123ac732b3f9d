"""The loop of the first stage: a picture into a free slot, published, until the input ends.

    pictures(place) -> free slot -> fill -> publish -> ... -> end of the stream -> wait

The source stays until the job is over: when the sink has to be replaced, everything after its last
durable frame is made again, and the ring says from which frame on (``published``).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any

import msgspec

from mpflow import wire
from mpflow.desk import Desk
from mpflow.errors import describe
from mpflow.policies.failure import Retry, decide
from mpflow.shm import Lease
from mpflow.spec import Job, Place, Rules, SourceSummary
from mpflow.stage import Picture, Source
from mpflow.tokens import Stamp, Token

_NO_STAMP = -(1 << 63)


class SourceRunner:
    """Copies each picture of a source into a free slot and publishes it."""

    def __init__(
        self, desk: Desk, source: Source[Any], job: Job, ops: tuple[str, ...], rules: Rules
    ) -> None:
        self._desk = desk
        self._source = source
        self._job = job
        self._ops = ops
        self._rules = rules
        self._epoch = -1
        self._begun = Place()
        self._stamps = array("q")
        self._damaged = 0
        self._next = 0

    def run(self, place: Place, ended: Callable[[SourceSummary], None]) -> None:
        """Publish every picture from ``place`` on, and again from wherever the ring is rewound to.

        ``ended`` is told each time the end of the stream was reached, or a stop was obeyed. A
        source that fails for good ends its stream first, so that what it gave is not lost.
        """
        ring = self._desk.ring
        self._begun, self._epoch = place, ring.epoch
        if ring.published != place.frame:
            place = self._rewound()
        try:
            while not self._desk.orders.over:
                self._stream(place, ended)
                if not self._wait_for_rewind():
                    return
                place = self._rewound()
                self._source.begin(self._job)
        except Exception:
            ring.end_of_stream(self._next)
            raise

    def _stream(self, place: Place, ended: Callable[[SourceSummary], None]) -> None:
        """Publish from one place to the end; a rewind ends it early."""
        orders, self._next = self._desk.orders, place.frame
        whole = orders.leave or self._persist(place)
        summary = self._source.end()
        if not whole:
            return
        if self._desk.ring.end_of_stream(self._next) or orders.leave:
            frames = self._desk.ring.published
            ended(msgspec.structs.replace(summary, frames=frames, stopped=orders.leave))

    def _persist(self, place: Place) -> bool:
        """Publish everything; a source that fails is asked again for what is missing."""
        attempt = 1
        while True:
            try:
                return self._publish_all(place)
            except Exception as error:
                ring = self._desk.ring
                attempt = 1 if ring.published > place.frame else attempt
                verdict = decide(error, attempt, self._rules.retries, "fail")
                if not isinstance(verdict, Retry):
                    raise
                attempt += 1
                self._desk.tell(
                    "stumbled", frame=ring.published, what=describe(error), then="retry"
                )
                self._desk.pause(verdict.pause_s)
                place = self._rewound()
                self._source.begin(self._job)

    def _publish_all(self, place: Place) -> bool:
        """Publish picture after picture; False when the ring was rewound meanwhile."""
        orders, ring = self._desk.orders, self._desk.ring
        taken = time.monotonic_ns()
        for number, picture in enumerate(self._source.pictures(place), place.frame):
            decoded = time.monotonic_ns()
            lease = self._free_slot()
            if lease is None:
                return True
            if lease.epoch != self._epoch or lease.seq != number:
                ring.free(lease)
                return False
            if not self._publish(lease, picture, taken, decoded):
                return False
            self._next = number + 1
            orders.read()
            if orders.leave:
                return True
            taken = time.monotonic_ns()
        return ring.epoch == self._epoch

    def _free_slot(self) -> Lease | None:
        """Wait for a free slot; None when there is reason to leave instead."""
        desk = self._desk
        while (lease := desk.ring.alloc()) is None:
            desk.meter.waited_for_slot(desk.wait())
            if desk.orders.leave:
                return None
        return lease

    def _publish(self, lease: Lease, picture: Picture, taken: int, decoded: int) -> bool:
        """Copy a picture that was decoded between two moments, and hand it over."""
        desk = self._desk
        copying = time.monotonic_ns()
        frame = desk.frame(lease)
        picture.fill(frame)
        frame.end()
        now = time.monotonic_ns()
        born = taken if picture.arrived is None else picture.arrived
        # as if it had been decoded right before it was copied: what lies between is waiting
        started = max(born, copying - (decoded - taken))
        token = Token(
            request=self._job.spec.id,
            seq=lease.seq,
            pts=picture.pts,
            time_base=picture.time_base,
            duration=picture.duration,
            key=picture.key,
            ops=self._ops,
            born=born,
            deadline=_after(born, self._max_latency) if self._rules.live else None,
            ttl=_after(born, self._rules.ttl),
            mode=desk.orders.helm.mode,
            stamps=(Stamp(desk.name, desk.worker, born, started, now),),
        )
        self._remember(lease.seq, picture.pts)
        fresh = desk.ring.publish(lease, wire.pack(token), born=born)
        damaged, self._damaged = self._source.damaged - self._damaged, self._source.damaged
        desk.meter.worked(decoded - taken + now - copying, frames=1, damaged=max(0, damaged))
        desk.meter.timed(now - started, started - born)
        return fresh

    @property
    def _max_latency(self) -> float:
        """Seconds from a frame's birth to its output, at most, as things stand."""
        return self._desk.orders.helm.max_latency or self._rules.max_latency

    def _wait_for_rewind(self) -> bool:
        """Wait until frames have to be made again; False when the job is over."""
        desk = self._desk
        while desk.ring.epoch == self._epoch:
            if desk.orders.over:
                return False
            desk.meter.waited_for_input(desk.wait())
        return True

    def _rewound(self) -> Place:
        """Where to go on after a rewind."""
        ring = self._desk.ring
        self._epoch = ring.epoch
        frame = ring.published
        place = Place(frame, self._stamp_of(frame - 1), counted=self._desk.meter.damaged > 0)
        if frame < self._begun.frame:  # before what this process has given itself
            self._begun, self._stamps = place, array("q")
        return place

    def _remember(self, frame: int, pts: int | None) -> None:
        """Keep a frame's time stamp; frames come in order, again after a rewind."""
        stamp = _NO_STAMP if pts is None else pts
        at = frame - self._begun.frame
        if at < len(self._stamps):
            self._stamps[at] = stamp
        else:
            self._stamps.append(stamp)

    def _stamp_of(self, frame: int) -> int | None:
        at = frame - self._begun.frame
        if at == -1:
            return self._begun.after
        if not 0 <= at < len(self._stamps) or self._stamps[at] == _NO_STAMP:
            return None
        return self._stamps[at]


def _after(born: int, seconds: float) -> int | None:
    """The moment so many seconds after ``born``; None for no limit."""
    return born + int(seconds * 1e9) if seconds else None
