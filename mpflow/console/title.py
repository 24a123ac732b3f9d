"""The process title: a URL's user name and password are for nobody who can read /proc.

The kernel shows the memory between arg_start and arg_end (proc(5), /proc/PID/stat, fields 48 and
49) as the command line. It is this process's own and may be written.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

_ARG_START = 48
_CREDENTIALS = re.compile(rb"(?<=://)[^/\s\0]+(?=@)")


def hide_credentials_in_title() -> None:
    """Overwrite the credentials of URLs in this process's command line, each byte by a star.

    Changes nothing where the kernel does not say where the arguments are.
    """
    with suppress(OSError, ValueError, IndexError):
        # the second field, the program's name in parentheses, may itself contain spaces
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(fields[number - 3]) for number in (_ARG_START, _ARG_START + 1))
        if start < end:
            shown = ctypes.string_at(start, end - start)
            for found in _CREDENTIALS.finditer(shown):
                ctypes.memset(start + found.start(), ord("*"), len(found.group()))
