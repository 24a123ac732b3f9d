"""The one lock of a ring: flock on a descriptor of its own, which the kernel frees with its holder.

flock belongs to the open file description. A descriptor that was inherited or passed shares its
description and so excludes nobody; hence every process opens the segment's file once more. For
the same reason only one thread of a process may use the lock, and a forked child must lose it.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from mpflow.shm import steps
from mpflow.shm.errors import LockTimeout, SegmentClosed

_FIRST_PAUSE_MS = 0.05
_LONGEST_PAUSE_MS = 2.0
_OVERSLEPT_S = 1.0


class Lock:
    """The lock of the segment behind ``fd``; ``cell[0]`` is where the holder writes its id.

    Used as a block it waits without a limit, which only workers may do: whoever keeps the lock
    is killed by the supervisor, and the kernel frees it. The supervisor uses ``within``.
    """

    def __init__(self, fd: int, cell: memoryview) -> None:
        self.fd = os.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        self.cell = cell
        self.pid = os.getpid()
        _LIVING.add(self)

    def acquire(self) -> None:
        """Wait for the lock and write this process's id beside it."""
        try:
            flock(self.fd, LOCK_EX)
        except ValueError:
            raise SegmentClosed("the segment was closed, or belongs to the parent") from None
        if steps.hook is not None:
            steps.hook("L1")
        self.cell[0] = self.pid

    def release(self) -> None:
        """Clear the id and let the lock go."""
        if steps.hook is not None:
            steps.hook("L2")
        self.cell[0] = 0
        flock(self.fd, LOCK_UN)

    def __enter__(self) -> None:
        """Wait for the lock, for a block."""
        self.acquire()

    def __exit__(self, *exc: object) -> None:
        """Let the lock go at the end of a block."""
        self.release()

    @property
    def holder(self) -> int:
        """The id of the process that has the lock (a dead one may still stand here), or 0."""
        return int(self.cell[0])

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Hold the lock for a block, without ever blocking on it.

        Raises LockTimeout, naming the holder, if the lock is not free within the deadline. A
        caller that was itself stopped meanwhile starts the deadline anew: the others were too.
        """
        began = asleep = time.monotonic()
        pause = _FIRST_PAUSE_MS
        while not self._try():
            now = time.monotonic()
            if now - asleep > _OVERSLEPT_S:
                began = now
            if now - began >= seconds:
                raise LockTimeout(holder=self.holder, waited=now - began)
            asleep = now
            # flock has no wait with a deadline, so this looks again after a short pause
            select.select([], [], [], pause / 1000)
            pause = min(pause * 2, _LONGEST_PAUSE_MS)
        steps.step("L1")
        self.cell[0] = self.pid
        try:
            yield
        finally:
            self.release()

    def close(self) -> None:
        """Give the descriptor back; the lock can be used no more."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
        self.cell = memoryview(bytearray(8)).cast("Q")

    def _try(self) -> bool:
        try:
            flock(self.fd, LOCK_EX | LOCK_NB)
        except ValueError:
            raise SegmentClosed("the segment was closed, or belongs to the parent") from None
        except BlockingIOError:
            return False
        return True


_LIVING: weakref.WeakSet[Lock] = weakref.WeakSet()


def _close_in_forked_child() -> None:
    """A child that kept the description would hold its parent's lock after the parent died."""
    for lock in list(_LIVING):
        lock.close()


os.register_at_fork(after_in_child=_close_in_forked_child)
