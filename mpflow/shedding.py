"""What a worker of a live run does about frames that come too late, and what is told of them.

Other runs drop nothing: there, nothing here ever applies. How late is too late says the helm, for
each stage, so that no stage works on a frame which cannot arrive in time any more.
"""

from __future__ import annotations

import time

from mpflow.desk import Desk
from mpflow.shm import Dropped, Lease, Why
from mpflow.spec import Rules
from mpflow.tokens import FrameState, Mode, Token

TELL_EVERY_S = 1.0

REASONS = {
    Why.STALE: "too old",
    Why.SUPERSEDED: "a newer frame was there (single-frame mode)",
    Why.FULL: "no slot was free",
    Why.EXPIRED: "its time to live was over",
    Why.LOST: "lost with the last stage, which was replaced",
}


class Shedder:
    """Drops the frames of one stage that come too late."""

    def __init__(self, desk: Desk, rules: Rules) -> None:
        self._desk = desk
        self._live = rules.live
        self._lifetime_ns = int(rules.ttl * 1e9)

    @property
    def newest_first(self) -> bool:
        """Whether only the newest frame counts at present."""
        return self._live and self._desk.orders.helm.mode is Mode.SINGLE_FRAME

    def drops(self, lease: Lease) -> bool:
        """Drop a frame that this worker has taken, if it is too late for it."""
        if not self._live:
            return False
        age = time.monotonic_ns() - lease.born
        if self._lifetime_ns and age > self._lifetime_ns:
            why = Why.EXPIRED
        elif age > self._desk.orders.helm.shed_after.get(self._desk.name, 1e9) * 1e9:
            why = Why.STALE
        else:
            return False
        self._desk.ring.drop(lease, why)
        self._desk.meter.count("shed", 1)
        return True

    def leave_behind(self, lease: Lease) -> None:
        """Drop what waits for this stage and is older than a frame it has taken; the stage before
        may make the next one."""
        self._desk.ring.wake_before()
        dropped = self._desk.ring.shed_before(lease.seq, Why.SUPERSEDED)
        if dropped:
            self._desk.meter.count("shed", len(dropped))


class Losses:
    """Tells the log of dropped frames, together: at most one line a second for each reason."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._told = 0.0
        self._runs: dict[str, list[int]] = {}

    def note(self, card: Token) -> None:
        """A frame was dropped, as its card says."""
        change = card.changes[-1]
        why = f"{change.stage}: {change.reason.partition(':')[0]}"
        self._runs.setdefault(why, []).append(card.seq)

    def tell(self, *, now: bool = False) -> None:
        """Say what came together, if it is time."""
        moment = time.monotonic()
        if not self._runs or (moment - self._told < TELL_EVERY_S and not now):
            return
        self._told = moment
        for why, frames in self._runs.items():
            which = (
                f"frame {frames[0]} was"
                if len(frames) == 1
                else (f"{len(frames)} frames from {frames[0]} to {frames[-1]} were")
            )
            text = f"{which} dropped before {why}"
            self._desk.tell("log", level="info", text=text, frame=frames[0])
        self._runs = {}


def card_of(job: str, seq: int, dropped: Dropped | None, stages: tuple[str, ...]) -> Token:
    """A card for a frame that was dropped on its way, as its last token would say it.

    ``dropped`` is what shared memory knows of it, None if that was overwritten since.
    """
    card = Token(job, seq)
    if dropped is None:
        return card.with_state(FrameState.DROPPED, stage="", reason="dropped, no record is left")
    reason = f"{REASONS[dropped.why]}: {dropped.age_ms} ms old"
    return card.with_state(FrameState.DROPPED, stage=stages[dropped.stage], reason=reason)
