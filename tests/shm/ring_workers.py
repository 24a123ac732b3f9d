"""Child processes for the tests of the ring; each function is the body of one process."""

from __future__ import annotations

import os
import signal
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from mpflow.shm import Bell, Handle, Order, Ring, Segment, arm

PATIENCE = 30.0


class Passed:
    """A segment and its bells on their way to a child."""

    def __init__(self, segment: Segment, bells: list[Bell]) -> None:
        self.segment = segment.handle()
        self.bells = [Handle(bell.fileno()) for bell in bells]

    def ring(self, stage: int, worker: int, order: Order = Order.LOWEST) -> Ring:
        bells = [Bell(handle.fd) for handle in self.bells]
        return Ring(Segment.attach(self.segment.fd), bells, stage, worker, order)


def pattern(seq: int, size: int) -> npt.NDArray[np.uint8]:
    """Pixels of frame ``seq``: no two frames, and no two halves of a frame, are alike."""
    return (np.arange(size, dtype=np.uint32) * (2 * seq + 1) + seq >> 3).astype(np.uint8)


def produce(passed: Passed, frames: int) -> None:
    """Publish patterned frames, each with its checksum for a token."""
    ring = passed.ring(0, 0)
    size = ring.segment.geometry.slot_bytes
    for seq in range(frames):
        while (lease := ring.alloc()) is None:
            assert ring.wait(PATIENCE), "no slot came free"
        pixels = pattern(seq, size)
        lease.view(0, (size,), writable=True)[:] = pixels
        assert ring.publish(lease, b"%d" % zlib.crc32(pixels))
    assert ring.end_of_stream(frames)


def invert(passed: Passed, worker: int, die_at: int = -1) -> None:
    """Turn every pixel over, in place; killed in the middle of the frame ``die_at``."""
    ring = passed.ring(1, worker)
    size = ring.segment.geometry.slot_bytes
    while not ring.upstream_empty():
        lease = ring.take()
        if lease is None:
            ring.wait(0.1)
            continue
        token = lease.token
        ring.work(lease)
        ring.journal(lease, [whole(size)])
        view = lease.view(0, (size,), writable=True)
        if lease.seq == die_at and not lease.alone:
            view[: size // 2] ^= 255
            os.kill(os.getpid(), signal.SIGKILL)
        view ^= 255
        del view
        ring.give(lease, token)


def whole(size: int) -> Any:
    from mpflow.shm import Span

    return Span(0, size, 1, size)


def count_up(path: str, rounds: int, fd: int) -> None:
    """Add one to a number, read and written apart, under the segment's lock."""
    segment = Segment.attach(fd)
    counter = np.memmap(path, np.uint64, "r+", shape=(1,))
    for _ in range(rounds):
        with segment.lock:
            seen = int(counter[0])
            counter[0] = seen + 1


def hold_lock(handle: Handle, told: Any) -> None:
    """Take the lock and keep it."""
    segment = Segment.attach(handle.fd)
    with segment.lock:
        told.send(os.getpid())
        signal.pause()


def live_until_the_pipe_breaks(pipe: Handle, told: Any, in_c: bool) -> None:
    """Arm the death pipe, say so, then sleep: in Python, or in C with the interpreter's lock."""
    import ctypes

    kept = arm(pipe.fd)
    told.send((os.getpid(), kept))
    if in_c:
        ctypes.PyDLL(None).sleep(60)
    signal.pause()
