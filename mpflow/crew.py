"""How many workers of a stage work: seats are taken and left while a job runs.

    seat     a parked worker goes on at once; else one is started, and joins when its stage is open
    vacate   a worker gives on what it holds, then takes nothing; one that is still opening ends

A stage with ``workers: auto`` has as many seats as it may ever have workers. A seat that was never
taken costs nothing but its share of the ring; a parked worker keeps its model. Who should sit where
is decided elsewhere (mpflow.policies.scaling); between jobs nobody moves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from mpflow.errors import StageDied
from mpflow.jobrun import JobRun
from mpflow.launch import Duty, VacantSeat, WorkerHandle
from mpflow.lifecycle import JobState, WorkerState
from mpflow.notices import Notices
from mpflow.pool import Pool
from mpflow.trouble import Trouble


class Crew:
    """Moves the workers of one job, and says of every move why it was made."""

    def __init__(self, run: JobRun, pool: Pool, notices: Notices, trouble: Trouble) -> None:
        self._run = run
        self._pool = pool
        self._notices = notices
        self._trouble = trouble

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages that may grow."""
        return tuple(stage.name for stage in self._run.spec.stages if stage.auto)

    def seats(self, stage: str) -> int:
        """How many workers a stage may have."""
        return sum(handle.plan.spec.name == stage for handle in self._run.workers)

    def active(self, stage: str) -> int:
        """How many workers of a stage work, or will as soon as they have opened it."""
        return sum(handle.active for handle in self._run.workers if handle.plan.spec.name == stage)

    def working(self, stage: str) -> int:
        """How many workers of a stage take frames."""
        return sum(_is_at_work(handle) for handle in self._of(stage))

    def reach(self, stage: str, workers: int, why: str) -> int:
        """Come as near to so many workers as can be; how many are active then."""
        while self.active(stage) < workers and self.seat(stage, why):
            pass
        while self.active(stage) > workers and self.vacate(stage, why):
            pass
        return self.active(stage)

    def seat(self, stage: str, why: str) -> bool:
        """One more worker for a stage; False when there is none to be had."""
        if not self._may_move():
            return False
        for handle in self._of(stage):
            if not handle.active and handle.alive and not handle.killed:
                self._unpark(handle)
                self._say(handle, f"works again, {self._count(stage)}: {why}")
                return True
        vacant = self._vacant(stage)
        if vacant is None:
            return False
        try:
            handle = self._pool.seat(vacant, why)
        except StageDied as error:
            self._notices.note("warning", error.what)
            return False
        self._say(handle, f"is started, {self._count(stage)}: {why}")
        return True

    def vacate(self, stage: str, why: str) -> bool:
        """One worker less for a stage; False when that would leave it without one."""
        if not self._may_move():
            return False
        active = [h for h in self._of(stage) if h.active and h.alive and not h.killed]
        # who is not there yet goes first; the lowest number stays longest
        for handle in sorted(active, key=lambda handle: (handle.needed, -handle.plan.number)):
            if any(other is not handle and _is_at_work(other) for other in active):
                self._park(handle)
                self._say(handle, f"is not needed, {self._count(stage)}: {why}")
                return True
        return False

    def _may_move(self) -> bool:
        return self._run.machine.is_in(JobState.RUNNING) and self._run.ring is not None

    def _of(self, stage: str) -> Iterator[WorkerHandle]:
        for handle in self._run.workers:
            if isinstance(handle, WorkerHandle) and handle.plan.spec.name == stage:
                yield handle

    def _vacant(self, stage: str) -> VacantSeat | None:
        """A seat for a new worker; none for a while after one of the stage could not come."""
        vacant = [
            handle
            for handle in self._run.workers
            if isinstance(handle, VacantSeat) and handle.plan.spec.name == stage
        ]
        if any(seat.barred_until > time.monotonic() for seat in vacant):
            return None
        owed = self._run.rescue.owes
        return next((seat for seat in vacant if not owed(seat.plan.id)), None)

    def _unpark(self, handle: WorkerHandle) -> None:
        """Let a worker go on: in the job, or into it."""
        if handle.idle:
            handle.duty = Duty.JOINING
            handle.move(WorkerState.READY, "is needed")
            handle.begun = False
            self._run.note_ready(handle)
            return
        handle.duty = Duty.ON if handle.begun else Duty.JOINING
        if handle.machine.is_in(WorkerState.PARKED):
            handle.move(WorkerState.BUSY, "is needed")
        handle.tell("unpark")

    def _park(self, handle: WorkerHandle) -> None:
        """Let a worker rest; it says ``parked`` when it has given on what it holds."""
        handle.duty = Duty.OFF
        if handle.machine.is_in(WorkerState.STARTING):
            handle.kill()
        elif handle.machine.is_in(WorkerState.READY):
            handle.move(WorkerState.PARKED, "is not needed")
        else:
            handle.tell("park")

    def _count(self, stage: str) -> str:
        return f"{self.active(stage)} of {self.seats(stage)}"

    def _say(self, handle: WorkerHandle, text: str) -> None:
        self._notices.note("info", text, handle)
        self._trouble.mark(f"{handle.label} {text}", handle.label)


def _is_at_work(handle: WorkerHandle) -> bool:
    at_work = handle.machine.is_in(WorkerState.BUSY, WorkerState.BUILDING)
    return at_work and handle.needed and handle.begun and not handle.killed
