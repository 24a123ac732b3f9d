"""Writing to the caller's standard output, which somebody reads when they like, or no more."""

from __future__ import annotations

import errno
import os
import select
import time
from math import inf

from mpflow.errors import OutputError

# How long one wait for the reader lasts before the writer looks whether it is still wanted.
_STEP_S = 0.2


class PipeWriter:
    """A file for FFmpeg to write to. It waits for the reader without end, unless told to give up.

    Raises OSError: EPIPE where nobody reads any more, ETIMEDOUT after having given up.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._until = inf

    @classmethod
    def open(cls, place: str) -> PipeWriter:
        """Over standard output as it can be opened at ``place``, or this process's own.

        Raises OutputError. What is opened is another description of the pipe, so that waiting on
        it can be bounded without a word to whoever else writes there.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return cls(os.open(place or "/proc/self/fd/1", flags))
        except OSError as error:
            raise OutputError(
                f"standard output cannot be opened: {error.strerror}",
                cure="a socket cannot: put `| cat >&N` between, or write to a file",
            ) from error

    def write(self, data: bytes) -> int:
        """Write it all; raises OSError."""
        left = memoryview(data)
        while left:
            self._wait()
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                continue
        return len(data)

    def give_up_after(self, seconds: float) -> None:
        """Wait no longer than that from now on. May be called from another thread."""
        self._until = time.monotonic() + seconds

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _wait(self) -> None:
        """Wait until the reader takes some."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        while not poll.poll(_STEP_S * 1000):
            if time.monotonic() > self._until:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
