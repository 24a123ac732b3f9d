"""The process title: what a URL has of passwords and keys is for nobody who can read /proc.

The kernel shows the memory between arg_start and arg_end (proc(5), /proc/PID/stat, fields 48 and
49) as the command line. It is this process's own and may be written.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

from mpflow.urls import secret_spans

_ARG_START = 48


def hide_credentials_in_title() -> None:
    """Overwrite the secrets of URLs in this process's command line, each byte by a star.

    Changes nothing where the kernel does not say where the arguments are.
    """
    with suppress(OSError, ValueError, IndexError):
        # the second field, the program's name in parentheses, may itself contain spaces
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(fields[number - 3]) for number in (_ARG_START, _ARG_START + 1))
        if start < end:
            title = ctypes.string_at(start, end - start).decode("latin-1")  # one byte, one place
            for word in re.finditer(r"[^\0]+", title):
                for begin, stop in secret_spans(word[0], whole=True):
                    ctypes.memset(start + word.start() + begin, ord("*"), stop - begin)
