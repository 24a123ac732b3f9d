"""Facts about the machine and its libraries that a reader of a bench's results needs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def machine_facts(packages: Iterable[str] = ()) -> dict[str, Any]:
    """CPU, cores, kernel, Python, the versions of packages, and how busy the machine is now."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: installed(name) for name in packages},
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


def installed(name: str) -> str:
    """The version of an installed package, "" if it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Keep results as JSON that reads well in a diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
