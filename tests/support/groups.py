"""Control groups of our own below the one the tests run in, where that is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from runs import GONE_S

from mpflow import cgroup

MIB = 1 << 20
_ENTER = """
import os, sys
with open(sys.argv[1], "w") as members:
    members.write(str(os.getpid()))
os.execvp(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """A group whose processes may have ``limit`` bytes together."""
    with _group("memory", {"memory.limit_in_bytes": f"{limit}", "memory.max": f"{limit}"}) as group:
        yield group


@contextmanager
def cpu_group(cores: int) -> Iterator[Path]:
    """A group whose processes get so many cores' time."""
    quota = str(cores * 100_000)
    with _group("cpu", {"cpu.cfs_quota_us": quota, "cpu.max": f"{quota} 100000"}) as group:
        yield group


def within(group: Path) -> list[str]:
    """What a command begins with to run in a group."""
    return [sys.executable, "-c", _ENTER, str(group / "cgroup.procs")]


@contextmanager
def _group(controller: str, limits: dict[str, str]) -> Iterator[Path]:
    own = next(cgroup.groups(controller), None)
    if own is None or not os.access(own, os.W_OK):
        pytest.skip(f"no {controller} group of our own can be made here")
    group = own / f"mpflow-test-{os.getpid()}"
    try:
        group.mkdir()
        if not _set(group, limits):
            pytest.skip(f"the {controller} group that was made here takes no limit")
        tried = subprocess.run(
            [*within(group), "true"], capture_output=True, text=True, check=False
        )
        if tried.returncode:  # some machines let a group be made, and nobody into it
            told = tried.stderr.strip().splitlines()[-1:]
            pytest.skip(f"the {controller} group that was made here takes no process: {told}")
        yield group
    except PermissionError:
        pytest.skip(f"no {controller} group of our own can be made here")
    finally:
        _remove(group)


def _set(group: Path, limits: dict[str, str]) -> bool:
    for name, value in limits.items():
        with suppress(OSError):
            if (group / name).exists():
                (group / name).write_text(value)
                return True
    return False


def _remove(group: Path) -> None:
    """Remove a group once the last process in it is gone."""
    if not group.exists():
        return
    left: list[psutil.Process] = []
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(psutil.NoSuchProcess):
            left.append(psutil.Process(int(pid)))
    psutil.wait_procs(left, GONE_S)
    group.rmdir()
