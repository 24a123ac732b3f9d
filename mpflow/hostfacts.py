"""Facts about the machine and the libraries that a reader of a report needs."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from mpflow.machine import (
    core_budget,
    memory_available,
    memory_limit,
    quota_cores,
    shared_memory_free,
)

MIB = 1 << 20

_PACKAGES = (
    "av",
    "numpy",
    "opencv-python",
    "opencv-python-headless",
    "onnxruntime",
    "onnxruntime-gpu",
    "msgpack",
    "msgspec",
)
_FFMPEG = ("libavcodec", "libavformat", "libavutil")


def host_facts() -> dict[str, Any]:
    """The machine as this process sees it, and what is installed; memory in MiB."""
    return {
        "host": platform.node(),
        "cpu": cpu_model(),
        "cores": {
            "machine": os.cpu_count(),
            "affinity": len(os.sched_getaffinity(0)),
            "quota": quota_cores(),
            "used": core_budget(),
        },
        "memory_mib": {
            "machine": psutil.virtual_memory().total // MIB,
            "limit": memory_limit() // MIB,
            "available": memory_available() // MIB,
            "shared_free": shared_memory_free() // MIB,
        },
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := installed_version(name))},
        "ffmpeg": ffmpeg_versions(),
    }


def cpu_model() -> str:
    """What the processor calls itself."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def installed_version(name: str) -> str:
    """The version of an installed package, empty if it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def ffmpeg_versions() -> dict[str, str]:
    """The versions of FFmpeg's libraries that PyAV brings; empty where it does not load."""
    try:
        import av
    except ImportError:
        return {}
    return {
        name: ".".join(map(str, av.library_versions[name]))
        for name in _FFMPEG
        if name in av.library_versions
    }
