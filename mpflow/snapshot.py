"""A running pipeline at one moment: what ``top``, the metrics and the policies look at.

Plain values, made by the supervisor a few times a second from the counters in shared memory.
Times are seconds; rates and ages cover the last seconds (``window``), counts the whole job.
"""

from __future__ import annotations

import msgspec

from mpflow.accounts import Spread
from mpflow.spec import Value
from mpflow.tokens import Mode

BUCKET_EDGES_S = tuple(2**power / 1e9 for power in range(20, 35))
"""From a millisecond to 17 seconds, each the double of the one before: powers of two in
nanoseconds, which are edges of the buckets in shared memory."""


class Buckets(Value, frozen=True):
    """Times of the whole job, for whoever does the sums: how many are below each of the edges, how
    many there are, and their sum in seconds."""

    below: tuple[int, ...] = ()
    count: int = 0
    total: float = 0.0


class WorkerView(Value, frozen=True):
    """One worker: ``state`` as the supervisor keeps it; ``doing`` as it says itself.

    ``busy``, ``waiting`` and ``cpu`` are seconds since the job began; ``busy_ratio`` and
    ``cpu_ratio`` are shares of the window, the second of one core. ``memory`` is the process's
    own bytes (unique set size where it can be read, else resident). ``batch_limit`` is the largest
    batch it takes at present.
    """

    label: str
    stage: str
    pid: int | None
    state: str
    doing: str
    active: bool
    frames: int
    batches: int
    busy: float
    waiting: float
    busy_ratio: float
    cpu: float
    cpu_ratio: float
    memory: int
    batch_limit: int
    restarts: int


class StageView(Value, frozen=True):
    """One stage, all its workers together, and the ring in front of it.

    ``depth`` frames wait for it, the oldest of them for ``oldest`` seconds since it was born;
    ``high_water`` is the largest depth of the job. ``rate`` is frames a second. ``busy_ratio`` is
    per worker that works at present, ``idle_ratio`` the share of frames' time at this stage in
    which nobody worked on them. ``service`` and ``waited`` are the frames' times of the window.
    Of the ``held`` frames, which are at the stage, it may keep ``holds`` back to wait for others.
    """

    name: str
    workers: int
    seats: int
    auto: bool
    threads: int
    depth: int
    held: int
    oldest: float
    high_water: int
    frames: int
    rate: float
    batch: float
    busy_ratio: float
    idle_ratio: float
    service: Spread
    waited: Spread
    shed: int
    degraded: int
    advice: str = ""
    services: Buckets = Buckets()
    holds: int = 0


class Snapshot(Value, frozen=True):
    """The whole pipeline. ``age`` is the time from a frame's arrival to its output.

    ``frames`` reached the end, of ``total`` if that is known; ``dropped`` did not, and of them
    ``undelivered`` not for lack of time: the output did not take them, or they were given up.
    ``missed`` never found a slot, ``degraded`` were delivered with less than was asked. ``memory``
    is bytes of all processes and the ring, ``memory_share`` and ``cpu_share`` (0..1) are the whole
    machine's, or the cgroup's, and ``idle_ratio`` the pipeline's. ``healthy`` says whether every
    stage is there and frames move, ``trouble`` why not. ``bottleneck`` is a sentence.
    """

    run: str
    name: str
    pid: int
    job: str
    preset: str
    state: str
    time: float
    uptime: float
    window: float
    live: bool
    mode: Mode
    level: int
    notes: tuple[str, ...]
    reason: str
    slots: int
    free: int
    frames: int
    total: int | None
    rate: float
    dropped: int
    missed: int
    degraded: int
    damaged: int
    restarts: int
    reconnects: int
    age: Spread
    idle_ratio: float
    bottleneck: str
    memory: int
    memory_share: float
    cpu_share: float
    healthy: bool
    trouble: str
    stages: tuple[StageView, ...] = ()
    workers: tuple[WorkerView, ...] = ()
    alerts: dict[str, int] = msgspec.field(default_factory=dict)
    ages: Buckets = Buckets()
    undelivered: int = 0
