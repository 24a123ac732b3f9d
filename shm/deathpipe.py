"""Workers die with their supervisor: by a signal the kernel sends, without a thread.

    supervisor: DeathPipe.create(), keeps the write end open for as long as it lives
    worker:     arm(fd of the read end)

When the last write end closes, the kernel signals every armed descriptor's owner with SIGKILL,
even while a C call keeps the interpreter's lock.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal

from mpflow.shm.segment import Handle


class DeathPipe:
    """The supervisor's end. Nothing is ever written to it; only its closing means something."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self._write_fd = write_fd

    @classmethod
    def create(cls) -> DeathPipe:
        """Make the pipe; neither end survives an exec, so only this process holds them."""
        return cls(*os.pipe2(os.O_CLOEXEC))

    def handle(self) -> Handle:
        """Wrap the read end for an argument of ``multiprocessing.Process``."""
        return Handle(self.read_fd)

    def close(self) -> None:
        """Let go of both ends: every armed worker that still lives is killed."""
        for fd in (self._write_fd, self.read_fd):
            if fd >= 0:
                os.close(fd)
        self._write_fd = self.read_fd = -1


def arm(fd: int) -> int:
    """Make this process die when the other end of the pipe closes; keep the result open.

    The signal's owner and kind belong to the open file description, so the read end is opened
    anew. A supervisor that died before this call is found by one look at the pipe.
    """
    own = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.fcntl(own, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(own, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(own, fcntl.F_SETFL, fcntl.fcntl(own, fcntl.F_GETFL) | os.O_ASYNC)
    look = select.poll()
    look.register(own, 0)
    look.register(fd, 0)
    if look.poll(0):
        os.kill(os.getpid(), signal.SIGKILL)
    return own
