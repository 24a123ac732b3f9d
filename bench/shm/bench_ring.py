"""What the frame ring costs, against the least it could cost and against what people use instead.

Quantities, each measured by two processes, interleaved in one run, medians over the repeats:

- ``publish_take``: 1080p I420 frames a second through the ring. The source copies each frame into
  its slot and publishes it, the sink takes it, reads its token and frees it. Compared with
  ``copy``: the source alone copies the same frames into the same slots in the same order (the
  order the ring used). Wanted: at least 0.8 of it.
- ``hop``: microseconds from the begin of a publish (or give) to the return of the take on the
  other side, token read; half of a round trip through an echoing stage. Compared with
  ``eventfd``: half of a bare ping-pong over two blocking eventfds. Wanted: at most 2.2 times it.
- ``queue``, ``faster_fifo``, ``pyzmq``: the same frames a second through multiprocessing.Queue,
  faster-fifo, and a pyzmq PUSH/PULL pair over ipc with zero-copy send and receive. Wanted: the
  ring at least 5 times Queue and 2 times pyzmq.

The two processes of every contender are pinned to two different cores (where there are two), as
stages of a real pipeline run: unpinned, the scheduler sometimes lets both halves of a ping-pong
share one core, and a ratio would compare two schedules instead of two mechanisms.

Absolute numbers belong to one machine at one moment; only the ratios mean anything. Run:

    pip install '.[cpu,bench]'
    python bench/shm/bench_ring.py --out bench/results/shm.json

On a machine that does other things, put ``chrt -f 1`` before it; the results say which scheduler
and which load they were taken under.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mpflow.shm import Bell, Geometry, Handle, Order, Ring, Segment

FRAME = 1920 * 1080 * 3 // 2
SLOTS = 8
TOKEN = bytes(range(256)) * 2
CONTEXT = mp.get_context("forkserver")
ALL_CORES = os.sched_getaffinity(0)
PARENT, CHILD = 0, 1


class Passed:
    """A segment and its bells on their way to a child."""

    def __init__(self, segment: Segment, bells: list[Bell]) -> None:
        self.segment = segment.handle()
        self.bells = [Handle(bell.fileno()) for bell in bells]

    def ring(self, stage: int, worker: int, order: Order = Order.LOWEST) -> Ring:
        bells = [Bell(handle.fd) for handle in self.bells]
        return Ring(Segment.attach(self.segment.fd), bells, stage, worker, order)


def pin(place: int) -> None:
    """Keep this process on one of the cores it may use."""
    cores = sorted(ALL_CORES)
    os.sched_setaffinity(0, {cores[place % len(cores)]})


def pictures() -> list[np.ndarray]:
    """Four frames of noise, so that reading them costs what reading decoded frames costs."""
    noise = np.random.default_rng(7)
    return [noise.integers(0, 256, FRAME, np.uint8) for _ in range(4)]


def new_ring(stages: int) -> Passed:
    geometry = Geometry(slots=SLOTS, slot_bytes=FRAME, stages=stages, workers=stages)
    segment = Segment.create(geometry)
    return Passed(segment, [Bell.create() for _ in range(stages)])


def through_the_ring(frames: int) -> tuple[float, float]:
    """Frames a second through the ring, and frames a second of the same copies alone."""
    passed = new_ring(2)
    here, there = CONTEXT.Pipe()
    source = CONTEXT.Process(target=publish_all, args=(passed, frames, there))
    source.start()
    ring = passed.ring(1, 1, Order.WATERMARK)
    here.recv()
    here.send("go")
    for _ in range(frames):
        while (lease := ring.take()) is None:
            ring.wait(1)
        _ = lease.token
        ring.free(lease)
    rates = here.recv()
    source.join()
    return rates


def publish_all(passed: Passed, frames: int, told: Any) -> None:
    pin(CHILD)
    ring = passed.ring(0, 0)
    sources = pictures()
    slots: list[int] = []
    told.send("ready")
    told.recv()
    began = time.perf_counter()
    for k in range(frames):
        while (lease := ring.alloc()) is None:
            ring.wait(1)
        lease.view(0, (FRAME,), writable=True)[:] = sources[k % 4]
        slots.append(lease.slot)
        ring.publish(lease, TOKEN)
    while any(ring.segment.snapshot()[ring.segment.geometry.first_word :]):
        ring.wait(1)
    through = frames / (time.perf_counter() - began)
    whole = [
        np.frombuffer(ring.segment.memory, np.uint8, FRAME, ring.segment.geometry.slot_at(slot))
        for slot in range(SLOTS)
    ]
    began = time.perf_counter()
    for k, slot in enumerate(slots):
        whole[slot][:] = sources[k % 4]
    told.send((through, frames / (time.perf_counter() - began)))


def hops(rounds: int) -> list[float]:
    """Microseconds of each hop through an echoing stage."""
    passed = new_ring(3)
    echoing = CONTEXT.Process(target=echo, args=(passed, rounds))
    echoing.start()
    source, sink = passed.ring(0, 0), passed.ring(2, 2, Order.WATERMARK)
    taken = []
    for _ in range(rounds):
        lease = source.alloc()
        began = time.perf_counter_ns()
        source.publish(lease, TOKEN)
        while (back := sink.take()) is None:
            sink.wait(1)
        _ = back.token
        taken.append((time.perf_counter_ns() - began) / 2000)
        sink.free(back)
    echoing.join()
    return taken[rounds // 10 :]


def echo(passed: Passed, rounds: int) -> None:
    pin(CHILD)
    ring = passed.ring(1, 1)
    for _ in range(rounds):
        while (lease := ring.take()) is None:
            ring.wait(1)
        ring.give(lease, lease.token)


def ping_pong(rounds: int) -> list[float]:
    """Microseconds of each half round over two blocking eventfds."""
    there, back = os.eventfd(0), os.eventfd(0)
    answering = CONTEXT.Process(target=answer, args=(Handle(there), Handle(back), rounds))
    answering.start()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        os.eventfd_write(there, 1)
        os.eventfd_read(back)
        taken.append((time.perf_counter_ns() - began) / 2000)
    answering.join()
    os.close(there)
    os.close(back)
    return taken[rounds // 10 :]


def answer(there: Handle, back: Handle, rounds: int) -> None:
    pin(CHILD)
    for _ in range(rounds):
        os.eventfd_read(there.fd)
        os.eventfd_write(back.fd, 1)


def rate(frames: int, target: Callable[..., None], arguments: tuple, get: Callable) -> float:
    """Frames a second from a child that puts to this process, which gets."""
    here, there = CONTEXT.Pipe()
    putting = CONTEXT.Process(target=target, args=(*arguments, frames, there))
    putting.start()
    here.recv()
    here.send("go")
    began = time.perf_counter()
    for _ in range(frames):
        assert get().nbytes == FRAME
    taken = time.perf_counter() - began
    putting.join()
    return frames / taken


def put_all(put: Callable[[np.ndarray], object], frames: int, told: Any) -> None:
    pin(CHILD)
    sources = pictures()
    told.send("ready")
    told.recv()
    for k in range(frames):
        put(sources[k % 4])


def queue_rate(frames: int) -> float:
    queue = CONTEXT.Queue(SLOTS)
    return rate(frames, put_to_queue, (queue,), queue.get)


def put_to_queue(queue: Any, frames: int, told: Any) -> None:
    put_all(queue.put, frames, told)


def faster_fifo_rate(frames: int) -> float:
    from faster_fifo import Queue

    queue = Queue(max_size_bytes=SLOTS * (FRAME + 4096))
    return rate(frames, put_to_fifo, (queue,), lambda: queue.get(timeout=60))


def put_to_fifo(queue: Any, frames: int, told: Any) -> None:
    put_all(lambda picture: queue.put(picture, timeout=60), frames, told)


def pyzmq_rate(frames: int) -> float:
    import zmq

    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        address = f"ipc://{folder}/socket"
        pull = context.socket(zmq.PULL)
        pull.set_hwm(SLOTS)
        pull.bind(address)
        taken = rate(
            frames,
            push_to_socket,
            (address,),
            lambda: np.frombuffer(pull.recv(copy=False).buffer, np.uint8),
        )
        pull.close()
        return taken


def push_to_socket(address: str, frames: int, told: Any) -> None:
    import zmq

    with zmq.Context() as context:
        push = context.socket(zmq.PUSH)
        push.set_hwm(SLOTS)
        push.connect(address)
        put_all(lambda picture: push.send(picture, copy=False), frames, told)
        push.close()


def measure(repeats: int, frames: int, rounds: int) -> dict[str, Any]:
    """Run everything ``repeats`` times, one after the other each time."""
    seen: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        seen.setdefault(name, []).append(value)

    for _ in range(repeats):
        ring, copy = through_the_ring(frames)
        note("publish_take_per_s", ring)
        note("copy_per_s", copy)
        note("publish_take_over_copy", ring / copy)
        bare, hop = statistics.median(ping_pong(rounds)), statistics.median(hops(rounds))
        note("eventfd_us", bare)
        note("hop_us", hop)
        note("hop_over_eventfd", hop / bare)
        for name, other in (
            ("queue", queue_rate),
            ("faster_fifo", faster_fifo_rate),
            ("pyzmq", pyzmq_rate),
        ):
            found = other(frames // 4)
            note(f"{name}_per_s", found)
            note(f"publish_take_over_{name}", ring / found)
    return {
        name: {"median": round(statistics.median(values), 3), "all": [round(v, 3) for v in values]}
        for name, values in seen.items()
    }


def machine() -> dict[str, Any]:
    """Facts about the machine that a reader of the results needs."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(ALL_CORES),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "faster-fifo": installed("faster-fifo"),
        "pyzmq": installed("pyzmq"),
        "scheduler": {0: "SCHED_OTHER", 1: "SCHED_FIFO"}.get(os.sched_getscheduler(0), "other"),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the frame ring against its peers.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--frames", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    facts = machine()
    CONTEXT.set_forkserver_preload(["mpflow.shm"])
    CONTEXT.Process(target=pictures).start()  # the fork server starts before anything is pinned
    pin(PARENT)
    found = measure(asked.repeats, asked.frames, asked.rounds)
    facts["load_average_after"] = [round(load, 2) for load in os.getloadavg()]
    text = json.dumps(
        {
            "bench": "bench/shm/bench_ring.py",
            "settings": {
                "repeats": asked.repeats,
                "frames": asked.frames,
                "rounds": asked.rounds,
                "slots": SLOTS,
                "token_bytes": len(TOKEN),
            },
            "machine": facts,
            "results": found,
        },
        indent=2,
    )
    if asked.out is not None:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(text + "\n")
    for name, numbers in found.items():
        print(f"{name:32} {numbers['median']:10.2f}")


if __name__ == "__main__":
    main()
