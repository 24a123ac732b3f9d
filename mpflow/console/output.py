"""Standard output whose reader has gone away."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def mute() -> None:
    """Send what is still written to standard output, and what waits in its buffer, nowhere."""
    with suppress(OSError, ValueError):  # replaced by an object that has no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
