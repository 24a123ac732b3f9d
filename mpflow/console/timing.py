"""Where the time went, below a job's summary: ages of frames, waiting, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from mpflow.advice import percent
from mpflow.console.durations import duration
from mpflow.report import Report


def timing_lines(report: Report) -> Iterator[str]:
    """``age of a frame 0.21 s (p50) ...`` and the sentence about what held the run up."""
    latency = report.latency
    if latency is not None and latency.whole.count:
        whole = latency.whole
        ages = ((whole.p50, "p50"), (whole.p95, "p95"), (whole.p99, "p99"))
        told = ", ".join(f"{duration(age)} ({name})" for age, name in ages)
        yield f"age of a frame {told}; {percent(latency.idle_ratio)} of it waiting"
    if report.advice:
        yield report.advice
