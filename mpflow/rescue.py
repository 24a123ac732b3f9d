"""What the supervisor does about a worker that died in the middle of a job.

    stage, source   recover its slots -> back off -> start another -> begin -> (go)
    sink            back off -> start another -> begin finds what is durable -> rewind -> go

Every frame the dead worker held waits again, as it was; after a sink's death everything that is
not durable is made again. Too many deaths without progress end the run (mpflow.policies.restart).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from mpflow.errors import MpflowError, StageDied
from mpflow.launch import Handle, WorkerHandle
from mpflow.lifecycle import JobState, WorkerState
from mpflow.policies.restart import Restarts, Storm
from mpflow.shm import LockTimeout, Recovery, ShmError, recover
from mpflow.spec import Place

if TYPE_CHECKING:
    from mpflow.jobrun import JobRun
    from mpflow.trouble import Trouble

_EARLY = (JobState.PROBING, JobState.BEGINNING)
_WHOLE = (*_EARLY, JobState.RUNNING, JobState.CONCLUDING)


class Rescue:
    """Brings the dead workers of one job back. ``restart`` starts another in a handle's place."""

    def __init__(
        self,
        run: JobRun,
        restart: Callable[[WorkerHandle], WorkerHandle],
        trouble: Trouble,
    ) -> None:
        self._run = run
        self._restart = restart
        self._trouble = trouble
        self._restarts = Restarts()
        self._due: dict[int, float] = {}
        self._dead: list[WorkerHandle] = []
        self._rewind: tuple[WorkerHandle, Place] | None = None
        self._last: dict[str, StageDied] = {}
        self.count = 0

    @property
    def busy(self) -> bool:
        """Whether somebody is missing, or frames wait to be recovered."""
        return bool(self._due or self._dead or self._rewind) or any(
            handle.machine.is_in(WorkerState.STARTING) or (not handle.idle and not handle.begun)
            for handle in self._run.workers
            if handle.needed
        )

    @property
    def sink_is_missing(self) -> bool:
        """Whether nobody is there to conclude, or frames are about to be made again."""
        sink = self._run.sink
        return self._rewind is not None or not sink.alive or not sink.begun

    def can_help(self, handle: WorkerHandle) -> bool:
        """Whether another worker can take this one's place."""
        run = self._run
        if handle.reported is not None or run.wrote is not None or not handle.needed:
            return False
        if run.error is not None:  # what is in the ring is still written, and no more
            draining = run.machine.is_in(JobState.STOPPING, JobState.CONCLUDING)
            return draining and handle not in (run.source, run.sink)
        if handle is run.sink and handle.begun and not handle.demand.restartable:
            return False
        return run.machine.is_in(*_WHOLE)

    def lost(self, handle: WorkerHandle, error: StageDied, now: float) -> None:
        """A worker is gone: account for its frames, and plan its successor, or end the run."""
        run, name = self._run, handle.plan.spec.name
        self._last[name] = error
        verdict = self._restarts.note_death(name, now)
        if isinstance(verdict, Storm):
            storm = _storm(handle, verdict, error)
            self._trouble.alert("storm", storm.what, stage=name)
            run.end.abort(storm)
            return
        handle.move(WorkerState.BACKOFF, error.what)
        self._due[handle.plan.id] = now + verdict
        if run.ring is None:
            return
        if handle is not run.sink:
            self._dead.append(handle)
            self._recover_dead()
            return
        if not run.job.live:
            run.read = None  # the source comes to its end again, after the rewind
        if run.machine.is_in(JobState.CONCLUDING):
            run.go(JobState.RUNNING, f"{handle.label} is replaced")

    def left(self, handle: WorkerHandle) -> None:
        """A worker is gone that nobody needs: only what it may have held is accounted for."""
        run = self._run
        if run.ring is not None and run.machine.is_in(*_WHOLE, JobState.STOPPING):
            self._dead.append(handle)
            self._recover_dead()

    def owes(self, worker: int) -> bool:
        """Whether frames of a dead worker of this number are not accounted for yet."""
        return any(handle.plan.id == worker for handle in self._dead)

    def tick(self, now: float) -> None:
        """Do what has become due."""
        self._recover_dead()
        self._rewind_ring()
        for handle in list(self._run.workers):
            due = self._due.get(handle.plan.id)
            if due is not None and now >= due and isinstance(handle, WorkerHandle):
                self._start(handle, now)

    def begun(self, handle: Handle, place: Place) -> None:
        """A sink that waits has opened its end, with everything before ``place`` durable."""
        if handle is self._run.sink and isinstance(handle, WorkerHandle):
            self._rewind = handle, place
            self._rewind_ring()

    def explain(self, error: MpflowError) -> MpflowError:
        """An error about deaths of a stage, with how the last one went."""
        last = self._last.get(str(error.facts.get("stage")))
        if not isinstance(error, StageDied) or last is None:
            return error
        explained = StageDied(
            f"{error.what}: {last.what}", cure=error.cure, facts={**last.facts, **error.facts}
        )
        explained.remote_traceback = last.remote_traceback
        return explained

    def progress(self) -> None:
        """More is durable: the deaths so far were worth it."""
        self._restarts.note_progress()

    def quarantined(self, handle: Handle) -> None:
        """A frame has been found out that kills workers of this stage: its deaths are explained."""
        self._restarts.note_quarantine(handle.plan.spec.name)

    def _start(self, handle: WorkerHandle, now: float) -> None:
        del self._due[handle.plan.id]
        try:
            fresh = self._restart(handle)
        except StageDied as error:
            handle.move(WorkerState.FAILED, error.what)
            self.lost(handle, error, now)
            return
        self.count += 1
        self._trouble.mark(f"{fresh.label} was started again", fresh.label)
        self._run.tell("info", f"started again (pid {fresh.pid})", fresh)
        if fresh is self._run.source and self._run.media is None:
            self._run.probe()

    def _recover_dead(self) -> None:
        while self._dead:
            found = self._recover(self._dead[0], None)
            if found is None:
                return
            self._say(self._dead.pop(0), found)

    def _rewind_ring(self) -> None:
        """R3, once the new sink has said what is durable; then it may take frames."""
        if self._rewind is None:
            return
        handle, place = self._rewind
        found = self._recover(handle, place.frame) if handle.alive else None
        if found is None:
            if not handle.alive:
                self._rewind = None
            return
        self._rewind = None
        if self._run.job.live:
            self._go_on(handle, found)
            return
        self._run.read = None
        self._run.tell("debug", f"the ring starts at frame {place.frame}", handle)
        told = msgspec.to_builtins(place)
        handle.tell("go", place=told)
        if not self._run.source_went:
            self._run.source_went = True
            self._run.source.tell("go", place=told)

    def _go_on(self, handle: WorkerHandle, found: Recovery) -> None:
        """A live run's new sink takes what comes next: nothing can be made again."""
        self._run.lost_with_sink += len(found.lost)
        if found.lost:
            frames = "1 frame was" if len(found.lost) == 1 else f"{len(found.lost)} frames were"
            self._run.tell("warning", f"{frames} lost with it", handle)
        handle.tell("go", place=msgspec.to_builtins(Place(found.goes_on_at or 0)))
        self._run.conclude_if_read()

    def _recover(self, handle: WorkerHandle, durable: int | None) -> Recovery | None:
        """Account for a worker's slots; None when it has to be tried again, or was fatal."""
        run = self._run
        assert run.ring is not None
        try:
            return recover(
                run.ring.segment,
                run.ring.bells,
                handle.plan.id,
                handle.plan.stage,
                durable,
                live=run.job.live,
                within=0.1,
            )
        except LockTimeout as timeout:
            for other in run.workers:
                if other.pid == timeout.holder and isinstance(other, WorkerHandle):
                    other.end(f"stage {other.label} kept the ring's lock while it was needed")
        except ShmError as error:
            run.end.abort(StageDied(f"stage {handle.label} cannot be replaced: {error}"))
        return None

    def _say(self, handle: WorkerHandle, found: Recovery) -> None:
        if found.suspects:
            frames = ", ".join(map(str, found.suspects))
            self._run.tell("debug", f"died while it worked on frames {frames}", handle)


def _storm(handle: WorkerHandle, storm: Storm, last: StageDied) -> StageDied:
    error = StageDied(
        f"stage {storm.stage} died {storm.deaths} times in {storm.seconds:.1f} s and nothing"
        f" became durable meanwhile; the last time: {last.what}",
        cure=last.cure,
        facts={**last.facts, "deaths": storm.deaths},
    )
    error.remote_traceback = last.remote_traceback
    return error
