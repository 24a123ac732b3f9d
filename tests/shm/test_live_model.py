"""Every interleaving of a live run's moves, with a kill before every store."""

from __future__ import annotations

import pytest
from live_model import LiveModel, LiveMoves, LiveWalk
from ring_model import explore

from mpflow.shm import board, drops
from mpflow.shm.order import Order

HOLDS = {
    "one kill of anyone while a frame is shed": LiveModel(sheds=1),
    "one kill of anyone while frames are shed and dropped": LiveModel(frames=2, sheds=1, drops=1),
    "two kills of anyone": LiveModel(frames=2, stages=(1,), kills=2, sheds=1, drops=1),
    "an ordered stage takes the latest and sheds what is earlier": LiveModel(
        stages=(2, 1), latest=2
    ),
    "literally, while births are read from outside": LiveModel(
        frames=2, slots=1, stages=(1,), sheds=1, reduce=False, observed=True
    ),
}


@pytest.mark.parametrize("model", HOLDS.values(), ids=HOLDS)
def test_every_frame_is_sent_in_order_or_has_its_record(model: LiveModel) -> None:
    result = explore(model, walk=LiveWalk)
    assert not result.fault, result.told
    assert result.states > 1000


def free_before_the_record(move):
    def moved(*arguments):
        stores = move(*arguments)
        return tuple(s for k in range(0, len(stores), 2) for s in reversed(stores[k : k + 2]))

    return moved


def without_a_record(move):
    return lambda *arguments: tuple(s for s in move(*arguments) if s[2] == 0)


def requeue_the_sinks_frames(cells, births, stage, worker):
    return board.recover_stage(cells, births.first, stage, worker)


WRONG = {
    "shed frees before it records": LiveMoves(shed=free_before_the_record(drops.shed)),
    "drop frees before it records": LiveMoves(drop=free_before_the_record(drops.drop)),
    "shed leaves no record": LiveMoves(shed=without_a_record(drops.shed)),
    "shed without the lock": LiveMoves(locked_shed=False),
    "a dead sink's frames are lost without a word": LiveMoves(
        recover_live_sink=without_a_record(drops.recover_live_sink)
    ),
    "a dead sink's frames are sent again": LiveMoves(recover_live_sink=requeue_the_sinks_frames),
    "a sink that takes the newest": LiveMoves(sink_order=Order.NEWEST),
}


@pytest.mark.parametrize("moves", WRONG.values(), ids=WRONG)
def test_a_wrong_variant_of_a_live_run_is_found_out(moves: LiveMoves) -> None:
    model = LiveModel(frames=3, stages=(1,), sheds=1, drops=1, moves=moves)
    result = explore(model, walk=LiveWalk)
    assert result.fault and result.fault != "too many states"
    assert result.trace, "a counterexample tells the way"


def test_an_ordered_stage_that_sheds_nothing_earlier_loses_its_order() -> None:
    model = LiveModel(stages=(1, 1), latest=2, moves=LiveMoves(outdates=False))
    assert "the ordered stage gives" in explore(model, walk=LiveWalk).fault


@pytest.mark.parametrize("wrong", [{"born_late": True}, {"looks_again": False}])
def test_a_birth_written_late_or_read_carelessly_is_found_out(wrong: dict[str, bool]) -> None:
    model = LiveModel(
        frames=2, slots=1, stages=(1,), reduce=False, observed=True, moves=LiveMoves(**wrong)
    )
    assert "is said to be born" in explore(model, walk=LiveWalk).fault
