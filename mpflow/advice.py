"""What holds a pipeline up, as one sentence that a user can act on.

    encode is the limit: 92 % busy; a faster preset or a hardware encoder would help

A stage's own ``advice`` ends the sentence. Pure functions of how busy each stage was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 0.7
"""From this share of its time on, a stage that works is what the others wait for."""

FULL_CPU = 0.9
"""From here on the cores are all taken, and a stage waits for them while it seems to work."""

QUIET = 0.4
"""Below this share nothing in a live run is near its limit."""


@dataclass(frozen=True, slots=True)
class Load:
    """One stage: the share of their time, 0..1, that its workers worked, and what would help."""

    name: str
    busy: float
    advice: str = ""


def bottleneck(loads: Sequence[Load], *, cpu: float | None = None, live: bool = False) -> str:
    """The sentence; empty before anything has worked. ``cpu`` is the share of the cores in use."""
    busiest = max(loads, key=lambda load: load.busy, default=None)
    if busiest is None or busiest.busy <= 0:
        return ""
    if busiest.busy >= LIMIT:
        return f"{busiest.name} is the limit: {percent(busiest.busy)} busy{_help(busiest.advice)}"
    told = f"{busiest.name}, the busiest stage, works {percent(busiest.busy)} of the time"
    if cpu is not None and cpu >= FULL_CPU:
        return f"the processor is the limit: {percent(cpu)} in use; {told}; more cores would help"
    if live and busiest.busy < QUIET:
        return f"nothing is near its limit: {told}"
    if live:
        return f"nothing is at its limit: {told}"
    return f"no stage alone is the limit: {told}; the stages wait for each other in turn"


def percent(share: float) -> str:
    """``92 %``; never more than all of it."""
    return f"{100 * min(share, 1.0):.0f} %"


def _help(advice: str) -> str:
    return f"; {advice}" if advice else ""
