"""Whether anything arrives at all: a live run may be well and busy, and yet drop every frame.

nothing at the output for a while, though frames were dropped meanwhile --> told, once in a while
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mpflow.snapshot import Snapshot

NOTHING_S = 5.0
"""So long is no moment any more; three times the largest latency, where that is longer."""

FEWEST = 10
"""Of so few frames all may have been late by chance."""

QUIET_S = 60.0
"""A run in which now and then a frame arrives is not told of each time."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What had reached the end at last, when that was, what each stage had dropped by then, and
    when somebody was told."""

    frames: int = -1
    since: float = 0.0
    shed: Mapping[str, int] = field(default_factory=dict)
    told: float | None = None


def watch(state: Arrivals, snapshot: Snapshot, max_latency: float) -> tuple[Arrivals, str]:
    """Whether frames arrive; a sentence for a person when none has for too long.

    A frame has arrived, too, that an output did not take which is away. Times are of
    ``Snapshot.uptime``.
    """
    frames, now = snapshot.frames + snapshot.undelivered, snapshot.uptime
    shed = {stage.name: stage.shed for stage in snapshot.stages}
    if frames != state.frames:
        return Arrivals(frames, now, shed, state.told), ""
    dropped = {name: count - state.shed.get(name, 0) for name, count in shed.items()}
    lately = state.told is not None and now - state.told < QUIET_S
    still = now - state.since
    if lately or still < max(NOTHING_S, 3 * max_latency) or sum(dropped.values()) < FEWEST:
        return state, ""
    where = max(dropped, key=lambda name: dropped[name])
    text = (
        f"no frame has come through for {still:.0f} s: {sum(dropped.values())} were dropped, most"
        f" of them too old for {where}; max_latency is {max_latency:g} s"
    )
    return replace(state, told=now), text
