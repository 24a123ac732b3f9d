"""What the control groups around this process leave it: memory and time on the CPUs.

    /proc/self/cgroup      which group of each controller this process is in
    /proc/self/mountinfo   where the groups are mounted, and from which group on
    -> the folders from this process's own group up to the top; the tightest of them counts

Version 1 has a tree for each controller, version 2 one for all; both may be there at once. The
files are described in the kernel's cgroup-v1 and cgroup-v2 documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

PROC_SELF = Path("/proc/self")

_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
_USAGES = ("memory.current", "memory.usage_in_bytes")
_IDLE_FILES = ("total_inactive_file", "inactive_file")
"""Lines of memory.stat: file pages nobody has used lately, which are given up before anything."""


def memory_limit(proc: Path = PROC_SELF) -> int | None:
    """Bytes all processes of the tightest group may have together; None without a limit."""
    limits = [limit for group in groups("memory", proc) if (limit := _limit(group)) is not None]
    return min(limits, default=None)


def memory_left(proc: Path = PROC_SELF) -> int | None:
    """Bytes that the tightest group has left for more; None without a limit."""
    left = [
        max(0, limit - _used(group))
        for group in groups("memory", proc)
        if (limit := _limit(group)) is not None
    ]
    return min(left, default=None)


def memory_share(within: Iterable[Path]) -> float | None:
    """The share of its limit that the fullest of these groups has used; None without a limit."""
    shares = [
        _used(group) / limit
        for group in within
        if (limit := _limit(group)) is not None and limit > 0
    ]
    return max(shares, default=None)


def quota_cores(proc: Path = PROC_SELF) -> int | None:
    """The tightest quota of CPU time in whole cores, rounded up; None without a quota."""
    return min((max(1, math.ceil(cores)) for _, cores in cpu_quotas(proc)), default=None)


def cpu_quotas(proc: Path = PROC_SELF) -> list[tuple[Path, float]]:
    """Every group around this process that has a quota of CPU time, and the quota in cores."""
    found = [(group, _quota(group)) for group in groups("cpu", proc)]
    return [(group, cores) for group, cores in found if cores is not None]


def cpu_used(group: Path) -> float | None:
    """Seconds of CPU time that a group has used so far; None where it does not say."""
    for line in _lines(group / "cpu.stat"):
        name, _, value = line.partition(" ")
        if name == "usage_usec":
            return int(value) / 1e6
    nanoseconds = _number(group / "cpuacct.usage")
    return None if nanoseconds is None else nanoseconds / 1e9


def groups(controller: str, proc: Path = PROC_SELF) -> Iterator[Path]:
    """The folders of the groups of a controller that hold this process, the innermost first."""
    places = _memberships(proc)
    for kind, options, root, mount in _mounts(proc):
        if kind == "cgroup2":
            name = places.get("")
        else:
            name = places.get(controller) if controller in options else None
        if name is None:
            continue
        inner = _below(name, root)
        folder = mount / inner
        yield folder
        for _ in inner.parts:
            folder = folder.parent
            yield folder


def _memberships(proc: Path) -> dict[str, str]:
    """Controller to name of its group; the empty name stands for version 2's only tree."""
    found: dict[str, str] = {}
    for line in _lines(proc / "cgroup"):
        _, controllers, name = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), name))
    return found


def _mounts(proc: Path) -> Iterator[tuple[str, list[str], str, Path]]:
    """Kind, controllers, root and mount point of each tree of groups (proc(5), mountinfo)."""
    for line in _lines(proc / "mountinfo"):
        place, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, mount = (_unescaped(word) for word in place.split(" ")[3:5])
            yield kind, options.split(","), root, Path(mount)


def _below(name: str, root: str) -> PurePosixPath:
    """A group's path below the one that is mounted.

    A container may see only its own group, mounted at the top, and yet know its whole name; or
    have a name outside (with ..) of what it sees. The mounted group holds it in any case.
    """
    path, top = PurePosixPath(name), PurePosixPath(root)
    if ".." in path.parts or not path.is_relative_to(top):
        return PurePosixPath()
    return path.relative_to(top)


def _limit(group: Path) -> int | None:
    limits = [limit for name in _LIMITS if (limit := _number(group / name)) is not None]
    return min(limits, default=None)


def _used(group: Path) -> int:
    used = next((n for name in _USAGES if (n := _number(group / name)) is not None), 0)
    idle = dict(line.split() for line in _lines(group / "memory.stat"))
    return used - next((int(idle[name]) for name in _IDLE_FILES if name in idle), 0)


def _quota(group: Path) -> float | None:
    words = " ".join(_lines(group / "cpu.max")).split()
    if len(words) != 2:
        names = "cpu.cfs_quota_us", "cpu.cfs_period_us"
        words = [line for name in names for line in _lines(group / name)]
    if len(words) != 2 or words[0] in ("max", "-1") or int(words[1]) <= 0:
        return None
    return int(words[0]) / int(words[1])


def _number(path: Path) -> int | None:
    """A file's number; None if there is no file, or it says ``max``."""
    words = _lines(path)
    return int(words[0]) if words and words[0].isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _unescaped(word: str) -> str:
    """Spaces and the like stand in mountinfo as octal numbers."""
    for code in ("040", "011", "012", "134"):
        word = word.replace(f"\\{code}", chr(int(code, 8)))
    return word
