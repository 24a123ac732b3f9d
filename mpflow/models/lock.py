"""A lock between processes that dies with its holder.

``flock`` belongs to an open file, so the kernel lets go of it however the process ends. It knows
no deadline, and no event tells when it came free, so a waiter asks again at intervals.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mpflow.errors import ModelError

ASK_AGAIN = 0.1  # seconds; a fetch takes far longer


@contextmanager
def locked(path: Path, *, limit: float, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path``; raises ModelError after ``limit`` seconds.

    ``waiting`` is called once if another process has it. The file stays: to remove it while
    somebody waits for it would give two processes a lock each.
    """
    with path.open("ab") as file:
        deadline = time.monotonic() + limit
        told = False
        while not taken(file.fileno(), path):
            if not told:
                waiting()
                told = True
            if time.monotonic() >= deadline:
                raise ModelError(
                    f"another process has held {path} for {limit:.0f} s",
                    cure="end that process, or set MPFLOW_CACHE to another directory",
                )
            time.sleep(ASK_AGAIN)  # why: see the module's text
        yield


def taken(descriptor: int, path: Path) -> bool:
    """Try for the lock of an open file once; it is let go when the file is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ModelError(
            f"cannot lock {path}: {error.strerror}",
            cure="set MPFLOW_CACHE to a directory on a disk that knows file locks",
        ) from error
    return True
