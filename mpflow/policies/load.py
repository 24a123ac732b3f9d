"""How the pipeline bears its load, in four figures that need no unit.

Single-frame mode hides a load: it drops what it cannot do, and the queues look empty. So the
queues alone do not tell when it may end: what was dropped counts too, and how busy the busiest
stage would be if nothing had been dropped in front of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mpflow.policies.latch import between
from mpflow.snapshot import Snapshot, StageView

MEMORY_S = 3.0
"""What was dropped and who was busy is told of about the last three seconds."""

HIGH_SHARE, LOW_SHARE = 0.5, 0.25
"""Marks of the queue and of the time spent waiting."""

HIGH_LOST, LOW_LOST = 0.05, 0.01
LIGHT_DEMAND, LIGHT_LOST = 0.85, 0.15
"""The busiest stage has a seventh of its time to spare: what little is dropped comes of moments
in which two frames came at once, and waiting a little would have saved them."""

LEAST_BACKLOG = 3
"""Fewer frames are no queue, however small the ring."""

_FEW_FRAMES = 1.0
"""Put to the frames of a share, so that it fades when none come any more."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much there is to do, against what can be done.

    ``backlog`` is the longest queue of a stage as a share of the ring. ``waited`` is how much of
    the time there is to spare (the largest latency without all work) the oldest frame has spent
    waiting. ``lost`` is the share of frames that were dropped or found no slot. ``demand`` is what
    the busiest stage is asked for, as a share of what it can do; it is told for live runs only, as
    in any other run some stage is always fully busy. ``where`` is the stage with the longest queue,
    ``arrivals`` how many frames came in a second.
    """

    backlog: float = 0.0
    waited: float = 0.0
    lost: float = 0.0
    demand: float = 0.0
    where: str = ""
    arrivals: float = 0.0

    @property
    def strained(self) -> bool:
        """Whether the pipeline cannot keep up."""
        return max(self.backlog, self.waited) >= HIGH_SHARE or self.lost >= HIGH_LOST

    @property
    def relieved(self) -> bool:
        """Whether it keeps up with ease. Neither is true between the marks."""
        queued = max(self.backlog, self.waited)
        light = self.demand <= LIGHT_DEMAND and self.lost <= LIGHT_LOST
        return queued <= LOW_SHARE and (self.lost <= LOW_LOST or light)

    @property
    def push(self) -> int:
        """For a latch: -1 relieved, +1 strained."""
        return -1 if self.relieved else int(self.strained)

    @property
    def why(self) -> str:
        """The largest trouble, as a part of a sentence."""
        if self.backlog >= HIGH_SHARE:
            return f"frames wait for {self.where} in {self.backlog:.0%} of the ring"
        if self.waited >= HIGH_SHARE:
            return f"frames wait for {self.where} too long"
        return f"{self.lost:.0%} of the frames are dropped"


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over the last seconds, older ones fading; and the counters they were taken from."""

    sums: tuple[float, ...] = ()
    last: tuple[float, ...] = ()

    def note(self, counts: tuple[float, ...], keep: float) -> Tally:
        """Fade the sums to the share ``keep``, and take in what the counters have grown by."""
        if not self.last:
            return Tally((0.0,) * len(counts), counts)
        more = (max(0.0, new - old) for new, old in zip(counts, self.last, strict=True))
        return Tally(tuple(a * keep + b for a, b in zip(self.sums, more, strict=True)), counts)


NOTHING = Tally()


@dataclass(frozen=True, slots=True)
class LoadState:
    """What is remembered between two looks: frames at the end, at each stage, and workers' time."""

    seen: float | None = None
    ends: Tally = NOTHING
    stages: Mapping[str, Tally] = field(default_factory=dict)
    workers: Mapping[str, Tally] = field(default_factory=dict)


def measure(
    state: LoadState, snapshot: Snapshot, now: float, *, max_latency: float
) -> tuple[LoadState, Load]:
    """The load at one moment. ``max_latency`` is in seconds, ``now`` of the monotonic clock."""
    keep = math.exp(-between(state.seen, now) / MEMORY_S)
    after = LoadState(
        now,
        state.ends.note((snapshot.frames + snapshot.undelivered, _late(snapshot)), keep),
        {
            stage.name: state.stages.get(stage.name, NOTHING).note((stage.frames, stage.shed), keep)
            for stage in snapshot.stages[1:]
        },
        {
            worker.label: state.workers.get(worker.label, NOTHING).note(
                (worker.busy, worker.waiting), keep
            )
            for worker in snapshot.workers
        },
    )
    longest = max(snapshot.stages[1:], key=lambda s: (s.depth, s.oldest), default=None)
    load = Load(
        backlog=_backlog(longest, snapshot),
        waited=_waited(snapshot, max_latency),
        lost=_share(*after.ends.sums) if snapshot.live else 0.0,
        demand=_demand(after, snapshot) if snapshot.live else 0.0,
        where=longest.name if longest else "",
        arrivals=sum(after.ends.sums) / MEMORY_S,
    )
    return after, load


def _backlog(longest: StageView | None, snapshot: Snapshot) -> float:
    if longest is None or longest.depth < LEAST_BACKLOG:
        return 0.0
    return longest.depth / max(1, snapshot.slots)


def _waited(snapshot: Snapshot, max_latency: float) -> float:
    """The largest share of the time to spare that a frame which stands in a queue has waited."""
    services = [stage.service.p50 for stage in snapshot.stages]
    spare = max(max_latency - sum(services), max_latency / 10)
    shares = [
        (stage.oldest - sum(services[:at])) / spare
        for at, stage in enumerate(snapshot.stages)
        if at and stage.depth
    ]
    return max(0.0, *shares, 0.0)


def _share(delivered: float, lost: float) -> float:
    return lost / (delivered + lost + _FEW_FRAMES)


def _demand(state: LoadState, snapshot: Snapshot) -> float:
    """How busy the busiest stage would be if no frame had been dropped before it; 1 is fully."""
    return max((_demand_of(stage, state, snapshot) for stage in state.stages), default=0.0)


def _demand_of(stage: str, state: LoadState, snapshot: Snapshot) -> float:
    done, shed = state.stages[stage].sums
    crew = [w.label for w in snapshot.workers if w.stage == stage and w.active]
    busy = sum(state.workers[label].sums[0] for label in crew)
    waiting = sum(state.workers[label].sums[1] for label in crew)
    if not done:
        return math.inf if shed else 0.0
    return busy / (busy + waiting) * (done + shed) / done if busy else 0.0


def _late(snapshot: Snapshot) -> int:
    """Frames that were lost for lack of time; that an output is away is no load."""
    return snapshot.dropped - snapshot.undelivered + snapshot.missed
