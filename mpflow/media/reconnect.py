"""When to connect again: soon at first, then less often, and not for ever."""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Outage:
    """A loss of the input: ``since`` a moment (seconds), after ``tries`` attempts in vain."""

    since: float
    tries: int = 0

    def pause(self) -> float:
        """Seconds before the next attempt: each time twice as long."""
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self.tries, 16))

    def left(self, now: float, retry: float) -> float:
        """Seconds in which it may still be tried, of ``retry`` in all."""
        return self.since + retry - now

    def tried(self) -> Outage:
        """One more attempt."""
        return replace(self, tries=self.tries + 1)
