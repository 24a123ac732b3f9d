"""What this process may use of the machine: cores by affinity and cgroup, memory, shared memory."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from mpflow import cgroup
from mpflow.cgroup import PROC_SELF

SHM = Path("/dev/shm")


def core_budget(proc: Path = PROC_SELF) -> int:
    """Cores this process may use: its affinity, which follows the cgroup's set of CPUs, cut by
    the cgroup's CPU quota; at least 1.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, quota_cores(proc) or cores))


def quota_cores(proc: Path = PROC_SELF) -> int | None:
    """The cgroup's CPU quota in whole cores, rounded up; None when there is none."""
    return cgroup.quota_cores(proc)


def memory_limit(proc: Path = PROC_SELF) -> int:
    """Bytes of memory this process may have: the machine's, cut by the cgroup's limit."""
    total = int(psutil.virtual_memory().total)
    limit = cgroup.memory_limit(proc)
    return total if limit is None else min(total, limit)


def memory_available(proc: Path = PROC_SELF) -> int:
    """Bytes of memory that are free or can be freed at once, in the machine and the cgroup."""
    available = int(psutil.virtual_memory().available)
    left = cgroup.memory_left(proc)
    return available if left is None else min(available, left)


def shared_memory_free(path: Path = SHM) -> int:
    """Bytes free in the file system that holds shared memory; 0 when it is missing."""
    try:
        status = os.statvfs(path)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize
