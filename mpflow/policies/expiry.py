"""Frames that live too long in somebody's hands: who is to be killed, so that others go on.

A frame that stands and waits needs no killing: in a live run it is freed like one that is too old
(see shedding), in a file run it waits as long as it takes. Of the held ones, only their holder can
let go. In a live run it has a few seconds for that after the frame has expired; in a file run each
holder has the whole time to live for itself, and the frame is tried again from its slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mpflow.policies.latch import between

GRACE_S = 5.0
"""A holder lets go of an expired frame between two batches; so long may one take."""


@dataclass(frozen=True, slots=True)
class HeldFrame:
    """A frame in the hands of a worker at one look.

    ``age`` is in seconds since it was born. ``excused`` while its holder builds, or waits for what
    is not on its way (a stage that looks ahead at a source which is silent).
    """

    slot: int
    seq: int
    worker: int
    label: str
    age: float
    excused: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """A worker that is to be killed for a frame's sake, with the reason as a sentence."""

    worker: int
    seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class ExpiryState:
    """For how many seconds each frame was seen in the same hands."""

    seen: float | None = None
    held: Mapping[tuple[int, int, int], float] = field(default_factory=dict)


def judge(
    state: ExpiryState, frames: Sequence[HeldFrame], now: float, *, ttl: float, live: bool
) -> tuple[ExpiryState, tuple[Kill, ...]]:
    """Who holds a frame past its time to live, in seconds (0: nobody ever does), the oldest first.

    A frame that comes back to the same worker between two looks counts as held all the time: a
    worker that gives on nothing else between is no better. Who is to be killed has all its time
    again, so that it is not told twice while it dies.
    """
    if not ttl:
        return state, ()
    step = between(state.seen, now)
    held = {_key(frame): _held(frame, state, step) for frame in frames}
    late = {
        frame.worker: frame
        for frame in sorted(frames, key=lambda frame: -frame.seq)
        if not frame.excused and _expired(frame, held[_key(frame)], ttl, live)
    }
    kills = tuple(_kill(frame, held[_key(frame)], ttl, live) for frame in late.values())
    spared = {key: seconds for key, seconds in held.items() if key[2] not in late}
    return ExpiryState(now, spared), tuple(sorted(kills, key=lambda kill: kill.seq))


def _key(frame: HeldFrame) -> tuple[int, int, int]:
    return frame.slot, frame.seq, frame.worker


def _held(frame: HeldFrame, state: ExpiryState, step: float) -> float:
    """Seconds in these hands. Those in which the holder is excused do not count."""
    before = state.held.get(_key(frame))
    if before is None or frame.excused:
        return before or 0.0
    return before + step


def _expired(frame: HeldFrame, held: float, ttl: float, live: bool) -> bool:
    if live:
        return frame.age > ttl + GRACE_S and held > GRACE_S
    return held > ttl


def _kill(frame: HeldFrame, held: float, ttl: float, live: bool) -> Kill:
    since = f"is {frame.age:.0f} s old" if live else f"has been there for {held:.0f} s"
    return Kill(
        frame.worker,
        frame.seq,
        f"stage {frame.label} keeps frame {frame.seq}, which {since} (ttl {ttl:g} s)",
    )
