"""A bell wakes whoever waits for a stage's frames: a plain eventfd counter.

    writer:  store the word, then ring
    reader:  wait, clear, then look

Cleared before looking, a ring that comes between the two is never lost. A counter, not a
semaphore: many rings collapse into one wake-up.
"""

from __future__ import annotations

from os import EFD_CLOEXEC, EFD_NONBLOCK, close, eventfd, eventfd_read, eventfd_write

from mpflow.shm import steps


class Bell:
    """One bell; ``fd`` is the descriptor this object closes."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def create(cls) -> Bell:
        """Make a silent bell."""
        return cls(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))

    def ring(self) -> None:
        """Wake the readers; safe from any thread, and harmless once the bell is closed."""
        if steps.hook is not None:
            steps.hook("B1")
        if self._fd < 0:
            return
        try:  # noqa: SIM105 - suppress() takes longer than the system call
            eventfd_write(self._fd, 1)
        except BlockingIOError:
            pass  # a full counter is as loud as a bell can be

    def clear(self) -> None:
        """Silence the bell; the caller looks for frames after this."""
        try:  # noqa: SIM105 - suppress() takes longer than the system call
            eventfd_read(self._fd)
        except BlockingIOError:
            pass  # it was silent

    def fileno(self) -> int:
        """The descriptor, for poll and for passing on."""
        return self._fd

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd >= 0:
            close(self._fd)
        self._fd = -1
