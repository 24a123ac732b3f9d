"""Which workers hang: they hold a frame or the lock, or leave work waiting, and show no life.

A sign of life is any change of a worker's row of counters; one that waits counts the time it
waits, so a stage that holds frames back is not taken for hung while it looks for more. The
clock of a worker runs only while it has something to do, and says neither that it builds nor
that it starts, nor that it waits for the world outside (a network that is silent).

Whoever keeps the lock stops all others too. So while the same process has the lock at one look
after another, and its own counters stand still, nobody else is blamed, and after a few seconds
it is the one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mpflow.policies.limits import Pace
from mpflow.shm import Doing, WorkerStats

_EXCUSED = frozenset({Doing.BUILDING, Doing.WAITING})

LOCK_LIMIT_S = 5.0
"""The lock is kept for microseconds; so long only by a process that is stopped or hangs."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen of one worker at one look.

    ``held`` frames are its own; ``waiting`` frames are READY for its stage (for the source: a
    slot is free and the input has not ended). ``excused`` while it starts, or closes a file.
    ``limit`` 0 derives the limit from the stage's pace.
    """

    worker: int
    stage: int
    label: str
    pid: int
    row: WorkerStats
    held: int = 0
    waiting: int = 0
    limit: float = 0.0
    at_an_end: bool = False
    excused: bool = False

    @property
    def at_work(self) -> bool:
        """Whether its clock runs."""
        busy = self.held > 0 or self.waiting > 0
        return busy and not self.excused and self.row.state not in _EXCUSED


@dataclass(frozen=True, slots=True)
class Overdue:
    """A worker that is to be killed and treated as dead, with the reason as a sentence."""

    worker: int
    pid: int
    reason: str


@dataclass
class HangWatch:
    """Looks at all workers again and again; remembers when each last showed life.

    Time is monotonic, in seconds.
    """

    lock_limit: float = LOCK_LIMIT_S
    pace: Pace = field(default_factory=Pace)
    _rows: dict[int, WorkerStats] = field(default_factory=dict)
    _since: dict[int, float] = field(default_factory=dict)
    _keeper: int | None = None
    _kept_since: float = 0.0
    _last_look: float | None = None

    def look(self, sights: Sequence[Sight], keeper: int | None, now: float) -> list[Overdue]:
        """Who is overdue. ``keeper`` is the process that has the lock right now, None if none."""
        gap = now - (now if self._last_look is None else self._last_look)
        self._last_look = now
        if keeper is not None and keeper == self._keeper and not self._moved(sights, keeper):
            self.forgive(gap, lock_too=False)
            return self._keepers(sights, now)
        self._keeper, self._kept_since = keeper, now
        return [late for sight in sights if (late := self._judge(sight, now)) is not None]

    def forgive(self, seconds: float, *, lock_too: bool = True) -> None:
        """So many seconds were nobody's fault: this process itself was stopped, say."""
        for worker in self._since:
            self._since[worker] += seconds
        if lock_too:
            self._kept_since += seconds
            if self._last_look is not None:
                self._last_look += seconds

    def limit_of(self, sight: Sight) -> float:
        """The seconds this worker may take without a sign of life, as things stand."""
        return self.pace.limit(sight.stage, asked=sight.limit, at_an_end=sight.at_an_end)

    def _moved(self, sights: Sequence[Sight], pid: int) -> bool:
        """Whether a process showed life since the last look, and so had let the lock go."""
        return any(s.pid == pid and self._rows.get(s.worker) != s.row for s in sights)

    def _keepers(self, sights: Sequence[Sight], now: float) -> list[Overdue]:
        kept = now - self._kept_since
        if kept <= self.lock_limit:
            return []
        return [
            Overdue(
                sight.worker,
                sight.pid,
                f"stage {sight.label} (pid {sight.pid}) has kept the ring's lock for {kept:.1f} s",
            )
            for sight in sights
            if sight.pid == self._keeper
        ]

    def _judge(self, sight: Sight, now: float) -> Overdue | None:
        self.pace.note(sight.worker, sight.stage, sight.row)
        alive = self._rows.get(sight.worker) != sight.row
        self._rows[sight.worker] = sight.row
        if alive or not sight.at_work:
            self._since[sight.worker] = now
            return None
        silent = now - self._since[sight.worker]
        limit = self.limit_of(sight)
        if silent <= limit:
            return None
        return Overdue(sight.worker, sight.pid, _sentence(sight, silent, limit))


def _sentence(sight: Sight, silent: float, limit: float) -> str:
    what = f"holds {_frames(sight.held)}"
    if not sight.held:
        what = f"leaves {_frames(sight.waiting)} waiting"
        if sight.stage == 0:
            what = "reads no further"
    return (
        f"stage {sight.label} (pid {sight.pid}) {what} and has shown no sign of life"
        f" for {silent:.1f} s (limit {limit:.0f} s)"
    )


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"
