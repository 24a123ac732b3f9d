"""From which age on a frame comes too late for a stage, so that none is worked on in vain.

    limit of a stage = max_latency - margin
                       - work of this and all later stages      (nine of ten frames are done in it)
                       - what they keep frames back for later ones
                       - queues in front of the later stages    (not in single-frame mode)
    limit of the sink = max_latency - its own work

The queues matter where a later stage is the slow one: what an earlier stage lets through then only
waits there until it is too old. Counting them stops the earlier stage as soon as the queue is as
long as can be done in time, so what it works on arrives.

Two more queues close the first stage, the entrance, to all frames for a moment: one that fills the
ring, as else the source would have to drop what stands in it; and, in single-frame mode, one before
the sink, which takes every frame in order while all others take the newest. Whatever closed it, it
opens again only when the queue is shorter by a step, and in time for the next frame to arrive
before the queue is empty; so it is not closed and opened at every look.

Even a frame that waited for nobody has an age when it comes to a stage. As long as there is no
queue behind it, no limit is below that with a tenth of max_latency on top: else nothing would ever
be let in again, and nothing measured, once a bad moment has made the stages look slow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mpflow.policies.arrivals import Arrivals, watch
from mpflow.policies.load import LEAST_BACKLOG
from mpflow.policies.needs import NOTHING, Flow, Needs, flows, measured, sentence, with_waits
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

CLOSED_S = 0.001
"""Every frame is older than this: nothing is let in, until the queue behind has become shorter."""

LOOK_S = 0.1
"""What is decided is heard of at the next look."""

DEAD_BAND = 0.05
"""Limits that differ by less of max_latency are left as they are: news go to every worker."""

POSSIBLE_AGAIN = 0.9
"""The share of max_latency from which on the stages' work is taken to fit again."""


@dataclass(frozen=True, slots=True)
class ShedState:
    """The limits in force; what each stage needed when it was last measured, and kept back; how
    many frames have come; whether the stages' work takes too long, and whether the entrance is
    closed."""

    after: Mapping[str, float] = field(default_factory=dict)
    needs: Mapping[str, Needs] = field(default_factory=dict)
    flows: Mapping[str, Flow] = field(default_factory=dict)
    came: int = 0
    impossible: bool = False
    closed: bool = False
    arrivals: Arrivals = field(default_factory=Arrivals)


