"""What the stages can do, from the counters of the last seconds: costs, rates and free cores.

    a stage does      workers / (busy seconds a frame)              frames a second
    the cores do      cores / (CPU seconds a frame, all stages)     frames a second

A stage that only waits (for a device, for another machine) uses no core, however busy it is.
Rates and costs compare counters, so what is measured begins when the last change took effect. The
CPU seconds come from the snapshot's window, as they are read too seldom to be compared: a change
of workers does not change what a frame takes of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mpflow.snapshot import Snapshot

EVERY_S, SPAN_S, MOST_SAMPLES = 1.0, 10.0, 120
"""A sample is kept each second, for ten seconds if that is enough, and two minutes at most."""

LEAST_S, LEAST_FRAMES = 1.0, 8
"""Less tells nothing: one batch more or less would."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at one moment; by stage: frames done, and seconds its workers were busy."""

    time: float
    frames: int
    lost: int
    done: Mapping[str, tuple[int, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """What was done between two samples, ``seconds`` apart.

    ``rate`` and ``arrivals`` are frames a second at the output and at the input, ``lost`` is the
    share that was dropped. By stage, ``cost`` is busy seconds a frame and ``busy`` seconds busy
    in each second, of all its workers together. ``used`` cores were at work for the pipeline,
    ``per_frame`` is their seconds for one frame.
    """

    seconds: float
    frames: int
    rate: float
    arrivals: float
    lost: float
    cost: Mapping[str, float]
    busy: Mapping[str, float]
    used: float
    per_frame: float


def sample(snapshot: Snapshot, now: float) -> Sample:
    """The counters of this moment."""
    done = {
        stage.name: (
            stage.frames,
            math.fsum(w.busy for w in snapshot.workers if w.stage == stage.name),
        )
        for stage in snapshot.stages
    }
    made = snapshot.frames + snapshot.undelivered  # that an output is away says nothing of stages
    late = snapshot.dropped - snapshot.undelivered + snapshot.missed
    return Sample(now, made, late, done)


def keep(samples: tuple[Sample, ...], new: Sample) -> tuple[Sample, ...]:
    """The samples of the last seconds, the oldest first, with a new one if it is time for one.

    They go further back where frames come so seldom that it takes longer to tell anything.
    """
    if samples and new.time - samples[-1].time < EVERY_S:
        return samples
    first = 0
    while first + 1 < len(samples) and _enough(samples[first + 1], new):
        first += 1
    return (*samples[max(first, len(samples) - MOST_SAMPLES) :], new)


def _enough(old: Sample, new: Sample) -> bool:
    """Whether an older sample than this one is no longer needed."""
    return new.time - old.time >= SPAN_S and new.frames - old.frames >= LEAST_FRAMES


def figures(before: Sample, after: Sample, snapshot: Snapshot) -> Figures | None:
    """What was done between two samples, the later of this moment; None when it is too little."""
    seconds, frames = after.time - before.time, after.frames - before.frames
    if seconds < LEAST_S or frames < LEAST_FRAMES:
        return None
    more = {
        name: tuple(
            max(0.0, new - old)
            for new, old in zip(counts, before.done.get(name, counts), strict=True)
        )
        for name, counts in after.done.items()
    }
    lost = max(0, after.lost - before.lost)
    on_cpu = math.fsum(worker.cpu_ratio for worker in snapshot.workers)
    per_frame = on_cpu / snapshot.rate if snapshot.rate else 0.0
    return Figures(
        seconds=seconds,
        frames=frames,
        rate=frames / seconds,
        arrivals=(frames + lost) / seconds,
        lost=lost / (frames + lost),
        cost={name: busy / done if done else 0.0 for name, (done, busy) in more.items()},
        busy={name: busy / seconds for name, (_, busy) in more.items()},
        used=per_frame * frames / seconds,
        per_frame=per_frame,
    )


def free_cores(now: Figures, snapshot: Snapshot, cores: int) -> float:
    """Cores that nobody uses. ``cpu_share`` counts other programs, which have theirs too."""
    return max(0.0, min(cores - now.used, cores * (1.0 - snapshot.cpu_share)))


def most_by_cores(now: Figures, free: float) -> float:
    """Frames a second that the cores can do for the pipeline, with so many of them free."""
    return (now.used + free) / now.per_frame if now.per_frame else math.inf


def most_by_workers(workers: int, cost: float) -> float:
    """Frames a second that so many workers can do."""
    return workers / cost if cost else math.inf
