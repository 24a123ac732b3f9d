"""When a person is told that frames come too late: one in a hundred, for some seconds.

p99 over the limit for 3 s --> told once      p99 under nine tenths of it for 10 s --> told again
"""

from __future__ import annotations

from dataclasses import dataclass

from mpflow.policies.latch import OFF, Latch, push_of
from mpflow.snapshot import Snapshot
from mpflow.spec import PipelineSpec

OVER_AFTER_S, UNDER_AFTER_S = 3.0, 10.0
UNDER_SHARE = 0.9
FEWEST = 10
"""Of fewer frames one in a hundred is just the worst of them."""


@dataclass(frozen=True, slots=True)
class AgeWatch:
    """Whether the age is over its limit."""

    over: Latch = OFF


@dataclass(frozen=True, slots=True)
class AgeNews:
    """The age has come to be over its limit, or is under it again, as a sentence."""

    over: bool
    reason: str


def age_limit(spec: PipelineSpec, max_latency: float) -> float:
    """The age in seconds that raises an alert: as asked, max_latency in live runs, else 0.

    ``max_latency`` is the one in force, which the owner may have changed.
    """
    if spec.alert_p99:
        return spec.alert_p99 / 1000
    return max_latency if spec.live else 0.0


def watch_age(
    state: AgeWatch, snapshot: Snapshot, now: float, *, limit: float
) -> tuple[AgeWatch, AgeNews | None]:
    """News of the age of frames at the output. ``limit`` is in seconds, 0 for none."""
    if not limit:
        return AgeWatch(), None
    age = snapshot.age
    push = push_of(age.p99, low=UNDER_SHARE * limit, high=limit) if age.count >= FEWEST else 0
    over = state.over.look(push, now, on_after=OVER_AFTER_S, off_after=UNDER_AFTER_S)
    if over.on == state.over.on:
        return AgeWatch(over), None
    how = "are older than" if over.on else "are again within"
    text = f"frames {how} {limit * 1000:.0f} ms at the output (p99 {age.p99 * 1000:.0f} ms)"
    return AgeWatch(over), AgeNews(over.on, text)
