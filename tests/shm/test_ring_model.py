"""Every interleaving of the real moves, with a kill before every store: what holds, what breaks."""

from __future__ import annotations

import pytest
from ring_model import Model, Moves, explore

from mpflow.shm import Order, board
from mpflow.shm.layout import END, PUB
from mpflow.shm.word import FREE, SEQ_SHIFT, ready_next

HOLDS = {
    "every interleaving, literally, without a kill": Model(kills=0, reduce=False, slots=3),
    "every interleaving, literally, one kill of anyone": Model(frames=2, reduce=False),
    "one kill of anyone, three slots": Model(slots=3),
    "two kills of anyone": Model(frames=2, kills=2, chunk=1),
    "one kill of anyone, two stages that change pixels": Model(frames=2, stages=(2, 1)),
    "one kill of anyone while a stage fails, takes back and tries again": Model(frames=2, undos=1),
    "two kills of stages that fail twice": Model(
        frames=2, kills=2, chunk=1, undos=2, killable="stage"
    ),
}


@pytest.mark.parametrize("model", HOLDS.values(), ids=HOLDS)
def test_no_frame_is_lost_torn_or_twice_and_no_slot_leaks(model: Model) -> None:
    result = explore(model)
    assert not result.fault, result.told
    assert result.states > 1000


def give_without_epoch(cells, cell):
    word = cells[cell]
    return (("G2", cell, ready_next(word, (word >> 2 & 31) + 1)),)


def publish_without_epoch(cells, cell):
    word = cells[cell]
    return (("P1", PUB, (word >> SEQ_SHIFT) + 1), ("P2", cell, ready_next(word, 1)))


def publish_backwards(cells, cell):
    return tuple(reversed(board.publish(cells, cell)))


def end_wherever_pub_is(cells, total):
    return (("E1", END, cells[PUB]),)


def recover_source_always_back(cells, first, worker):
    stores = board.recover_source(cells, first, worker)
    return tuple((name, cell, FREE) for name, cell, _ in stores)


def recover_source_always_forward(cells, first, worker):
    stores = board.recover_source(cells, first, worker)
    return tuple((name, cell, ready_next(cells[cell], 1)) for name, cell, _ in stores)


def recover_sink_keeps_ready(cells, first, stage, worker, durable):
    stores = board.recover_sink(cells, first, stage, worker, durable)
    return tuple(store for store in stores if store[0] != "R3W" or cells[store[1]] & 3 != 1)


def undo_the_key_first(cells, first, cell, worker):
    stores = board.undo(cells, first, cell, worker)
    return tuple(sorted(stores, key=lambda store: store[0] == "UP"))


def undo_the_word_alone(cells, first, cell, worker):
    return tuple(s for s in board.undo(cells, first, cell, worker) if s[0] == "U1")


WRONG = {
    "give without the lock": Moves(locked_give=False),
    "the owner is cleared after the unlock": Moves(owner_cleared_late=True),
    "recovery reads without the lock": Moves(locked_recovery=False),
    "the token lives only in the ring entry": Moves(tokens_stay=False),
    "one bank for the token": Moves(banks=False),
    "no epoch": Moves(give=give_without_epoch, publish=publish_without_epoch),
    "no journal": Moves(journal=False),
    "pub moves after the word": Moves(publish=publish_backwards),
    "the end is wherever pub stands": Moves(end_of_stream=end_wherever_pub_is),
    "a dead source's frame is always decoded again": Moves(
        recover_source=recover_source_always_back
    ),
    "a dead source's frame always goes forward": Moves(
        recover_source=recover_source_always_forward
    ),
    "a rewind leaves READY frames": Moves(recover_sink=recover_sink_keeps_ready),
    "the sink takes the lowest there is": Moves(sink_order=Order.LOWEST),
}


@pytest.mark.parametrize("moves", WRONG.values(), ids=WRONG)
def test_a_wrong_variant_is_found_out(moves: Moves) -> None:
    result = explore(Model(moves=moves))
    assert result.fault
    assert result.trace, "a counterexample tells the way"


def test_a_key_that_is_never_cleared_is_found_out() -> None:
    moves = Moves(clears_key=False)
    result = explore(Model(frames=2, kills=2, killable="stage sink", moves=moves))
    assert "pixels" in result.fault


@pytest.mark.parametrize("undo", [undo_the_key_first, undo_the_word_alone])
def test_a_wrong_undo_is_found_out(undo) -> None:
    result = explore(Model(frames=2, undos=1, moves=Moves(undo=undo)))
    assert "pixels" in result.fault
