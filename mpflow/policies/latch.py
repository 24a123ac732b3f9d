"""A switch that does not chatter: it turns only after a push that lasted.

    push +1  toward on       0  between the marks       -1  toward off
    off -- +1 for on_after seconds --> on -- -1 for off_after seconds --> off

With a high and a low mark this is a Schmitt trigger with a dwell time. Seconds spent between the
marks are taken off again, and a push the other way begins anew; so noise around either mark
alone never turns the switch there and back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

LONGEST_GAP_S = 1.0
"""Time between two looks counts no longer than this: what nobody looked at did not last."""


@dataclass(frozen=True, slots=True)
class Latch:
    """Whether it is on, for how many seconds it was pushed the other way, and the last look."""

    on: bool = False
    toward: float = 0.0
    seen: float | None = None

    def look(self, push: int, now: float, *, on_after: float, off_after: float) -> Latch:
        """The switch after one more look. Times are seconds, ``now`` of the monotonic clock."""
        step = between(self.seen, now)
        wanted = -push if self.on else push
        toward = max(0.0, self.toward + (step if wanted else -step)) if wanted >= 0 else 0.0
        if wanted > 0 and toward >= (off_after if self.on else on_after):
            return Latch(not self.on, 0.0, now)
        return replace(self, toward=toward, seen=now)


OFF = Latch()


def between(seen: float | None, now: float) -> float:
    """Seconds since the last look, as far as they count; none at the first look."""
    return 0.0 if seen is None else min(LONGEST_GAP_S, max(0.0, now - seen))


def push_of(value: float, *, low: float, high: float) -> int:
    """+1 from the high mark on, -1 up to the low mark, 0 between them."""
    if value >= high:
        return 1
    return -1 if value <= low else 0
