"""When a dead worker is started again, and when that has become pointless.

    death 1: at once    2: after 0.1 s    3: 0.2 s    4: 0.4 s    5: a storm, the run ends

Only deaths since the last durable progress count: what is durable shows that the stage does get
on. Deaths that a quarantined frame explains are forgiven, as that frame will kill nobody again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 5.0
STORM_DEATHS = 5
"""So many deaths of one stage without durable progress end the run."""

QUARANTINE_DEATHS = 2
"""A frame is quarantined when it has killed twice: in its batch, and alone."""


@dataclass(frozen=True, slots=True)
class Storm:
    """One stage died ``deaths`` times within ``seconds``, and nothing became durable meanwhile."""

    stage: str
    deaths: int
    seconds: float


@dataclass
class Restarts:
    """The deaths of each stage that nothing has made good yet. Time is monotonic, in seconds."""

    limit: int = STORM_DEATHS
    _deaths: dict[str, list[float]] = field(default_factory=dict)

    def note_death(self, stage: str, now: float, *, quarantined: int = 0) -> float | Storm:
        """Seconds to wait before the stage's worker is started again, or the storm it is.

        ``quarantined`` frames are those which this death put into quarantine.
        """
        deaths = self._deaths.setdefault(stage, [])
        deaths.append(now)
        self.note_quarantine(stage, quarantined)
        if len(deaths) >= self.limit:
            return Storm(stage, len(deaths), now - deaths[0])
        return delay_after(len(deaths))

    def note_progress(self) -> None:
        """More of the output has become durable: all is forgiven."""
        self._deaths.clear()

    def note_quarantine(self, stage: str, frames: int = 1) -> None:
        """Forgive the deaths that this stage's quarantined frames explain, the latest first."""
        deaths = self._deaths.get(stage, [])
        del deaths[max(0, len(deaths) - QUARANTINE_DEATHS * frames) :]

    def deaths(self, stage: str) -> int:
        """How many deaths of a stage count at present."""
        return len(self._deaths.get(stage, ()))


def delay_after(deaths: int) -> float:
    """Seconds to wait after so many deaths in a row: none at first, then doubling."""
    if deaths < 2:
        return 0.0
    return min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(deaths - 2, 64))
