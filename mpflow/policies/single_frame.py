"""When batches stop: single-frame mode, one frame at a time and the newest first.

    throughput --strained for half of max_latency--> single-frame
    single-frame --relieved for 5 s, and no rung of the ladder in force--> throughput

Each return that did not last doubles the time to the next one, so a load that single-frame mode
just bears is not tried again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from mpflow.policies.latch import OFF, Latch
from mpflow.policies.load import Load
from mpflow.policies.pressure import Pressure
from mpflow.tokens import Mode

SHORTEST_STRAIN_S, LONGEST_STRAIN_S = 0.3, 2.0
"""A burst shorter than this is borne: half of max_latency, within these bounds."""

LEAVE_AFTER_S, LATEST_LEAVE_S = 5.0, 80.0
LASTING_S = 60.0
"""A return to throughput mode that lasts as long was right."""


class Wish(StrEnum):
    """Which mode a person asked for."""

    AUTO = "auto"
    SINGLE = "single"
    THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class ModeChange:
    """The mode from now on, and why."""

    mode: Mode
    reason: str


@dataclass(frozen=True, slots=True)
class ModeState:
    """The switch between both modes, how long a light load must last, and the last return."""

    strain: Latch = OFF
    leave_after: float = LEAVE_AFTER_S
    left: float | None = None

    @property
    def mode(self) -> Mode:
        """The mode in force."""
        return Mode.SINGLE_FRAME if self.strain.on else Mode.THROUGHPUT


def choose_mode(  # noqa: PLR0913 - all that decides, by name
    state: ModeState,
    load: Load,
    pressure: Pressure,
    now: float,
    *,
    wish: Wish,
    allowed: bool,
    level: int,
    max_latency: float,
) -> tuple[ModeState, ModeChange | None]:
    """The mode at one moment, and what is to be told when it is another than before.

    ``allowed`` says whether the run may enter it by itself: live runs always, others when they may
    be degraded. ``level`` is how many rungs of the ladder are in force. Who goes back from a mode
    that was asked for to ``auto`` stays in it until the load says otherwise.
    """
    if wish is not Wish.AUTO or not allowed:
        after = ModeState(Latch(on=wish is Wish.SINGLE))
        return after, _news(state, after, "it was asked for")
    strain = state.strain.look(
        _push(load, pressure, level if state.strain.on else 0),
        now,
        on_after=min(LONGEST_STRAIN_S, max(SHORTEST_STRAIN_S, max_latency / 2)),
        off_after=state.leave_after,
    )
    if strain.on and not state.strain.on:
        after = ModeState(strain, _leave_after(state, now), state.left)
        why = pressure.why if pressure.memory and not load.strained else load.why
        return after, _news(state, after, why)
    if state.strain.on and not strain.on:
        after = replace(state, strain=strain, left=now)
        light = f"the load has been light for {state.leave_after:.0f} s"
        return after, _news(state, after, light)
    return replace(state, strain=strain), None


def _push(load: Load, pressure: Pressure, level: int) -> int:
    """Which way the load pushes. Smaller batches take less memory, but no less CPU time."""
    push = 1 if pressure.memory else load.push
    return max(0, push) if level else push


def _leave_after(state: ModeState, now: float) -> float:
    """How long the load must be light this time: twice as long if the last return did not last."""
    if state.left is None or now - state.left >= LASTING_S:
        return LEAVE_AFTER_S
    return min(LATEST_LEAVE_S, 2 * state.leave_after)


def _news(before: ModeState, after: ModeState, why: str) -> ModeChange | None:
    if after.mode is before.mode:
        return None
    return ModeChange(after.mode, f"{after.mode} mode: {why}")
