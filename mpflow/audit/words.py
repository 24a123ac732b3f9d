"""Times and counts of an audit as people read them."""

from __future__ import annotations


def clock(seconds: float) -> str:
    """Seconds as m:ss.cc, or h:mm:ss.cc."""
    hundredths = max(0, round(seconds * 100))
    minutes, rest = divmod(hundredths, 6000)
    hours, minutes = divmod(minutes, 60)
    tail = f"{rest // 100:02}.{rest % 100:02}"
    return f"{hours}:{minutes:02}:{tail}" if hours else f"{minutes}:{tail}"


def span(start: float, end: float) -> str:
    """From when to when; one time where both are the same."""
    first, last = clock(start), clock(end)
    return first if first == last else f"{first}-{last}"
