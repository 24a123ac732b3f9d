"""The states of a worker and of a job, as tables; an illegal move raises.

worker:  starting -> ready -> busy -> ready ... -> draining -> stopped
            ^         |    building     `-- failed -> backoff -.
            |---------|---- parked --------------------- vacant |
            `---------------------------------------------------'
job:     probing -> beginning -> running -> concluding -> done
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar


class IllegalMove(Exception):
    """A state machine was asked for a move that its table does not have."""


class WorkerState(StrEnum):
    """Where a worker stands. PARKED keeps what it has loaded and takes nothing; VACANT is a seat
    for a worker, without one.
    """

    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    BUILDING = "building"
    PARKED = "parked"
    VACANT = "vacant"
    DRAINING = "draining"
    FAILED = "failed"
    BACKOFF = "backoff"
    STOPPED = "stopped"


class JobState(StrEnum):
    """Where a job stands. STOPPING drains what is in the ring; ABORTING waits for nobody."""

    PROBING = "probing"
    BEGINNING = "beginning"
    RUNNING = "running"
    STOPPING = "stopping"
    ABORTING = "aborting"
    CONCLUDING = "concluding"
    DONE = "done"


KEPT = 200
"""So many moves of a worker are kept, and so many processes: a run may go on for weeks."""

S = TypeVar("S", bound=StrEnum)

W, J = WorkerState, JobState

WORKER_MOVES: Mapping[WorkerState, frozenset[WorkerState]] = {
    W.STARTING: frozenset({W.READY, W.DRAINING, W.FAILED, W.STOPPED}),
    W.READY: frozenset({W.BUSY, W.PARKED, W.DRAINING, W.FAILED, W.STOPPED}),
    W.BUSY: frozenset({W.READY, W.BUILDING, W.PARKED, W.DRAINING, W.FAILED, W.STOPPED}),
    W.BUILDING: frozenset({W.BUSY, W.READY, W.PARKED, W.DRAINING, W.FAILED, W.STOPPED}),
    W.PARKED: frozenset({W.BUSY, W.READY, W.DRAINING, W.FAILED, W.STOPPED}),
    W.VACANT: frozenset({W.STARTING}),
    W.DRAINING: frozenset({W.FAILED, W.STOPPED}),
    W.FAILED: frozenset({W.BACKOFF, W.VACANT}),
    W.BACKOFF: frozenset({W.STARTING, W.FAILED, W.STOPPED}),
    W.STOPPED: frozenset(),
}

JOB_MOVES: Mapping[JobState, frozenset[JobState]] = {
    J.PROBING: frozenset({J.BEGINNING, J.ABORTING}),
    J.BEGINNING: frozenset({J.RUNNING, J.STOPPING, J.ABORTING}),
    J.RUNNING: frozenset({J.STOPPING, J.ABORTING, J.CONCLUDING}),
    J.STOPPING: frozenset({J.ABORTING, J.CONCLUDING}),
    J.ABORTING: frozenset({J.CONCLUDING, J.DONE}),
    J.CONCLUDING: frozenset({J.RUNNING, J.ABORTING, J.DONE}),
    J.DONE: frozenset(),
}


@dataclass
class Machine(Generic[S]):
    """A state with its table of moves and the last of its history: (nanoseconds, state, reason).

    ``left_out`` moves came before those; ``entered`` says how often it came to each state.
    """

    state: S
    moves: Mapping[S, frozenset[S]]
    history: list[tuple[int, str, str]] = field(default_factory=list)
    left_out: int = 0
    entered: Counter[S] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.entered[self.state] += 1

    def move(self, state: S, *, now: int, reason: str = "") -> None:
        """Go to ``state``; raises IllegalMove when the table has no such move."""
        if state not in self.moves[self.state]:
            raise IllegalMove(f"{self.state} -> {state} ({reason or 'no reason given'})")
        self.state = state
        self.entered[state] += 1
        self.history.append((now, str(state), reason))
        if len(self.history) > KEPT:
            del self.history[0]
            self.left_out += 1

    @property
    def since(self) -> int:
        """When the present state began, in nanoseconds of the monotonic clock; 0 if at first."""
        return self.history[-1][0] if self.history else 0

    def is_in(self, *states: S) -> bool:
        """Whether the state is one of these."""
        return self.state in states


def worker_machine(now: int = 0) -> Machine[WorkerState]:
    """A worker that was started at ``now``."""
    return Machine(WorkerState.STARTING, WORKER_MOVES, [(now, str(WorkerState.STARTING), "")])


def vacant_machine(now: int = 0) -> Machine[WorkerState]:
    """A seat that nobody has taken yet."""
    return Machine(WorkerState.VACANT, WORKER_MOVES, [(now, str(WorkerState.VACANT), "")])


def restarts(machine: Machine[WorkerState]) -> int:
    """How often a worker was started, but for the first time."""
    return max(machine.entered[WorkerState.STARTING] - 1, 0)


def followed(pids: Sequence[int], by: Sequence[int]) -> list[int]:
    """The last processes that were a worker, one after another, with who came next."""
    return [*pids, *by][-KEPT:]


def job_machine() -> Machine[JobState]:
    """A job whose input is about to be looked at."""
    return Machine(JobState.PROBING, JOB_MOVES)
