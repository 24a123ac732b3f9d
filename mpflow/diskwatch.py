"""Whether the disk is about to be full where the output goes."""

from __future__ import annotations

import os
from pathlib import Path

MIB = 1 << 20

LOOK_EVERY_S = 5.0
ENOUGH_AGAIN = 1.25
"""What has to be free, times the limit, before being short of it is news again."""


def is_news(free_mib: float, limit_mib: float, *, told: bool) -> bool | None:
    """Whether little room is news; None where it was told and there is room again."""
    if told:
        return None if free_mib >= limit_mib * ENOUGH_AGAIN else False
    return free_mib < limit_mib


def free_mib_in(folder: Path) -> float | None:
    """MiB that may still be written; None when nobody knows."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    if not status.f_blocks:
        return None  # /proc and its like are no place of their own
    return status.f_bavail * status.f_frsize / MIB


class DiskWatch:
    """Looks at a folder's file system every few seconds. The clock comes in, in seconds."""

    def __init__(self, folder: Path, limit_mib: float) -> None:
        self._folder = folder
        self._limit = limit_mib
        self._looked: float | None = None
        self._told = False
        self.free_mib = 0

    def look(self, now: float) -> str | None:
        """A sentence when there is too little room, once until there is enough again."""
        if self._looked is not None and now - self._looked < LOOK_EVERY_S:
            return None
        self._looked = now
        free = free_mib_in(self._folder)
        if free is None:
            return None
        self.free_mib = int(free)
        news = is_news(free, self._limit, told=self._told)
        self._told = self._told if news is False else bool(news)
        if not news:
            return None
        return f"{free:.0f} MiB are free in {str(self._folder)!r}, less than {self._limit:g}"
