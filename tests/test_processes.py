"""What processes use is read from /proc, and what the machine uses is measured against what we
may use of it."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import psutil
import pytest

from mpflow import cgroup, processes
from mpflow.processes import MachineWatch, cpu_seconds, own_memory

MIB = 1 << 20


def test_a_processs_memory_is_what_it_has_to_itself() -> None:
    before = own_memory(os.getpid())
    shared = mmap.mmap(-1, 64 * MIB)
    shared.write(b"\1" * (64 * MIB))
    assert own_memory(os.getpid()) - before < 32 * MIB
    private = mmap.mmap(-1, 64 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    private.write(b"\1" * (64 * MIB))
    assert 32 * MIB < own_memory(os.getpid()) - before < 128 * MIB
    assert len(private) == len(shared)


def test_seconds_on_processors_are_those_of_the_process() -> None:
    before = cpu_seconds(os.getpid())
    deadline = time.process_time() + 0.1
    while time.process_time() < deadline:
        pass
    times = psutil.Process().cpu_times()
    assert before < cpu_seconds(os.getpid()) <= times.user + times.system + 0.05


def test_a_process_that_is_gone_uses_nothing() -> None:
    assert own_memory(None) == own_memory(2**22 + 1) == 0
    assert cpu_seconds(None) == cpu_seconds(2**22 + 1) == 0.0


def test_a_name_with_brackets_and_spaces_does_not_confuse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "12").mkdir()
    numbers = " ".join(["0"] * 10 + ["250", "50"] + ["0"] * 20)
    (tmp_path / "12" / "stat").write_text(f"12 (a) b) S {numbers}\n")
    monkeypatch.setattr(processes, "PROC", tmp_path)
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu_seconds(12) == 300 / ticks


class Group:
    """A control group with a quota of one core and a limit of 100 MiB."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.top = folder / "group"
        self.proc.mkdir()
        self.top.mkdir()
        (self.proc / "cgroup").write_text("0::/\n")
        line = f"30 25 0:26 / {self.top} rw - cgroup2 cgroup2 rw\n"
        (self.proc / "mountinfo").write_text(line)
        self.put("cpu.max", "50000 100000")
        self.put("memory.max", str(100 * MIB))
        self.use(0.0, 10 * MIB)

    def put(self, name: str, text: str) -> None:
        (self.top / name).write_text(f"{text}\n")

    def use(self, seconds: float, memory: int) -> None:
        self.put("cpu.stat", f"usage_usec {int(seconds * 1e6)}\nuser_usec 1")
        self.put("memory.current", str(memory))


def test_a_quota_and_a_limit_count_when_they_are_nearer(tmp_path: Path) -> None:
    group = Group(tmp_path)
    watch = MachineWatch(100.0, group.proc)
    assert watch.cpu == 0.0
    group.use(4.75, 99 * MIB)
    watch.look(110.0)
    assert watch.cpu >= 0.95 and watch.memory >= 0.99
    group.use(20.0, 300 * MIB)
    watch.look(111.0)
    assert watch.cpu == 1.0 and watch.memory == 1.0


def test_without_groups_the_machine_counts(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("")
    (tmp_path / "mountinfo").write_text("")
    watch = MachineWatch(100.0, tmp_path)
    watch.look(100.0)
    assert 0.0 <= watch.cpu <= 1.0 and 0.0 < watch.memory < 1.0


def test_version_1_groups_tell_their_time_too(tmp_path: Path) -> None:
    (tmp_path / "cpuacct.usage").write_text("2500000000\n")
    assert cgroup.cpu_used(tmp_path) == 2.5
    assert cgroup.cpu_used(tmp_path / "none") is None
    assert cgroup.memory_share([tmp_path]) is None
