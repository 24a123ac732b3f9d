"""What this process may use of the machine: cores by affinity and cgroup, memory, shared memory."""

from __future__ import annotations

import math
import os
from pathlib import Path

import psutil

SHM = Path("/dev/shm")
_CGROUP_MAX = Path("/sys/fs/cgroup/cpu.max")
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
_CGROUP_PERIOD = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
_CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")


def core_budget() -> int:
    """Cores this process may use: its affinity, cut by the cgroup's CPU quota; at least 1."""
    return max(1, min(len(os.sched_getaffinity(0)), quota_cores() or len(os.sched_getaffinity(0))))


def quota_cores() -> int | None:
    """The cgroup's CPU quota in whole cores, rounded up; None when there is none."""
    try:
        quota, period = _CGROUP_MAX.read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = _CGROUP_QUOTA.read_text().strip(), _CGROUP_PERIOD.read_text().strip()
        except OSError:
            return None
    if quota in ("max", "-1"):
        return None
    return max(1, math.ceil(int(quota) / int(period)))


def memory_limit() -> int:
    """Bytes of memory this process may have: the machine's, cut by the cgroup's limit."""
    total = int(psutil.virtual_memory().total)
    try:
        text = _CGROUP_MEMORY.read_text().strip()
    except OSError:
        return total
    return total if text == "max" else min(total, int(text))


def shared_memory_free(path: Path = SHM) -> int:
    """Bytes free in the file system that holds shared memory; 0 when it is missing."""
    try:
        status = os.statvfs(path)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize


def memory_available() -> int:
    """Bytes of memory that are free or can be freed at once."""
    return min(int(psutil.virtual_memory().available), memory_limit())
