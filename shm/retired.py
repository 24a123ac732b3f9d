"""Slots whose lease has ended while arrays made from it still live (in an encoder's threads, say).

    array dies, on any thread -> its slot goes into a queue, the bell rings -> the ring frees it

A finalizer may run on any thread and at any moment, so it does nothing but append and ring.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from mpflow.shm.lease import Lease


class Retired:
    """The leases that wait for their last view to die."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._waiting: dict[int, tuple[Lease, weakref.ref[Any]]] = {}
        self._dead: SimpleQueue[int] = SimpleQueue()

    def __len__(self) -> int:
        """How many slots still have a living view, or were not collected yet."""
        return len(self._waiting)

    def add(self, lease: Lease, watch: weakref.ref[Any]) -> None:
        """Watch the object that all views of an ended lease share."""
        exporter = watch()
        if exporter is None:
            self._waiting[lease.slot] = lease, watch
            self._dead.put(lease.slot)
            return
        dead, wake, slot = self._dead, self._wake, lease.slot

        def gone(_: weakref.ref[Any]) -> None:
            dead.put(slot)
            wake()

        self._waiting[slot] = lease, weakref.ref(exporter, gone)

    def collect(self) -> list[Lease]:
        """Return the leases whose last view has died since the last call."""
        leases: list[Lease] = []
        while True:
            try:
                slot = self._dead.get_nowait()
            except Empty:
                return leases
            leases.append(self._waiting.pop(slot)[0])
