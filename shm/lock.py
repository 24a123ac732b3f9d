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
from pathlib import Path

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

    def probe(self) -> int | None:
        """Say who has the lock right now, without ever waiting: its id, or None if it is free.

        0 means somebody who cannot be named. The kernel's own list comes first: the cell may
        still name a dead holder, or nobody yet. Not to be called while this process has it.
        """
        if self._try():
            flock(self.fd, LOCK_UN)
            return None
        return _flock_owner(self.fd) or self.holder

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
                owner = _flock_owner(self.fd) or self.holder
                raise LockTimeout(holder=owner, waited=now - began)
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


def _flock_owner(fd: int) -> int:
    """Look up in /proc/locks who has the flock on a file; 0 if it is not told.

    A line reads ``7: FLOCK  ADVISORY  WRITE 4711 00:1b:2060 0 EOF`` (proc(5)): the process, then
    device (hexadecimal) and inode of the file. One that waits has an arrow before its kind.
    """
    found = os.fstat(fd)
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        words = line.split()
        if words[1:2] == ["FLOCK"] and words[5:6] == [file]:
            return max(0, int(words[4]))
    return 0


_LIVING: weakref.WeakSet[Lock] = weakref.WeakSet()


def _close_in_forked_child() -> None:
    """A child that kept the description would hold its parent's lock after the parent died."""
    for lock in list(_LIVING):
        lock.close()


os.register_at_fork(after_in_child=_close_in_forked_child)
