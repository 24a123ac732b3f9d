"""Starting a worker and holding on to it: its process, pidfd, control channel and standard error.

Workers come from a fork server that has the heavy libraries loaded (5 ms a worker); where CUDA is
asked for they are spawned, since a forked process cannot use it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from mpflow.channel import Channel, Outbox
from mpflow.errors import StageDied
from mpflow.forking import start_fork_server
from mpflow.graph import Demand, WorkerPlan, worker_threads
from mpflow.lifecycle import Machine, WorkerState, vacant_machine, worker_machine
from mpflow.shm import DeathPipe
from mpflow.spec import PipelineSpec
from mpflow.workerstart import WorkerStart

REMEMBERED_LINES = 40

NEWEST = ("helm",)
"""Orders of which only the last one counts."""

_UNKNOWN_CODE = 255
"""What multiprocessing says of a process whose fork server is gone."""


class Duty(StrEnum):
    """Whether a worker is wanted: ON is waited for and replaced, JOINING opens its stage to take
    part as soon as it can, OFF is parked or about to be."""

    ON = "on"
    JOINING = "joining"
    OFF = "off"


class Seated:
    """What everything that may stand in a worker's place has in common."""

    plan: WorkerPlan
    duty: Duty = Duty.ON

    @property
    def active(self) -> bool:
        """Whether it works, or will as soon as it can."""
        return self.duty is not Duty.OFF

    @property
    def needed(self) -> bool:
        """Whether the job waits for it, and it is replaced when it dies."""
        return self.duty is Duty.ON

    def flush(self) -> None:
        """Send orders for which there was no room, if there is now."""


@dataclass
class WorkerHandle(Seated):
    """A worker as the supervisor sees it."""

    plan: WorkerPlan
    process: BaseProcess
    pidfd: int
    channel: Channel
    stderr: int
    outbox: Outbox = field(init=False)
    machine: Machine[WorkerState] = field(default_factory=worker_machine)
    demand: Demand = field(default_factory=Demand)
    begun: bool = False
    idle: bool = True
    waits: bool = False
    reported: dict[str, object] | None = None
    facts: dict[str, object] = field(default_factory=dict)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED_LINES))
    partial_line: bytes = b""
    killed: bool = False
    doom: str = ""
    duty: Duty = Duty.ON
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outbox = Outbox(self.channel, NEWEST)

    @property
    def label(self) -> str:
        """How messages name it."""
        return self.plan.label

    @property
    def is_successor(self) -> bool:
        """Whether it takes the place of one that died."""
        return len(self.pids) > 1

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not been reaped yet."""
        return not self.machine.is_in(WorkerState.FAILED, WorkerState.BACKOFF, WorkerState.STOPPED)

    def move(self, state: WorkerState, reason: str = "") -> None:
        """Note a change of the worker's state."""
        self.machine.move(state, now=time.monotonic_ns(), reason=reason)

    def tell(self, kind: str, descriptors: Sequence[int] = (), **values: object) -> None:
        """Send an order as soon as it has room for one; one that is gone hears nothing, and its
        pidfd says so."""
        self.outbox.tell(kind, descriptors, **values)

    def flush(self) -> None:
        """Send orders for which there was no room, if there is now."""
        self.outbox.flush()

    def kill(self) -> None:
        """End the process at once; the pidfd says when it is gone."""
        self.killed = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def end(self, reason: str) -> None:
        """Kill the process for a reason, which its death is then explained with."""
        self.doom = reason
        self.kill()

    def death(self) -> StageDied:
        """Why it ended, as an error with stage, pid, exit code or signal, and its last words."""
        facts, how = _end_of(self.plan, self.process)
        what = f"stage {self.label} (pid {self.process.pid}) ended {how}"
        what += " while it was needed" if self.needed else ""
        error = StageDied(
            f"{self.doom}; it was killed" if self.doom and self.killed else self.doom or what,
            cure="run again with --log-level debug for more, and report what it shows",
            facts=facts,
        )
        error.remote_traceback = "\n".join(self.lines)
        return error

    def read_stderr(self) -> list[str] | None:
        """Whole lines that the process has written since the last look; None at the end."""
        try:
            data = os.read(self.stderr, 65536)
        except BlockingIOError:
            return []
        if not data:
            return None
        *lines, self.partial_line = (self.partial_line + data).split(b"\n")
        if len(self.partial_line) > 65536:
            lines, self.partial_line = [*lines, self.partial_line], b""
        texts = [line.decode("utf-8", "replace") for line in lines if line.strip()]
        self.lines.extend(texts)
        return texts

    def release(self) -> None:
        """Close what the supervisor holds of it."""
        self.outbox.close()
        self.channel.close()
        os.close(self.stderr)
        os.close(self.pidfd)
        self.process.join(1.0)
        with suppress(ValueError):
            self.process.close()


@dataclass
class CallerHandle(Seated):
    """The caller itself in the last stage's place, when it takes the frames from the ring."""

    plan: WorkerPlan
    channel: Channel
    outbox: Outbox = field(init=False)
    machine: Machine[WorkerState] = field(default_factory=worker_machine)
    demand: Demand = field(default_factory=Demand)
    begun: bool = False
    idle: bool = True
    waits: bool = False
    alive: bool = True
    pid: int | None = None

    def __post_init__(self) -> None:
        self.outbox = Outbox(self.channel, NEWEST)

    @property
    def label(self) -> str:
        """How messages name it."""
        return "caller"

    def move(self, state: WorkerState, reason: str = "") -> None:
        """Note a change of its state."""
        self.machine.move(state, now=time.monotonic_ns(), reason=reason)

    def tell(self, kind: str, descriptors: Sequence[int] = (), **values: object) -> None:
        """Send an order as soon as it has room for one; a caller that is gone hears nothing."""
        self.outbox.tell(kind, descriptors, **values)

    def flush(self) -> None:
        """Send orders for which there was no room, if there is now."""
        self.outbox.flush()

    def kill(self) -> None:
        """A caller is never killed; it learns of the end by its channel."""


