"""Limits are found in both versions of control groups, at any depth, with what is used counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from groups import memory_group, within

from mpflow import cgroup, machine

MIB = 1 << 20


class Fake:
    """A /proc/self and a tree of groups of our own."""

    def __init__(self, folder: Path, memberships: str, mounts: dict[str, str]) -> None:
        self.proc = folder / "proc"
        self.proc.mkdir()
        (self.proc / "cgroup").write_text(memberships)
        self.top = folder / "with space"
        lines = ["24 1 0:22 / /proc rw - proc proc rw"]
        for number, (place, source) in enumerate(mounts.items(), 30):
            mount, _, root = place.partition(" from ")
            at = str(self.top / mount).replace(" ", "\\040")
            lines.append(f"{number} 25 0:26 {root or '/'} {at} rw,nosuid shared:9 - {source}")
        (self.proc / "mountinfo").write_text("\n".join(lines) + "\n")

    def put(self, group: str, **files: str) -> None:
        folder = self.top / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")


@pytest.fixture
def unified(tmp_path: Path) -> Fake:
    return Fake(tmp_path, "0::/farm/job/step\n", {"cg": "cgroup2 cgroup2 rw,nsdelegate"})


@pytest.fixture
def legacy(tmp_path: Path) -> Fake:
    return Fake(
        tmp_path,
        "9:name=systemd:/\n4:memory:/farm/job\n2:cpu,cpuacct:/farm\n0::/\n",
        {
            "memory": "cgroup cgroup rw,memory",
            "cpu,cpuacct": "cgroup cgroup rw,cpu,cpuacct",
            "unified": "cgroup2 cgroup2 rw",
        },
    )


def test_the_second_version_counts_the_tightest_group_above_this_process(unified: Fake) -> None:
    unified.put("cg/farm/job/step", memory__max="max", memory__current="5", cpu__max="max 100000")
    unified.put(
        "cg/farm/job",
        memory__max=f"{800 * MIB}",
        memory__current=f"{100 * MIB}",
        cpu__max="250000 100000",
    )
    unified.put("cg/farm", memory__max=f"{900 * MIB}", memory__current=f"{850 * MIB}")
    assert cgroup.memory_limit(unified.proc) == 800 * MIB
    assert cgroup.memory_left(unified.proc) == 50 * MIB
    assert cgroup.quota_cores(unified.proc) == 3


def test_the_first_version_has_a_tree_for_each_controller(legacy: Fake) -> None:
    legacy.put(
        "memory/farm/job",
        memory__limit_in_bytes=f"{500 * MIB}",
        memory__usage_in_bytes=f"{400 * MIB}",
        memory__stat=f"cache 7\ninactive_file 1\ntotal_inactive_file {300 * MIB}",
    )
    legacy.put("memory", memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes="9")
    legacy.put("cpu,cpuacct/farm", cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000")
    assert cgroup.memory_limit(legacy.proc) == 500 * MIB
    assert cgroup.memory_left(legacy.proc) == 400 * MIB
    assert cgroup.quota_cores(legacy.proc) == 1


def test_file_pages_that_nobody_uses_count_as_free(unified: Fake) -> None:
    unified.put(
        "cg/farm/job/step",
        memory__max=f"{800 * MIB}",
        memory__current=f"{700 * MIB}",
        memory__stat=f"anon 5\ninactive_file {600 * MIB}\nactive_file 9",
    )
    assert cgroup.memory_left(unified.proc) == 700 * MIB


def test_a_group_that_is_throttled_before_its_limit_has_the_lower_one(unified: Fake) -> None:
    unified.put("cg/farm", memory__max="900", memory__high="700", memory__current="800")
    assert cgroup.memory_limit(unified.proc) == 700
    assert cgroup.memory_left(unified.proc) == 0


@pytest.mark.parametrize("fixture", ["unified", "legacy"])
def test_without_limits_there_are_none(request, fixture: str) -> None:
    fake = request.getfixturevalue(fixture)
    assert cgroup.memory_limit(fake.proc) is None
    assert cgroup.memory_left(fake.proc) is None
    assert cgroup.quota_cores(fake.proc) is None
    fake.put("cpu,cpuacct/farm", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert cgroup.quota_cores(fake.proc) is None


def test_a_machine_without_control_groups_has_no_limits(tmp_path: Path) -> None:
    assert cgroup.memory_limit(tmp_path) is None
    assert cgroup.quota_cores(tmp_path) is None


@pytest.mark.parametrize(
    ("membership", "mount"),
    [
        ("0::/docker/4711\n", "cg from /docker/4711"),
        ("0::/../../outside\n", "cg"),
        ("0::/\n", "cg"),
        ("0::/docker/4711\n", "cg from /elsewhere"),
    ],
    ids=["the host's name of it", "a name outside of what is seen", "its own top", "a foreign top"],
)
def test_a_container_finds_its_limits_at_the_top_of_what_it_sees(
    tmp_path: Path, membership: str, mount: str
) -> None:
    fake = Fake(tmp_path, membership, {mount: "cgroup2 cgroup2 rw"})
    fake.put("cg", memory__max="1000", memory__current="400", cpu__max="150000 100000")
    assert cgroup.memory_left(fake.proc) == 600
    assert cgroup.quota_cores(fake.proc) == 2


def test_the_machine_answers_with_the_tighter_of_itself_and_the_group(unified: Fake) -> None:
    unified.put("cg/farm/job/step", memory__max="5000", memory__current="2000", cpu__max="1 100")
    assert machine.memory_limit(unified.proc) == 5000
    assert machine.memory_available(unified.proc) == 3000
    assert machine.core_budget(unified.proc) == 1
    unified.put("cg/farm/job/step", memory__max=f"{1 << 60}", cpu__max="99999999 100")
    assert machine.memory_limit(unified.proc) == psutil.virtual_memory().total
    assert machine.core_budget(unified.proc) == len(os.sched_getaffinity(0))


def test_the_affinity_of_this_process_is_what_counts(tmp_path: Path) -> None:
    script = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from mpflow.machine import core_budget; raise SystemExit(core_budget())"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 1


def test_a_real_groups_limit_and_use_are_seen_from_within() -> None:
    script = f"""
from mpflow import machine
assert machine.memory_limit() == {300 * MIB}, machine.memory_limit()
before = machine.memory_available()
assert before < {300 * MIB}
used = bytearray({100 * MIB})
assert before - machine.memory_available() > {90 * MIB}, machine.memory_available()
"""
    with memory_group(300 * MIB) as group:
        command = [*within(group), sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
