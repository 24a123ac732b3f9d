"""Real processes over a ring of two slots: every pixel arrives, in order, whoever is killed."""

from __future__ import annotations

import multiprocessing as mp
import zlib
from collections.abc import Callable
from multiprocessing.connection import wait

import numpy as np
import pytest
import ring_workers
from ring_workers import PATIENCE, Passed

from mpflow.shm import Order, recover

SIZE = 100_001


def start(context, work: Callable, *arguments) -> mp.process.BaseProcess:
    process = context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def consume(ring, frames: int, *, inverted: bool, idle: Callable[[], None] = lambda: None) -> None:
    """Check every frame against its checksum, in order."""
    for seq in range(frames):
        while (lease := ring.take()) is None:
            idle()
            ring.wait(0.1)
        pixels = lease.view(0, (SIZE,))
        assert lease.seq == seq
        assert zlib.crc32(~pixels if inverted else pixels) == int(lease.token)
        del pixels
        ring.free(lease)


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_two_processes_pass_patterned_frames_through_two_slots(make_ring, method: str) -> None:
    small = make_ring(slots=2, slot_bytes=SIZE, stages=2)
    context = mp.get_context(method)
    source = start(
        context, ring_workers.produce, Passed(small.segment, small.bells), frames := 1000
    )
    consume(small.ring(1, 1, Order.WATERMARK), frames, inverted=False)
    source.join(PATIENCE)
    assert source.exitcode == 0
    assert small.segment.drained()


def test_a_worker_killed_while_it_changes_pixels_costs_nothing(make_ring) -> None:
    small = make_ring(slots=4, slot_bytes=SIZE, journal_bytes=SIZE + 4096)
    context = mp.get_context("forkserver")
    passed = Passed(small.segment, small.bells)
    frames = 300
    source = start(context, ring_workers.produce, passed, frames)
    workers = {
        1: start(context, ring_workers.invert, passed, 1, 50),
        2: start(context, ring_workers.invert, passed, 2, 50),
    }
    suspects: list[int] = []

    def watch() -> None:
        for worker, process in list(workers.items()):
            if process.exitcode == -9:
                told = recover(small.segment, small.bells, worker, 1)
                suspects.extend(told.suspects)
                workers[worker] = start(context, ring_workers.invert, passed, worker)

    consume(small.ring(2, 3, Order.WATERMARK), frames, inverted=True, idle=watch)
    wait([source.sentinel, *(process.sentinel for process in workers.values())], PATIENCE)
    for process in (source, *workers.values()):
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert suspects == [50]
    assert small.segment.drained()
    assert np.all(np.array(small.segment.snapshot()[3:]) == 0)
