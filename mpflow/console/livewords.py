"""What is said of a live run while it goes on, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpflow.console.durations import clock, duration
from mpflow.report import Report
from mpflow.tokens import Mode


def pace_words(news: Mapping[str, Any], seconds: float) -> str:
    """The progress of a stream in a few words: for how long, how old, what waits, what is lost.

    ``news`` is a progress message of the supervisor's; what it does not have is left out.
    """
    parts = [clock(seconds)]
    if (age := news.get("age_p99")) is not None:
        parts.append(f"p99 {duration(age)}")
    if (backlog := news.get("backlog")) is not None:
        parts.append(f"{backlog} waiting")
    for word in ("dropped", "missed", "degraded"):
        if news.get(word):
            parts.append(f"{news[word]} {word}")
    if again := news.get("reconnects"):
        parts.append(f"connected anew {_times(again)}")
    if (mode := news.get("mode")) not in (None, Mode.THROUGHPUT):
        parts.append(str(mode))
    if news.get("level"):
        parts.append(f"level {news['level']}")
    return ", ".join(parts)


def ends(report: Report) -> str:
    """Where a stream came from and went to; for any other run only its output."""
    return f"{report.input} -> {report.output}" if report.live else report.output


def stream_words(report: Report) -> Iterator[str]:
    """What was not as smooth as it should have been."""
    if report.missed:
        yield f"{report.missed} never taken in"
    if report.reconnects:
        yield f"connected anew {_times(report.reconnects)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
