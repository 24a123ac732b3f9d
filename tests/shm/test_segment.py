"""The memory itself: who can see it, how long it lives, and what a lack of it looks like."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mpflow.shm import Doing, Geometry, Segment, State, Stats, WorkerStats, read_stats, sweep
from mpflow.shm.layout import BOARD_AT, HEADER, LOCK_AT, PAGE
from mpflow.shm.segment import DIRECTORY, PREFIX

GEOMETRY = Geometry(slots=3, slot_bytes=5000, stages=3, workers=5, journal_bytes=100, side_bytes=9)


def ours() -> set[str]:
    return {path.name for path in DIRECTORY.glob(f"{PREFIX}*")}


def test_a_new_segment_has_no_name_and_is_the_owners_alone() -> None:
    segment = Segment.create(GEOMETRY)
    try:
        found = os.fstat(segment.fd)
        assert found.st_nlink == 0
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_size == GEOMETRY.total_bytes
        assert found.st_blocks * 512 >= GEOMETRY.total_bytes, "all of it is backed"
    finally:
        segment.close()


def test_an_attached_segment_sees_the_same_bytes_and_geometry() -> None:
    segment = Segment.create(GEOMETRY)
    other = Segment.attach(segment.fd)
    try:
        assert other.geometry == GEOMETRY
        assert other.fd != segment.fd
        segment.cells[0] = 41
        assert other.published == 41
        assert (other.end, other.epoch, other.drained()) == (None, 0, False)
        assert {word.state for word in other.words()} == {State.FREE}
    finally:
        segment.close()
        other.close()


def test_no_two_regions_of_the_layout_overlap() -> None:
    g = GEOMETRY
    regions = [
        (0, HEADER.size),
        (LOCK_AT, 8),
        (BOARD_AT, 8 * g.board_cells),
        (BOARD_AT + 8 * g.first_born, 8 * g.slots),
        (BOARD_AT + 8 * g.first_record, 8 * 4096),
        (g.lengths_at, 16 * g.slots),
        *((g.stats_row_at(worker), 256) for worker in range(g.workers)),
        *((g.times_row_at(worker), 8 * 3 * 256) for worker in range(g.workers)),
        *((g.token_at(slot, bank), g.token_bytes) for slot in range(g.slots) for bank in (0, 1)),
        *((g.journal_at(worker), g.journal_bytes) for worker in range(g.workers)),
        *((g.slot_at(slot), g.slot_bytes + g.side_bytes) for slot in range(g.slots)),
    ]
    for (at, size), (following, _) in pairwise(regions):
        assert at + size <= following
    assert sum(regions[-1]) <= g.total_bytes
    assert all(at % PAGE == 0 for at, _ in regions[-g.slots :])


def test_an_array_outlives_the_segment_it_came_from() -> None:
    segment = Segment.create(GEOMETRY)
    array = np.frombuffer(segment.memory, np.uint8, 8)
    segment.close()
    assert array.tobytes() == b"mpflow\x00r"


def test_frames_stay_out_of_core_dumps_of_all_who_map_them() -> None:
    segment = Segment.create(GEOMETRY)
    other = Segment.attach(segment.fd)
    try:
        inode = os.fstat(segment.fd).st_ino
        maps = Path("/proc/self/smaps").read_text()
        blocks = re.findall(rf" {inode} [^\n]*deleted\).*?VmFlags:([^\n]*)", maps, re.DOTALL)
        assert len(blocks) == 2
        assert all("dd" in block.split() for block in blocks)
    finally:
        segment.close()
        other.close()


def test_a_child_that_was_forked_cannot_use_its_parents_lock() -> None:
    script = """
        import os, sys
        from mpflow.shm import Geometry, Segment, SegmentClosed
        segment = Segment.create(Geometry(slots=1, slot_bytes=1))
        child = os.fork()
        if child == 0:
            try:
                with segment.lock:
                    os._exit(1)
            except SegmentClosed:
                os._exit(7)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(script).returncode == 7


def test_a_full_shared_memory_is_an_error_with_both_numbers_and_leaves_nothing() -> None:
    if run("", wrapper=SMALL_SHM).returncode:
        pytest.skip("cannot mount a small /dev/shm here: needs root and mount namespaces")
    script = """
        import os
        from mpflow.shm import Geometry, NoSpace, Segment
        try:
            Segment.create(Geometry(slots=4, slot_bytes=1 << 20))
        except NoSpace as error:
            assert error.needed > 4 << 20, error.needed
            assert error.available == 1 << 20, error.available
            assert str(error.needed) in str(error)
        else:
            raise SystemExit("no error")
        # another one fills it between the look and the allocation
        real, full = os.statvfs, os.statvfs("/")
        os.statvfs = lambda path: full
        try:
            Segment.create(Geometry(slots=4, slot_bytes=1 << 20))
        except NoSpace as error:
            assert error.available == 1 << 20, error.available
        else:
            raise SystemExit("no error")
        os.statvfs = real
        assert os.listdir("/dev/shm") == []
        Segment.create(Geometry(slots=1, slot_bytes=1 << 19)).close()
    """
    done = run(script, wrapper=SMALL_SHM)
    assert done.returncode == 0, done.stderr


def test_a_killed_group_leaves_nothing_in_shared_memory() -> None:
    script = """
        import os, signal
        from mpflow.shm import Geometry, Segment
        segment = Segment.create(Geometry(slots=2, slot_bytes=1 << 20))
        if os.fork() == 0:
            Segment.attach(segment.fd)
            print("ready", flush=True)
        signal.pause()
    """
    before = ours()
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert ours() == before


def test_a_maker_killed_before_its_unlink_is_swept_and_a_living_one_is_not() -> None:
    script = """
        import signal
        from mpflow.shm import Geometry, Segment, segment
        def stop(named):
            print(sorted(p.name for p in segment.DIRECTORY.glob("mpflow-*"))[0], flush=True)
            signal.pause()
        segment._unname = stop
        Segment.create(Geometry(slots=2, slot_bytes=1))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    process.stdout.readline()
    living = sweep()
    # the whole group: the resource tracker would tidy up after its owner
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert len(living.kept) == 1
    assert living.kept[0] not in living.removed
    dead = sweep()
    assert living.kept[0] in dead.removed
    assert living.kept[0] not in ours()


def test_a_sweep_touches_only_plain_files_of_ours(tmp_path: Path) -> None:
    (tmp_path / "mpflow-dead").write_bytes(b"")
    (tmp_path / "other").write_bytes(b"")
    (tmp_path / "mpflow-link").symlink_to(tmp_path / "other")
    (tmp_path / "mpflow-folder").mkdir()
    assert sweep(tmp_path).removed == ("mpflow-dead",)
    assert {path.name for path in tmp_path.iterdir()} == {"other", "mpflow-link", "mpflow-folder"}


def test_each_worker_counts_in_a_row_of_its_own() -> None:
    segment = Segment.create(GEOMETRY)
    try:
        stats = Stats(segment, 4)
        stats.add(frames=2, busy_ns=10)
        stats.add(frames=1, batches=1, wait_input_ns=3, wait_slot_ns=4, damaged=5)
        stats.set_state(Doing.BUILDING)
        stats.beat(7)
        assert stats.snapshot() == WorkerStats(7, 3, 1, 10, 3, 4, Doing.BUILDING, 5)
        assert read_stats(segment) == (*[WorkerStats(*[0] * 8)] * 4, stats.snapshot())
    finally:
        segment.close()


SMALL_SHM = [
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount -t tmpfs -o size=1m small /dev/shm && exec "$@"',
    "sh",
]


def run(script: str, wrapper: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [*(wrapper or []), sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
