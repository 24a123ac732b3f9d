"""What processes and the machine use of memory and processors, read from /proc.

A process's memory is what it has to itself: resident less shared (proc(5), statm). The exact
figure, the unique set size, makes the kernel walk over every page (milliseconds for a gigabyte,
with the process stopped); this one is off by pages of files that nobody else has mapped. The frame
ring is shared by all and counted once, by whoever adds them up.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psutil

from mpflow import cgroup
from mpflow.cgroup import PROC_SELF

PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_USER_TIME, _SYSTEM_TIME = 11, 12
"""Fields of stat, counted behind the name (proc(5): the 14th and the 15th)."""


def own_memory(pid: int | None) -> int:
    """Bytes that a process has to itself; 0 for one that is gone."""
    words = _read(pid, "statm").split()
    return (int(words[1]) - int(words[2])) * _PAGE if len(words) > 2 else 0


def cpu_seconds(pid: int | None) -> float:
    """Seconds on processors so far, of all its threads; 0 for one that is gone."""
    words = _read(pid, "stat").rpartition(")")[2].split()
    if len(words) <= _SYSTEM_TIME:
        return 0.0
    return (int(words[_USER_TIME]) + int(words[_SYSTEM_TIME])) / _TICKS


class MachineWatch:
    """The shares, 0..1, of processors and memory in use, by anybody.

    ``cpu`` is of the processors this process may use, since the look before; ``memory`` is of the
    machine's. With a quota or a limit of a control group, they are the shares of that if larger.
    """

    def __init__(self, now: float, proc: Path = PROC_SELF) -> None:
        self._cpus = sorted(os.sched_getaffinity(0))
        self._quotas = cgroup.cpu_quotas(proc)
        self._memory_groups = list(cgroup.groups("memory", proc))
        self._at = now
        self._times = _cpu_times(self._cpus)
        self._used = self._quota_times()
        self.cpu = 0.0
        self.memory = self._memory()

    def look(self, now: float) -> None:
        """Find out anew."""
        times, used, seconds = _cpu_times(self._cpus), self._quota_times(), now - self._at
        shares = [_part(times[0] - self._times[0], times[1] - self._times[1])]
        for (_, cores), before, after in zip(self._quotas, self._used, used, strict=True):
            shares.append(_part(after - before, cores * seconds))
        self._at, self._times, self._used = now, times, used
        self.cpu = max(shares)
        self.memory = self._memory()

    def _quota_times(self) -> Sequence[float]:
        return [cgroup.cpu_used(group) or 0.0 for group, _ in self._quotas]

    def _memory(self) -> float:
        memory = psutil.virtual_memory()
        machine = _part(memory.total - memory.available, memory.total)
        return max(machine, _part(cgroup.memory_share(self._memory_groups) or 0.0, 1.0))


def _cpu_times(cpus: Sequence[int]) -> tuple[float, float]:
    """Seconds in use and in all, of these processors."""
    known = psutil.cpu_times(percpu=True)
    mine = [known[cpu] for cpu in cpus if cpu < len(known)] or known
    # guest time is within user time already
    whole = sum(t.user + t.nice + t.system + t.irq + t.softirq + t.steal for t in mine)
    return whole, whole + sum(t.idle + t.iowait for t in mine)


def _part(some: float, whole: float) -> float:
    return min(max(some / whole, 0.0), 1.0) if whole > 0 else 0.0


def _read(pid: int | None, name: str) -> str:
    if pid is None:
        return ""
    try:
        return (PROC / str(pid) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