@dataclass(frozen=True, slots=True)
class Limits:
    """By stage, the age in seconds from which a frame is dropped instead of worked on.

    ``impossible`` is a sentence as soon as what a frame needs takes longer than max_latency, and
    when none has come through for a while; it is said once.
    """

    after: dict[str, float]
    impossible: str = ""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is before a frame: what each stage needs, and seconds of queue in front of each."""

    snapshot: Snapshot
    chain: Sequence[Needs]
    queues: Sequence[float]
    max_latency: float

    @property
    def single(self) -> bool:
        """Whether only the newest frames count."""
        return self.snapshot.mode is Mode.SINGLE_FRAME


def choose_limits(
    state: ShedState, snapshot: Snapshot, *, max_latency: float, skip: Collection[str] = ()
) -> tuple[ShedState, Limits | None]:
    """The limits of all stages but the source; None as long as the ones in force will do.

    Stages in ``skip`` are left out at present and need nothing. For live runs only.
    """
    state = _measure(state, snapshot)
    outlook = _outlook(state, snapshot, max_latency, skip)
    after = _limits(outlook)
    closed = _is_closed(outlook, after[snapshot.stages[1].name], was=state.closed)
    if closed:
        after[snapshot.stages[1].name] = CLOSED_S
    whole = math.fsum(need.most for need in outlook.chain)
    impossible = whole > max_latency * (POSSIBLE_AGAIN if state.impossible else 1.0)
    arrivals, news = watch(state.arrivals, snapshot, max_latency)
    if impossible > state.impossible:
        news = sentence(outlook.chain, snapshot.stages, max_latency)
    state = replace(state, impossible=impossible, closed=closed, arrivals=arrivals)
    if not news and not _differ(state.after, after, DEAD_BAND * max_latency):
        return state, None
    return replace(state, after=after), Limits(after, news)


def ready_limits(after: Mapping[str, float], stages: Sequence[str], ttl: float) -> list[float]:
    """From which age on frames that stand before each stage are freed, whoever they wait for.

    By number of the stage, in seconds; 0 for never. ``ttl`` 0 is without end.
    """
    limits = [after.get(stage, 0.0) for stage in stages]
    return [min(limit or ttl, ttl) if ttl else limit for limit in limits]


def _measure(state: ShedState, snapshot: Snapshot) -> ShedState:
    """What is known of the stages after one more look; nothing new while no frames come."""
    needs = {s.name: n for s in snapshot.stages if (n := measured(s)) is not None}
    came = snapshot.stages[0].frames
    passing = flows(state.flows, snapshot) if came != state.came else state.flows
    return replace(state, needs={**state.needs, **needs}, flows=passing, came=came)


def _outlook(
    state: ShedState, snapshot: Snapshot, max_latency: float, skip: Collection[str]
) -> Outlook:
    stages = snapshot.stages
    works = [_work(s, state.needs, stages, max_latency) for s in stages]
    chain = with_waits(works, stages, state.flows)
    pairs = zip(chain, stages, strict=True)
    chain = [NOTHING if stage.name in skip else need for need, stage in pairs]
    queues = [0.0 if stage.name in skip else _queue(stage) for stage in stages]
    return Outlook(snapshot, chain, queues, max_latency)


def _work(
    stage: StageView, needs: Mapping[str, Needs], stages: Sequence[StageView], max_latency: float
) -> Needs:
    """What counts for a stage: measured, else an equal part of the guess; the source is free."""
    if stage is stages[0]:
        usual = needs[stage.name].usual if stage.name in needs else 0.0
        return Needs(usual, usual)
    guess = 0.0 if stage is stages[-1] else GUESS * max_latency / (len(stages) - 1)
    return needs.get(stage.name, Needs(guess, guess))


def _limits(outlook: Outlook) -> dict[str, float]:
    """From the last stage to the second: what is still to come adds up on the way."""
    chain, max_latency = outlook.chain, outlook.max_latency
    names = [stage.name for stage in outlook.snapshot.stages]
    last = len(names) - 1
    after = {}
    work, queued = 0.0, 0.0
    for at in range(last, 0, -1):
        work += chain[at].most + (MARGIN * max_latency if at == last - 1 else 0.0)
        never_waited = sum(need.usual for need in chain[:at])
        least = min(max_latency, never_waited + LEAST_ROOM * max_latency)
        after[names[at]] = max(CLOSED_S, max(least, max_latency - work) - queued)
        queued += 0.0 if outlook.single else outlook.queues[at]
    return {name: after[name] for name in names[1:]}


def _is_closed(outlook: Outlook, limit: float, *, was: bool) -> bool:
    """Whether the entrance takes nothing at present; ``limit`` is what it has without that.

    Once it is closed it stays so until the queue is as short as a frame takes from there.
    """
    _, entrance, *later = outlook.chain
    if not later:
        return False
    step = LEAST_ROOM * outlook.max_latency
    way = LOOK_S + entrance.usual + math.fsum(need.usual for need in later[:-1])
    line = outlook.queues[-1] if outlook.single else 0.0
    if _crowded(outlook.snapshot):
        return True
    if not was:
        return line > way + step or limit <= CLOSED_S
    scarce = _is_scarce(outlook.snapshot, 2 * AHEAD_S) and max(outlook.queues[2:]) > way
    return line > way or limit < step or scarce


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
    _, _, *later = snapshot.stages
    queued = any(stage.depth >= LEAST_BACKLOG for stage in later)
    return queued and _is_scarce(snapshot, AHEAD_S)


def _is_scarce(snapshot: Snapshot, seconds: float) -> bool:
    """Whether the source will have found the last free slot so soon."""
    return snapshot.free <= seconds * snapshot.stages[0].rate


def _differ(old: Mapping[str, float], new: Mapping[str, float], band: float) -> bool:
    """Whether it matters to the workers; that a stage is closed, or open again, always does."""
    return old.keys() != new.keys() or any(
        abs(old[name] - new[name]) > band or (old[name] == CLOSED_S) != (new[name] == CLOSED_S)
        for name in new
    )
