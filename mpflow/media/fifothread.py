"""What FFmpeg's sending thread is at, as the kernel tells of it.

FFmpeg's ``fifo`` muxer waits for its thread when the container is closed, and PyAV holds the
interpreter's lock meanwhile: nothing in this process would move for as long as the other end keeps
that thread waiting. So a container is closed only when its thread is idle or gone.

    connecting, sending, waiting for the other end     poll         busy
    waiting for the next packet                        futex        idle
    given up                                           no thread    gone
    running, or a kernel that tells of no waits        0            untold
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_TASKS = Path("/proc/self/task")
_NAME = "fifo-consumer"


class Doing(Enum):
    """What the thread does."""

    BUSY = "busy"
    IDLE = "idle"
    GONE = "gone"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class FifoThread:
    """A sending thread, by its number; it has several where others began at the same moment."""

    numbers: frozenset[str]

    @classmethod
    def all(cls) -> FifoThread:
        """Every sending thread of this process."""
        numbers = (task.name for task in _TASKS.iterdir())
        return cls(frozenset(number for number in numbers if _is_sending(number)))

    def since(self, before: FifoThread) -> FifoThread:
        """Those that were not there before."""
        return FifoThread(self.numbers - before.numbers)

    @property
    def doing(self) -> Doing:
        """What it is at now."""
        waits = {_read(number, "wchan") for number in self.numbers if _is_sending(number)}
        if not waits:
            return Doing.GONE
        if waits <= {None, "0"}:
            return Doing.UNTOLD
        return Doing.IDLE if all("futex" in (wait or "") for wait in waits) else Doing.BUSY


def _is_sending(number: str) -> bool:
    return _read(number, "comm") == _NAME


def _read(number: str, what: str) -> str | None:
    try:
        return (_TASKS / number / what).read_text(encoding="ascii").strip()
    except OSError:
        return None
