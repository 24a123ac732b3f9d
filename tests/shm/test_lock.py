"""The lock excludes, dies with its holder, and never blocks the supervisor."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import ring_workers

from mpflow.shm import LockTimeout, Segment, lock


@pytest.fixture
def held(make_ring):
    """A segment whose lock another process keeps, and that process."""
    segment = make_ring().segment
    context = mp.get_context("forkserver")
    here, there = context.Pipe()
    holder = context.Process(
        target=ring_workers.hold_lock, args=(segment.handle(), there), daemon=True
    )
    holder.start()
    assert here.recv() == holder.pid
    yield segment, holder
    holder.kill()
    holder.join()


def test_the_supervisor_learns_who_keeps_the_lock(held) -> None:
    segment, holder = held
    with pytest.raises(LockTimeout) as caught, segment.lock.within(0.01):
        pass
    assert caught.value.holder == holder.pid
    assert caught.value.waited >= 0.01


def test_a_stopped_holder_keeps_the_lock_and_a_killed_one_does_not(held) -> None:
    segment, holder = held
    os.kill(holder.pid, signal.SIGSTOP)
    with pytest.raises(LockTimeout), segment.lock.within(0):
        pass
    holder.kill()
    holder.join()
    with segment.lock.within(10):
        assert segment.lock.holder == os.getpid()
    assert segment.lock.holder == 0


def test_a_probe_names_who_has_the_lock_and_never_waits(held) -> None:
    segment, holder = held
    assert segment.lock.probe() == holder.pid
    segment.lock.cell[0] = 1  # a dead one's id, or not its own yet
    if Path("/proc/locks").exists():
        assert segment.lock.probe() == holder.pid
    holder.kill()
    holder.join()
    assert segment.lock.probe() is None
    with Segment.attach(segment.fd).lock.within(0):
        assert segment.lock.probe() == os.getpid()
    with segment.lock.within(0):
        pass


def test_a_probe_without_the_kernels_list_trusts_the_cell(held, monkeypatch) -> None:
    segment, holder = held
    monkeypatch.setattr(lock, "_flock_owner", lambda fd: 0)
    assert segment.lock.probe() == holder.pid


def test_a_deadline_starts_anew_when_the_caller_itself_was_asleep(held, monkeypatch) -> None:
    segment, _ = held
    # the clock of a caller that was stopped for an hour after its first look
    times = iter([0.0, 0.001, 3600.0, 3600.004, 3600.2])
    monkeypatch.setattr(lock.time, "monotonic", lambda: next(times))
    with pytest.raises(LockTimeout) as caught, segment.lock.within(0.1):
        pass
    assert caught.value.waited == pytest.approx(0.2)


def test_two_attachments_exclude_each_other_even_in_one_process(make_ring) -> None:
    segment = make_ring().segment
    other = Segment.attach(segment.fd)
    with segment.lock, pytest.raises(LockTimeout), other.lock.within(0):
        pass
    with other.lock.within(0):
        pass
    other.close()


def test_no_increment_is_lost_between_processes(make_ring, tmp_path) -> None:
    segment = make_ring().segment
    path = tmp_path / "counter"
    path.write_bytes(bytes(8))
    context = mp.get_context("forkserver")
    workers = [
        context.Process(target=count, args=(str(path), 2000, segment.handle()), daemon=True)
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert int(np.fromfile(path, np.uint64)[0]) == 4000


def count(path: str, rounds: int, handle) -> None:
    ring_workers.count_up(path, rounds, handle.fd)
