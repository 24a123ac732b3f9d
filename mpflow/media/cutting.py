"""Cutting connections that FFmpeg made and waits on: it cannot be told to come back itself.

A socket is known by its inode, so that nobody else's is cut who has got its number since.
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

_NETWORKS = (socket.AF_INET, socket.AF_INET6)


def sockets() -> frozenset[tuple[int, int]]:
    """The sockets of this process: descriptor and inode of each."""
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            status = path.stat()
            if stat.S_ISSOCK(status.st_mode):
                found.add((int(path.name), status.st_ino))
    return frozenset(found)


def cut(made: frozenset[tuple[int, int]]) -> None:
    """End these connections for both sides; whoever waits on one of them is woken."""
    for descriptor, inode in made:
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as own:
            is_same = os.fstat(own.fileno()).st_ino == inode
            if is_same and own.family in _NETWORKS and own.type is socket.SOCK_STREAM:
                own.shutdown(socket.SHUT_RDWR)
