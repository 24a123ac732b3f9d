"""From which age on a frame comes too late for a stage, so that none is worked on in vain.

    limit of a stage = max_latency - margin
                       - work of this and all later stages      (nine of ten frames are done in it)
                       - queues in front of the later stages    (not in single-frame mode)
    limit of the sink = max_latency - its own work

The queues matter where a later stage is the slow one: what an earlier stage lets through then only
waits there until it is too old. Counting them stops the earlier stage as soon as the queue is as
long as can be done in time, so what it works on arrives.

Two more queues close the first stage, the entrance, to all frames for a moment: one that fills the
ring, as else the source would have to drop what stands in it; and, in single-frame mode, one before
the sink, which takes every frame in order while all others take the newest.

Even a frame that waited for nobody has an age when it comes to a stage. As long as there is no
queue behind it, no limit is below that with a tenth of max_latency on top: else nothing would ever
be let in again, and nothing measured, once a bad moment has made the stages look slow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from mpflow.policies.load import LEAST_BACKLOG
from mpflow.snapshot import Snapshot, StageView
from mpflow.tokens import Mode

MARGIN = 0.05
"""A share of max_latency for what is in no figure: bells, batches that wait, the clock's ticks."""

QUEUE_MARGIN = 1.1

GUESS = 0.5
"""The share of max_latency that all stages together are taken to need before one is measured."""

LEAST_ROOM = 0.1
"""A limit is at least so much of max_latency above the age of a frame that never waited."""

AHEAD_S = 0.2
"""The source must find slots for so many seconds, or what stands longest in the ring has to go."""

FEW, MANY = 5, 20
"""With fewer frames nothing is known; with few of them nine in ten may be the slow first one."""

CLOSED_S = 0.001
"""Every frame is older than this: nothing is let in, until the queue behind has become shorter."""

DEAD_BAND = 0.05
"""Limits that differ by less of max_latency are left as they are: news go to every worker."""


POSSIBLE_AGAIN = 0.9
"""The share of max_latency from which on the stages' work is taken to fit again."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What one stage takes for a frame, in seconds: nine in ten are done in ``most``."""

    usual: float
    most: float


@dataclass(frozen=True, slots=True)
class ShedState:
    """The limits in force, and what each stage needed when it was last measured."""

    after: Mapping[str, float] = field(default_factory=dict)
    needs: Mapping[str, Needs] = field(default_factory=dict)
    impossible: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """By stage, the age in seconds from which a frame is dropped instead of worked on.

    ``impossible`` is a sentence as soon as the stages' work alone takes longer than max_latency;
    it is said once.
    """

    after: dict[str, float]
    impossible: str = ""


def choose_limits(
    state: ShedState, snapshot: Snapshot, *, max_latency: float, skip: Collection[str] = ()
) -> tuple[ShedState, Limits | None]:
    """The limits of all stages but the source; None as long as the ones in force will do.

    Stages in ``skip`` are left out at present and need nothing. For live runs only.
    """
    needs = {**state.needs, **{s.name: n for s in snapshot.stages if (n := _needs(s)) is not None}}
    chain = [_chain_needs(s, needs, snapshot.stages, max_latency, skip) for s in snapshot.stages]
    after = _limits(snapshot, chain, max_latency, skip)
    whole = sum(need.most for need in chain)
    impossible = whole > max_latency * (POSSIBLE_AGAIN if state.impossible else 1.0)
    news = _sentence(chain, snapshot.stages, max_latency) if impossible > state.impossible else ""
    if not news and not _differ(state.after, after, DEAD_BAND * max_latency):
        return ShedState(state.after, needs, impossible), None
    return ShedState(after, needs, impossible), Limits(after, news)


