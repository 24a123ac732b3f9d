"""State machines move as their tables say and raise otherwise."""

import pytest

from mpflow.lifecycle import (
    JOB_MOVES,
    KEPT,
    WORKER_MOVES,
    IllegalMove,
    JobState,
    WorkerState,
    followed,
    job_machine,
    restarts,
    vacant_machine,
    worker_machine,
)


def test_a_worker_that_is_ready_gets_busy_and_ready_again() -> None:
    machine = worker_machine()
    for state in (WorkerState.READY, WorkerState.BUSY, WorkerState.READY, WorkerState.DRAINING):
        machine.move(state, now=1, reason="test")
    assert machine.state is WorkerState.DRAINING
    assert machine.history[:2] == [(0, "starting", ""), (1, "ready", "test")]
    assert machine.since == 1


def test_a_worker_that_died_is_started_again_or_stays_dead() -> None:
    machine = worker_machine()
    states = ("ready", "busy", "building", "failed", "backoff", "failed", "backoff", "starting")
    for moment, state in enumerate(states, 1):
        machine.move(WorkerState(state), now=moment)
    assert machine.is_in(WorkerState.STARTING) and machine.since == len(states)
    with pytest.raises(IllegalMove):
        machine.move(WorkerState.BUSY, now=9)


def test_a_worker_that_is_not_needed_parks_and_goes_on_or_leaves_its_seat_vacant() -> None:
    machine = worker_machine()
    for state in ("ready", "busy", "parked", "busy", "parked", "failed", "vacant", "starting"):
        machine.move(WorkerState(state), now=1)
    assert vacant_machine().is_in(WorkerState.VACANT)


@pytest.mark.parametrize("moves", [WORKER_MOVES, JOB_MOVES], ids=["worker", "job"])
def test_every_state_has_a_row_and_every_state_is_reached(moves: dict) -> None:
    states = set(moves)
    assert states == set(type(next(iter(states))))
    reached = set().union(*moves.values())
    assert states - reached <= {WorkerState.STARTING, JobState.PROBING}


@pytest.mark.parametrize(
    ("start", "illegal"),
    [(job_machine, JobState.DONE), (job_machine, JobState.CONCLUDING), (worker_machine, "busy")],
)
def test_an_illegal_move_raises_and_changes_nothing(start, illegal) -> None:
    machine = start()
    before, history = machine.state, list(machine.history)
    with pytest.raises(IllegalMove):
        machine.move(illegal, now=0)
    assert machine.state is before
    assert machine.history == history


def test_final_states_have_no_way_out() -> None:
    assert WORKER_MOVES[WorkerState.STOPPED] == frozenset()
    assert WORKER_MOVES[WorkerState.FAILED] == {WorkerState.BACKOFF, WorkerState.VACANT}
    assert JOB_MOVES[JobState.DONE] == frozenset()


def test_of_a_worker_that_is_replaced_for_weeks_the_last_moves_are_kept_and_all_are_counted() -> (
    None
):
    machine, pids = worker_machine(), [0]
    for life in range(1, 1001):
        for state in ("ready", "busy", "failed", "backoff", "starting"):
            machine.move(WorkerState(state), now=life)
        pids = followed(pids, [life])
    assert len(machine.history) == KEPT
    assert machine.left_out == 5001 - KEPT
    assert machine.history[-1] == (1000, "starting", "")
    assert restarts(machine) == 1000
    assert pids == list(range(1001 - KEPT, 1001))
    assert restarts(vacant_machine()) == restarts(worker_machine()) == 0
