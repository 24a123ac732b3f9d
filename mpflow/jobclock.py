"""The clock of one job: a deadline once it must end, and how long a wait has been silent.

Time comes in as an argument, in seconds of the monotonic clock.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass
class JobClock:
    """Deadlines that move when the supervisor itself was stopped."""

    deadline: float | None = None
    _since: float | None = None
    _key: Hashable = None

    def allow(self, seconds: float, *, now: float) -> None:
        """The job must have ended so many seconds from now."""
        self.deadline = now + seconds

    def passed(self, now: float) -> bool:
        """Whether there is a deadline and it is over."""
        return self.deadline is not None and now > self.deadline

    def silent(self, key: Hashable, limit: float, *, now: float) -> bool:
        """Whether the same thing (``key``) has been waited for longer than ``limit`` seconds."""
        if self._since is None or key != self._key:
            self._since, self._key = now, key
        return now - self._since > limit

    def forgive(self, seconds: float) -> None:
        """So many seconds were nobody's fault."""
        if self.deadline is not None:
            self.deadline += seconds
        if self._since is not None:
            self._since += seconds
