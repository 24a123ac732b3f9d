"""A worker that crashes leaves no core dump: it would hold faces that nothing covers yet."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

SIZE = 1
"""Core(5): where dumps go to a pipe, a limit of 0 is not enforced; 1 stops pipe and file alike."""

_FILTER = Path("/proc/self/coredump_filter")


def forbid_core_dumps() -> None:
    """Let no core dump of this process, nor of any it starts, hold what is in its memory.

    A hard limit of 0, which cannot be raised again, stops files only. Where dumps go to a pipe
    the filter of what they hold (core(5)) then leaves them empty of memory.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with suppress(ValueError, OSError):
        limit = 0 if hard == 0 else SIZE
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    with suppress(OSError):
        _FILTER.write_text("0")
