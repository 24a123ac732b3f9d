"""Times for people."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """A time that a person can take in: ``4.2 ms``, ``310 ms``, ``1.25 s``; ``-`` for none."""
    if seconds <= 0:
        return "-"
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def clock(seconds: float) -> str:
    """Seconds as m:ss, h:mm:ss, or days and hours."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