def ready_limits(after: Mapping[str, float], stages: Sequence[str], ttl: float) -> list[float]:
    """From which age on frames that stand before each stage are freed, whoever they wait for.

    By number of the stage, in seconds; 0 for never. ``ttl`` 0 is without end.
    """
    limits = [after.get(stage, 0.0) for stage in stages]
    return [min(limit or ttl, ttl) if ttl else limit for limit in limits]


def _needs(stage: StageView) -> Needs | None:
    """What a stage was measured to need; None when too few frames came lately to tell."""
    service = stage.service
    if service.count < FEW:
        return None
    most = service.p90 if service.count >= MANY else min(service.p90, 2 * service.p50)
    return Needs(service.p50, most)


def _chain_needs(
    stage: StageView,
    needs: Mapping[str, Needs],
    stages: Sequence[StageView],
    max_latency: float,
    skip: Collection[str],
) -> Needs:
    """What counts for a stage: measured, else an equal part of the guess; the source is free."""
    if stage.name in skip:
        return Needs(0.0, 0.0)
    if stage is stages[0]:
        usual = needs[stage.name].usual if stage.name in needs else 0.0
        return Needs(usual, usual)
    guess = 0.0 if stage is stages[-1] else GUESS * max_latency / (len(stages) - 1)
    return needs.get(stage.name, Needs(guess, guess))


def _limits(
    snapshot: Snapshot, chain: Sequence[Needs], max_latency: float, skip: Collection[str]
) -> dict[str, float]:
    """From the last stage to the second: what is still to come adds up on the way."""
    queues = [0.0 if stage.name in skip else _queue(stage) for stage in snapshot.stages]
    single = snapshot.mode is Mode.SINGLE_FRAME
    names = [stage.name for stage in snapshot.stages]
    last = len(names) - 1
    after = {}
    work, queued = 0.0, 0.0
    for at in range(last, 0, -1):
        work += chain[at].most + (MARGIN * max_latency if at == last - 1 else 0.0)
        never_waited = sum(need.usual for need in chain[:at])
        least = min(max_latency, never_waited + LEAST_ROOM * max_latency)
        after[names[at]] = max(CLOSED_S, max(least, max_latency - work) - queued)
        queued += 0.0 if single else queues[at]
    in_line = single and queues[last] > LEAST_ROOM * max_latency
    if last > 1 and (in_line or _crowded(snapshot)):
        after[names[1]] = CLOSED_S
    return {name: after[name] for name in names[1:]}


def _queue(stage: StageView) -> float:
    """Seconds that a frame which comes to a stage now will wait there.

    What stands there is worked off at the pace of a stage that is fully busy, and what its workers
    have in hand is half done. It is taken for a tenth longer than it looks, so that an earlier
    stage stops before this one has to drop what was worked on.
    """
    if not (stage.rate and stage.depth):
        return 0.0
    return QUEUE_MARGIN * (stage.depth + 0.5 * stage.workers) * stage.busy_ratio / stage.rate


def _crowded(snapshot: Snapshot) -> bool:
    """Whether frames that were worked on fill the ring, so that the next ones find no slot."""
    source, _, *later = snapshot.stages
    queued = any(stage.depth >= LEAST_BACKLOG for stage in later)
    return queued and snapshot.free <= AHEAD_S * source.rate


def _differ(old: Mapping[str, float], new: Mapping[str, float], band: float) -> bool:
    """Whether it matters to the workers; that a stage is closed, or open again, always does."""
    return old.keys() != new.keys() or any(
        abs(old[name] - new[name]) > band or (old[name] == CLOSED_S) != (new[name] == CLOSED_S)
        for name in new
    )


def _sentence(chain: Sequence[Needs], stages: Sequence[StageView], max_latency: float) -> str:
    whole = math.fsum(need.most for need in chain)
    slowest = max(range(len(chain)), key=lambda at: chain[at].most)
    return (
        f"a frame takes {whole:.2g} s of work, {chain[slowest].most:.2g} s of it at"
        f" {stages[slowest].name}, and max_latency is {max_latency:g} s: most frames are dropped"
    )
