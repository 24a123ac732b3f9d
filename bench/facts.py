"""Facts about the machine and its libraries that a reader of a bench's results needs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mpflow.hostfacts import cpu_model, installed_version


def machine_facts(packages: Iterable[str] = ()) -> dict[str, Any]:
    """CPU, cores, kernel, Python, the versions of packages, and how busy the machine is now."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: installed_version(name) for name in packages},
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "load_average": load(),
    }


def come_first(nice: int) -> None:
    """Set how much this process and all it starts give way to others; below 0 needs root.

    Where the kernel groups processes by session (autogroup), the group's value is what counts
    against others.
    """
    if not nice:
        return
    os.nice(nice)
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(nice))


def load() -> list[float]:
    """The load averages over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Keep results as JSON that reads well in a diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