@dataclass
class VacantSeat(Seated):
    """A worker's place that nobody has: a stage that may grow has as many as it may have workers.

    Nobody is started for it before ``barred_until`` (monotonic seconds): the last one to sit
    there was lost.
    """

    plan: WorkerPlan
    machine: Machine[WorkerState] = field(
        default_factory=lambda: vacant_machine(time.monotonic_ns())
    )
    demand: Demand = field(default_factory=Demand)
    begun: bool = False
    idle: bool = True
    waits: bool = False
    alive: bool = False
    pid: int | None = None
    duty: Duty = Duty.OFF
    pids: list[int] = field(default_factory=list)
    barred_until: float = 0.0

    @property
    def label(self) -> str:
        """How messages name it."""
        return self.plan.label

    def move(self, state: WorkerState, reason: str = "") -> None:
        """Note a change of its state."""
        self.machine.move(state, now=time.monotonic_ns(), reason=reason)

    def tell(self, kind: str, descriptors: Sequence[int] = (), **values: object) -> None:
        """There is nobody to hear it."""

    def kill(self) -> None:
        """There is nobody to end."""


Handle = WorkerHandle | CallerHandle | VacantSeat
"""Who stands in a worker's place."""


class Launcher:
    """Starts workers, all of which die with this process."""

    def __init__(self, spec: PipelineSpec, *, cores: int) -> None:
        self._spec = spec
        self._cores = cores
        self._death = DeathPipe.create()
        self._context = _context_for(spec)

    def start(self, plan: WorkerPlan) -> WorkerHandle:
        """Start one worker; it says ``ready`` on its channel, or ``failed``."""
        ours, theirs = Channel.pair()
        stderr_read, stderr_write = os.pipe()
        start = WorkerStart(
            plan,
            offline=self._spec.offline,
            threads=worker_threads(plan, self._cores),
            core_dumps=self._spec.core_dumps,
            log_level=self._spec.log_level,
            channel=theirs.fileno(),
            stderr=stderr_write,
            death=self._death.read_fd,
        )
        process = self._context.Process(target=_enter, args=(start,), name=plan.label)
        try:
            self._set_off(process)
            assert process.pid is not None
            pidfd = os.pidfd_open(process.pid)
        except (OSError, EOFError) as error:
            ours.close()
            os.close(stderr_read)
            raise _not_started(plan, process, error) from error
        finally:
            theirs.close()
            os.close(stderr_write)
        os.set_blocking(stderr_read, False)
        machine = worker_machine(time.monotonic_ns())
        handle = WorkerHandle(plan, process, pidfd, ours, stderr_read, machine)
        handle.pids.append(process.pid)
        return handle

    def _set_off(self, process: BaseProcess) -> None:
        """Start a process; a fork server that is dead, or dies over it, is replaced once."""
        if not isinstance(self._context, ForkServerContext):
            process.start()
            return
        start_fork_server()
        try:
            process.start()
        except (OSError, EOFError):
            start_fork_server()
            process.start()

    def close(self) -> None:
        """Let go of the death pipe: every worker that is left is killed by the kernel."""
        self._death.close()


def _enter(start: WorkerStart) -> None:
    """Where a worker starts. Its module is loaded there only: the supervisor does without the
    libraries that work with pixels.
    """
    from mpflow.worker import main

    main(start)


def _context_for(spec: PipelineSpec) -> ForkServerContext | SpawnContext:
    if any(str(s.options.get("device", "")).startswith("cuda") for s in spec.stages):
        return multiprocessing.get_context("spawn")
    return multiprocessing.get_context("forkserver")


def _end_of(plan: WorkerPlan, process: BaseProcess) -> tuple[dict[str, object], str]:
    """How a process has ended: facts for an error, and words that follow "it ended"."""
    process.join(1.0)
    code = process.exitcode
    signal_name = _signal_name(code)
    facts: dict[str, object] = {
        "stage": plan.spec.name,
        "worker": plan.number,
        "pid": process.pid,
        "exit_code": code if code is None or code >= 0 else None,
        "signal": signal_name,
    }
    if code == _UNKNOWN_CODE:
        return facts, "in a way nobody saw (the fork server is gone)"
    return facts, f"by {signal_name}" if signal_name else f"with exit code {code}"


def _not_started(plan: WorkerPlan, process: BaseProcess, error: Exception) -> StageDied:
    """The error for a process that never came, or was gone before anybody could watch it."""
    facts: dict[str, object] = {"stage": plan.spec.name, "worker": plan.number}
    why = str(error) or "it ended at once"
    if process.pid is not None:
        facts, how = _end_of(plan, process)
        why = f"it ended at once, {how}"
    return StageDied(
        f"stage {plan.label} could not be started: {why}",
        cure="is there memory left? see the system's log",
        facts=facts,
    )


def _signal_name(code: int | None) -> str | None:
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
