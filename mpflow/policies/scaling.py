"""Which stage gets a worker or a thread, and which gives one back: tried, judged, taken back.

    measured for a second or more -> what would help? (moves.py) -> tried: did it?
                                                  | yes: go on from there
                                                  `-- no: taken back, not tried again for long

A worker that was not needed for half a minute is given back, one at a time, which is tried in the
same way. One trial at a time; what failed once waits two minutes, then four, and so on. So
measurements that are a little wrong cost a trial now and then, and never make the pipeline swing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from mpflow.policies.capacity import Figures, Sample, figures, keep, sample
from mpflow.policies.latch import OFF, Latch
from mpflow.policies.moves import LOSES, Move, Outlook, more_threads, more_workers, one_less
from mpflow.snapshot import Snapshot, StageView

__all__ = ["Move", "ScalingState", "scale"]

GROW_AFTER_S, SHRINK_AFTER_S = 1.0, 30.0
SETTLE_S = 1.0
"""Frames that were under way when a move took effect were made as before."""

TRIAL_S, TRIAL_FRAMES, LONGEST_TRIAL_S = 2.0, 16, 30.0
PATIENCE_S = 60.0
"""A worker that takes longer to open its stage, models and all, is not to be had."""

BAN_S, LONGEST_BAN_S = 120.0, 1920.0
QUIET_S = 10.0
"""After a move was taken back nothing is tried for so long."""

WORKING = ("ready", "busy")
"""States of a worker (mpflow.lifecycle) that has opened its stage."""

HELPED = 1.05
"""A trial that brought a twentieth did help; one that cost as much did harm."""


@dataclass(frozen=True, slots=True)
class Ban:
    """What is not to be tried before ``until``; the next ban will be twice as long."""

    until: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """Moves that were ordered, how it was before, and the sample from which on they count.

    ``back`` takes them back. ``fewer`` says that a worker was given back: that may do no harm,
    and need not help. ``made`` is when they had taken effect.
    """

    moves: tuple[Move, ...]
    back: tuple[Move, ...]
    fewer: bool
    ordered: float
    before: Figures
    made: float | None = None
    start: Sample | None = None


@dataclass(frozen=True, slots=True)
class ScalingState:
    """Samples since the last change, the trial under way, two switches, and what is banned.

    ``more`` and ``fewer`` say how long a move has been worth a trial; ``idle`` is the stage that
    ``fewer`` is about.
    """

    samples: tuple[Sample, ...] = ()
    trial: Trial | None = None
    more: Latch = OFF
    fewer: Latch = OFF
    idle: str = ""
    quiet_until: float = -math.inf
    bans: Mapping[str, Ban] = field(default_factory=dict)


def scale(
    state: ScalingState,
    snapshot: Snapshot,
    now: float,
    *,
    cores: int,
    threaded: Collection[str] = (),
) -> tuple[ScalingState, tuple[Move, ...]]:
    """The moves that are due. ``cores`` may be used; ``threaded`` stages can change their threads.

    A move is taken as made when a later snapshot shows its workers, or threads, at work.
    """
    current = sample(snapshot, now)
    if state.trial is not None:
        return _follow(state, state.trial, snapshot, current)
    state = replace(state, samples=keep(state.samples, current))
    measured = figures(state.samples[0], current, snapshot)
    if measured is None or now < state.quiet_until:
        return state, ()
    banned = {what for what, ban in state.bans.items() if now < ban.until}
    outlook = Outlook(snapshot, measured, cores, banned)
    return _weigh(state, outlook, threaded, now)


def _weigh(
    state: ScalingState, outlook: Outlook, threaded: Collection[str], now: float
) -> tuple[ScalingState, tuple[Move, ...]]:
    """Try what has been worth a trial for long enough; what helps goes before what saves."""
    moves = more_workers(outlook) or more_threads(outlook, threaded)
    more = state.more.look(1 if moves else -1, now, on_after=GROW_AFTER_S, off_after=0.0)
    if more.on and moves:
        return _try(state, outlook, moves, now)
    less = one_less(outlook)
    idle = less.stage if less else ""
    fewer = (state.fewer if idle == state.idle else OFF).look(
        1 if less and not moves else -1, now, on_after=SHRINK_AFTER_S, off_after=0.0
    )
    if fewer.on and less:
        return _try(state, outlook, (less,), now, fewer=True)
    return replace(state, more=more, fewer=fewer, idle=idle), ()


def _try(
    state: ScalingState,
    outlook: Outlook,
    moves: tuple[Move, ...],
    now: float,
    *,
    fewer: bool = False,
) -> tuple[ScalingState, tuple[Move, ...]]:
    back = tuple(_opposite(move, outlook.snapshot) for move in moves)
    trial = Trial(moves, back, fewer, now, outlook.measured)
    return ScalingState(trial=trial, bans=state.bans), moves


def _follow(
    state: ScalingState, trial: Trial, snapshot: Snapshot, current: Sample
) -> tuple[ScalingState, tuple[Move, ...]]:
    """Wait until the moves have taken effect, then until enough is known of it, then judge."""
    now = current.time
    if trial.made is None:
        if now - trial.ordered >= PATIENCE_S:
            return _take_back(state, trial, now, f"it did not come within {PATIENCE_S:.0f} s")
        made = all(_is_made(move, snapshot) for move in trial.moves)
        return replace(state, trial=replace(trial, made=now if made else None)), ()
    if trial.start is None:
        settled = now - trial.made >= SETTLE_S
        return replace(state, trial=replace(trial, start=current if settled else None)), ()
    if not _ripe(trial.start, current):
        return state, ()
    after = figures(trial.start, current, snapshot)
    if after is None or _good(trial, after, snapshot):  # without frames nothing was learnt
        return _stay(state, trial, trial.start, now), ()
    was, is_ = trial.before.rate, after.rate
    return _take_back(state, trial, now, f"{is_:.1f} frames/s after {was:.1f}")


def _ripe(start: Sample, current: Sample) -> bool:
    """Whether a trial has run for long enough to be judged."""
    seconds, frames = current.time - start.time, current.frames - start.frames
    return seconds >= LONGEST_TRIAL_S or (seconds >= TRIAL_S and frames >= TRIAL_FRAMES)


def _is_made(move: Move, snapshot: Snapshot) -> bool:
    stage = _stage(snapshot, move.stage)
    if move.threads is not None:
        return stage.threads == move.threads
    crew = [w for w in snapshot.workers if w.stage == stage.name and w.active]
    return len(crew) == move.workers and all(w.state in WORKING for w in crew)


def _good(trial: Trial, after: Figures, snapshot: Snapshot) -> bool:
    """Whether the moves are to stay."""
    before = trial.before
    if trial.fewer:
        if snapshot.live:
            return after.lost < before.lost + LOSES
        return after.rate * HELPED > before.rate
    if not snapshot.live:
        return after.rate >= HELPED * before.rate
    if before.lost >= LOSES:
        return after.lost <= before.lost - LOSES
    return all(_eased(*pair, before, after) for pair in zip(trial.back, trial.moves, strict=True))


def _eased(old: Move, new: Move, before: Figures, after: Figures) -> bool:
    """Whether each worker of a stage has become less busy, though as many frames come."""
    was = before.busy[old.stage] / (old.workers or 1)
    return after.busy[new.stage] / (new.workers or 1) * HELPED <= was


def _stay(state: ScalingState, trial: Trial, start: Sample, now: float) -> ScalingState:
    """Go on from there, by what the trial told. What was given back is not asked for at once."""
    given_back = [f"{move.stage}.more" for move in trial.moves if trial.fewer]
    return ScalingState(samples=(start,), bans=_banned(state.bans, given_back, now))


def _take_back(
    state: ScalingState, trial: Trial, now: float, how: str
) -> tuple[ScalingState, tuple[Move, ...]]:
    word = "cost too much" if trial.fewer else "did not help"
    back = tuple(
        replace(old, reason=f"{old.what} for {old.stage} again, as {new.what} {word}: {how}")
        for old, new in zip(trial.back, trial.moves, strict=True)
    )
    keys = [_key(move, fewer=trial.fewer) for move in trial.moves]
    bans = _banned(state.bans, keys, now)
    return ScalingState(quiet_until=now + QUIET_S, bans=bans), back


def _banned(bans: Mapping[str, Ban], keys: Iterable[str], now: float) -> Mapping[str, Ban]:
    """Forbid for two minutes at first, then for twice as long each time."""
    after = dict(bans)
    for key in keys:
        seconds = min(LONGEST_BAN_S, 2 * after[key].seconds) if key in after else BAN_S
        after[key] = Ban(now + seconds, seconds)
    return after


def _key(move: Move, *, fewer: bool) -> str:
    if move.threads is not None:
        return f"{move.stage}.threads"
    return f"{move.stage}.{'fewer' if fewer else 'more'}"


def _opposite(move: Move, snapshot: Snapshot) -> Move:
    stage = _stage(snapshot, move.stage)
    if move.threads is not None:
        return Move(move.stage, None, stage.threads, "")
    return Move(move.stage, stage.workers, None, "")


def _stage(snapshot: Snapshot, name: str) -> StageView:
    return next(stage for stage in snapshot.stages if stage.name == name)
