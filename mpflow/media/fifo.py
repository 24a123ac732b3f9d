"""Named pipes as inputs: FFmpeg would wait for somebody who writes, and for more, for ever."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av


@contextmanager
def written(path: Path, seconds: float) -> Iterator[str]:
    """What FFmpeg is to open once something was written: a descriptor that never waits.

    Raises av.ExitError when nothing was within ``seconds``.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(min(round(seconds * 1000), 2**31 - 1)):
            raise av.ExitError(errno.ETIMEDOUT, "nobody writes into it", str(path))
        yield f"pipe:{descriptor}"  # FFmpeg makes a copy of its own
    finally:
        os.close(descriptor)
