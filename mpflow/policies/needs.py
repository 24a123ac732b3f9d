"""What each stage takes for a frame, as far as the limits of age have to know.

    work    measured: half of the frames are done in ``usual``, nine in ten in ``most``
    wait    of a stage that keeps frames back for later ones: how many stand there without being
            worked on, and how fast frames pass, say for how long each stays (Little's law)

Both are remembered while no frames come: the next ones will need the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpflow.snapshot import Snapshot, StageView

FEW, MANY = 5, 20
"""With fewer frames nothing is known; with few of them nine in ten may be the slow first one."""

HELD_SHARE, RATE_KEPT = 0.02, 0.99
"""At ten looks a second, what stands at a stage is its mean over some seconds; and a rate fades as
slowly, since after a silence the window has only begun to fill."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Seconds that a frame spends at a stage: half of them ``usual``, nine in ten at most ``most``.

    ``wait`` of the ``most`` it waits for later frames.
    """

    usual: float
    most: float
    wait: float = 0.0

    def with_wait(self, usual: float, most: float) -> Needs:
        """The same with seconds in which it waits for later frames."""
        return Needs(self.usual + usual, self.most + most, most)


NOTHING = Needs(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Flow:
    """What passes a stage: the frames that stand there, on average, and frames a second."""

    held: float = 0.0
    rate: float = 0.0


def measured(stage: StageView) -> Needs | None:
    """The work of a stage; None when too few frames came lately to tell."""
    service = stage.service
    if service.count < FEW:
        return None
    most = service.p90 if service.count >= MANY else min(service.p90, 2 * service.p50)
    return Needs(service.p50, most)


def flows(before: Mapping[str, Flow], snapshot: Snapshot) -> dict[str, Flow]:
    """What passes the stages that may keep frames back; to be called when frames have come."""
    return {
        stage.name: _flow(before.get(stage.name, Flow()), stage)
        for stage in snapshot.stages[1:-1]
        if stage.holds
    }


def with_waits(
    works: Sequence[Needs], stages: Sequence[StageView], passing: Mapping[str, Flow]
) -> list[Needs]:
    """The needs of the stages, with what frames wait there for later ones."""
    pairs = zip(works, stages, strict=True)
    return [_with_wait(work, stage, passing.get(stage.name, Flow())) for work, stage in pairs]


def sentence(chain: Sequence[Needs], stages: Sequence[StageView], max_latency: float) -> str:
    """Why most frames will be too late, whatever is done."""
    whole = math.fsum(need.most for need in chain)
    at = max(range(len(chain)), key=lambda at: chain[at].most)
    name, slowest = stages[at].name, chain[at]
    if slowest.wait > slowest.most / 2:
        parts = f"{whole:.2g} s, {slowest.wait:.2g} s of it while {name} waits for later frames"
    else:
        parts = f"{whole:.2g} s of work, {slowest.most:.2g} s of it at {name}"
    return f"a frame takes {parts}, and max_latency is {max_latency:g} s: most frames are dropped"


def _flow(before: Flow, stage: StageView) -> Flow:
    held = before.held + HELD_SHARE * (stage.held - before.held)
    return Flow(held, max(stage.rate, RATE_KEPT * before.rate))


def _with_wait(work: Needs, stage: StageView, flow: Flow) -> Needs:
    """From nobody to all that a stage may keep wait in turn: twice the mean is the longest."""
    if not (stage.holds and flow.rate):
        return work
    in_hand = stage.workers * stage.busy_ratio * max(stage.batch, 1.0)
    waiting = min(max(flow.held - in_hand, 0.0), stage.holds)
    return work.with_wait(waiting / flow.rate, min(2 * waiting, stage.holds) / flow.rate)
