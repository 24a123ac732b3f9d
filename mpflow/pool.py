"""The workers of a pipeline: started together, listened to, replaced, seen off."""

from __future__ import annotations

import select
import time
from functools import partial
from typing import Protocol

from mpflow.channel import Channel, Message
from mpflow.errors import PeerLost
from mpflow.graph import plan_workers
from mpflow.launch import CallerHandle, Duty, Handle, Launcher, VacantSeat, WorkerHandle
from mpflow.lifecycle import WorkerState, followed
from mpflow.reactor import Reactor
from mpflow.spec import PipelineSpec

QUIT_S = 5.0
"""How long a worker may take to close its stage before it is killed."""

BARRED_S = 60.0
"""How long a seat stays vacant whose worker was lost before it was needed."""


class Listener(Protocol):
    """Who hears what the workers say and how they end."""

    def hear(self, handle: Handle, message: Message) -> None:
        """A worker has said something."""

    def hear_line(self, handle: Handle, line: str) -> None:
        """A worker, or a library in it, has written a line to its standard error."""

    def note_death(self, handle: WorkerHandle) -> None:
        """A worker that was not asked to leave is gone."""


class Pool:
    """All workers of one pipeline; with ``caller``, that one stands in the last stage's place."""

    def __init__(
        self,
        spec: PipelineSpec,
        launcher: Launcher,
        reactor: Reactor,
        listener: Listener,
        caller: Channel | None,
    ) -> None:
        self._spec = spec
        self._launcher = launcher
        self._reactor = reactor
        self._listener = listener
        self._caller = caller
        self.workers: list[Handle] = []

    def start(self) -> None:
        """Start every worker; each says ``ready`` when its stage is open.

        Of a stage that may grow there is one at first.
        """
        plans = plan_workers(self._spec)
        for plan in plans[:-1] if self._caller is not None else plans:
            if plan.spec.auto and plan.number:
                self.workers.append(VacantSeat(plan))
                continue
            handle = self._launcher.start(plan)
            self.workers.append(handle)
            self._listen(handle)
        if self._caller is not None:
            caller = CallerHandle(plans[-1], self._caller)
            caller.move(WorkerState.READY)
            self.workers.append(caller)

    def restart(self, handle: WorkerHandle) -> WorkerHandle:
        """Start another worker in the place of a dead one; its history goes on.

        Raises StageDied when it cannot be started; the dead one then keeps its place.
        """
        fresh = self._launcher.start(handle.plan)
        fresh.machine, fresh.facts = handle.machine, handle.facts
        fresh.pids = followed(handle.pids, fresh.pids)
        fresh.move(WorkerState.STARTING, f"pid {fresh.pid}")
        self._put(fresh)
        self._let_go(handle)
        self._listen(fresh)
        return fresh

    def seat(self, vacant: VacantSeat, why: str) -> WorkerHandle:
        """Start a worker that nobody waits for; raises StageDied when it cannot be started."""
        fresh = self._launcher.start(vacant.plan)
        fresh.duty = Duty.JOINING
        fresh.machine, fresh.pids = vacant.machine, followed(vacant.pids, fresh.pids)
        fresh.move(WorkerState.STARTING, why)
        self._put(fresh)
        self._listen(fresh)
        return fresh

    def mend(self) -> None:
        """Start whoever died between two jobs."""
        for handle in list(self.workers):
            if isinstance(handle, WorkerHandle) and not handle.alive:
                if handle.machine.is_in(WorkerState.FAILED):
                    handle.move(WorkerState.BACKOFF, "between two jobs")
                self.restart(handle)

    def flush(self) -> None:
        """Send the orders for which a worker had no room, as far as it has now."""
        for handle in self.workers:
            handle.flush()

    def kill(self) -> None:
        """End every worker at once."""
        for handle in self.workers:
            handle.kill()
        self._part()

    def dismiss(self) -> None:
        """Let every worker close its stage and leave; kill what does not in time."""
        for handle in self.workers:
            if isinstance(handle, WorkerHandle) and handle.alive:
                opening = handle.machine.is_in(WorkerState.STARTING)
                handle.move(WorkerState.DRAINING)
                handle.tell("quit")
                if opening and not handle.needed:
                    handle.kill()  # it opens what nobody waits for
        self._part()

    def _read(self, handle: WorkerHandle) -> None:
        try:
            while (received := handle.channel.receive(wait=False)) is not None:
                self._listener.hear(handle, received[0])
        except PeerLost:
            self._reactor.unwatch(handle.channel.fileno())

    def _read_lines(self, handle: WorkerHandle) -> None:
        lines = handle.read_stderr()
        if lines is None:
            self._reactor.unwatch(handle.stderr)
            return
        for line in lines:
            self._listener.hear_line(handle, line)

    def _bury(self, handle: WorkerHandle) -> None:
        """The process is gone: hear its last words, then say so."""
        self._reactor.unwatch(handle.pidfd)
        self._read(handle)
        self._read_lines(handle)
        expected = handle.machine.is_in(WorkerState.DRAINING)
        handle.move(WorkerState.STOPPED if expected else WorkerState.FAILED)
        if expected:
            return
        self._listener.note_death(handle)
        if not handle.needed:
            self._vacate(handle)

    def _vacate(self, handle: WorkerHandle) -> None:
        """A worker that nobody needs is not replaced before it is needed again."""
        handle.move(WorkerState.VACANT, "was not needed")
        seat = VacantSeat(handle.plan, handle.machine, pids=handle.pids)
        if handle.duty is Duty.JOINING:
            seat.barred_until = time.monotonic() + BARRED_S
        self._put(seat)
        self._let_go(handle)

    def _put(self, handle: Handle) -> None:
        """Place it: a worker's number is its index."""
        self.workers[handle.plan.id] = handle

    def _part(self) -> None:
        """See every process end, and let go of what was held of it."""
        deadline = time.monotonic() + QUIT_S
        for handle in self.workers:
            if not isinstance(handle, WorkerHandle):
                continue
            while not _is_gone(handle.pidfd, 0.02):
                # what it still says must be read, or it waits for room to say it
                self._read_lines(handle)
                handle.flush()
                if time.monotonic() > deadline:
                    self._listener.hear_line(handle, "did not leave in time and was killed")
                    handle.kill()
                    _is_gone(handle.pidfd, QUIT_S)
                    break
            self._let_go(handle)
        self.workers = []

    def _listen(self, handle: WorkerHandle) -> None:
        self._reactor.watch(handle.channel.fileno(), partial(self._read, handle))
        self._reactor.watch(handle.stderr, partial(self._read_lines, handle))
        self._reactor.watch(handle.pidfd, partial(self._bury, handle))

    def _let_go(self, handle: WorkerHandle) -> None:
        for descriptor in (handle.pidfd, handle.channel.fileno(), handle.stderr):
            self._reactor.unwatch(descriptor)
        handle.release()


def _is_gone(pidfd: int, patience: float) -> bool:
    """Whether the process of a pidfd has ended, waiting at most ``patience`` seconds."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(patience * 1000))
