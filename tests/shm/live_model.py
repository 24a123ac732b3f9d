"""The model of ring_model.py for live runs: frames are born, grow old, and are dropped.

    source that makes room -> two parallel workers that drop -> (an ordered stage) -> live sink

Every worker may shed what waits for its stage, and drop what it holds at any point of its work.
The sink sends at once and makes nothing again: whatever it misses must have a record by then. An
observer may read births without the lock at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ring_model import IDLE, LOCAL, WORKING, Broken, Model, Moves, Process, State, Walk, move, put

from mpflow.shm import board, drops
from mpflow.shm.ages import certain
from mpflow.shm.drops import Births, Why
from mpflow.shm.layout import PUB
from mpflow.shm.order import Order, waiting
from mpflow.shm.word import SEQ_SHIFT

LOCAL.add("birth")


@dataclass(frozen=True)
class LiveMoves(Moves):
    """The moves of live runs that are under test."""

    shed: Callable = drops.shed
    drop: Callable = drops.drop
    recover_live_sink: Callable = drops.recover_live_sink
    locked_shed: bool = True
    born_late: bool = False
    outdates: bool = True
    looks_again: bool = True


@dataclass(frozen=True)
class LiveModel(Model):
    """``sheds`` and ``drops`` at most happen; ``latest`` is the stage that takes in that order."""

    sheds: int = 0
    drops: int = 0
    latest: int = 0
    observed: bool = False
    moves: LiveMoves = field(default_factory=LiveMoves)


class LiveWalk(Walk):
    """The transitions of a live run."""

    model: LiveModel
    moves: LiveMoves

    def __init__(self, model: LiveModel) -> None:
        super().__init__(model)
        if model.latest:
            self.seats = [
                seat._replace(order=Order.LATEST) if seat.stage == model.latest else seat
                for seat in self.seats
            ]

    def start(self) -> State:
        model = self.model
        return (
            super()
            .start()
            ._replace(
                births=(0,) * model.slots,
                records=(0,) * model.frames,
                sheds=model.sheds,
                drops=model.drops,
            )
        )

    def successors(self, s: State) -> list[tuple[str, State]]:
        found = super().successors(s)
        return [*found, *self._observe(s)] if self.model.observed else found

    def _each(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        return [*self._step(s, w, p), *self._give_up(s, w, p), *self._kill(s, w, p)]

    def _put(self, s: State, cell: int, value: int) -> State:
        """Births and records are the cells behind the words."""
        slot = cell - len(s.cells)
        if slot < 0:
            return s._replace(cells=put(s.cells, cell, value))
        if slot < self.model.slots:
            return s._replace(births=put(s.births, slot, value))
        return s._replace(records=put(s.records, slot - self.model.slots, value))

    # what a worker may do beside its work

    def _give_up(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        """Decide to drop a frame, or to shed one that waits for the own stage."""
        if p.todo:
            return []
        name, stage = self._name(w), self.roles[w]
        if s.drops and stage and p.at in {*WORKING, "mark", "write"}:
            told = self._meet(s, w, p) if stage == self.model.sink else p
            fewer = s._replace(drops=s.drops - 1)
            return [(f"{name} gives up at {p.at}", move(fewer, w, told._replace(at="drop")))]
        if s.sheds and stage and p.at == IDLE and s.lock is None:
            fewer = s._replace(sheds=s.sheds - 1)
            ready = waiting(s.cells, self.first, stage)
            return [(f"{name} sheds", self._shed(fewer, w, p, [word])) for word in ready]
        return []

    def _shed(self, s: State, w: int, p: Process, words: Iterable[int]) -> State:
        stores = self.moves.shed(s.cells, self._births(s), words, Why.STALE)
        if not self.moves.locked_shed:
            return move(s, w, p._replace(todo=tuple(stores)))
        shed = self._locked(s, w, p, stores)
        assert shed is not None
        return shed

    def _drop(self, s: State, w: int, p: Process) -> State | None:
        stores = self.moves.drop(s.cells, self._births(s), p.cell, Why.STALE)
        then = IDLE if self.roles[w] == self.model.sink else "forget"
        return self._locked(s, w, p._replace(then=then), stores)

    # what the source does

    def _idle_source(self, s: State, w: int, p: Process) -> State | None:
        done = super()._idle_source(s, w, p)
        if done is not None or s.cells[PUB] >= self.model.frames:
            return done
        words = drops.oldest(s.cells, self.first, self.model.sink)
        return self._shed(s, w, p, words) if words else None

    def _fill(self, s: State, w: int, p: Process) -> State:
        filled = super()._fill(s, w, p)
        return filled if self.moves.born_late else move(filled, w, p._replace(at="birth"))

    def _birth(self, s: State, w: int, p: Process) -> State:
        return self._bear(s, w, p._replace(at="token"), s.cells[p.cell] >> SEQ_SHIFT)

    def _late(self, s: State, w: int, p: Process) -> State:
        """Wrong variant: the birth is written after the frame is published."""
        return self._bear(s, w, p._replace(at=IDLE), s.cells[PUB] - 1)

    def _bear(self, s: State, w: int, p: Process, seq: int) -> State:
        ((_, cell, value),) = board.birth(len(s.cells), p.cell - self.first, born(seq))
        return move(self._put(s, cell, value), w, p)

    def _publish(self, s: State, w: int, p: Process) -> State | None:
        return super()._publish(s, w, p._replace(then="late") if self.moves.born_late else p)

    # what an ordered stage that catches up does

    def _mark(self, s: State, w: int, p: Process) -> State | None:
        """Right after the take, everything earlier that waits is shed; then work begins."""
        if self.roles[w] != self.model.latest or not self.moves.outdates:
            return super()._mark(s, w, p)
        seq = s.cells[p.cell] >> SEQ_SHIFT
        words = drops.earlier(s.cells, self.first, self.model.latest, seq)
        if not words:
            return super()._mark(s, w, p)
        return self._shed(s, w, p._replace(then="mark"), words) if s.lock is None else None

    def _give(self, s: State, w: int, p: Process) -> State | None:
        if self.roles[w] != self.model.latest:
            return super()._give(s, w, p)
        seq = s.cells[p.cell] >> SEQ_SHIFT
        if seq <= s.given:
            raise Broken(f"the ordered stage gives {seq} after {s.given}")
        return super()._give(s._replace(given=seq), w, p)

    # what the sink does

    def _write(self, s: State, w: int, p: Process) -> State:
        super()._write(s, w, p)  # checks the pixels
        seq = s.cells[p.cell] >> SEQ_SHIFT
        sent = s._replace(durable=(*s.durable, seq))
        return move(sent, w, self._meet(s, w, p)._replace(at="free"))

    def _meet(self, s: State, w: int, p: Process) -> Process:
        """The sink meets a frame: whatever it has not seen before that one has a record."""
        seq = s.cells[p.cell] >> SEQ_SHIFT
        self._check_gap(s, p, seq)
        return p._replace(chunk=(seq + 1,))

    def _check_gap(self, s: State, p: Process, seq: int) -> None:
        missing = [q for q in range(*(p.chunk or (0,)), seq) if q not in self._recorded(s)]
        if missing:
            raise Broken(f"the sink comes to {seq} and knows nothing of {missing}")

    def _last_chunk(self, s: State, w: int, p: Process) -> State | None:
        if board.upstream_empty(s.cells, self.first, self.model.sink):
            self._check_gap(s, p, self.model.frames)
        return None

    # recovery, and what must hold

    def _plan(self, s: State, w: int) -> tuple:
        stage = self.roles[w]
        if stage != self.model.sink:
            return super()._plan(s, w)
        return self.moves.recover_live_sink(s.cells, self._births(s), stage, w)

    def _act(self, s: State, w: int, stores: tuple) -> State:
        acted = super()._act(s, w, stores)
        if self.roles[w] != self.model.sink:
            return acted
        first = drops.goes_on_at(s.cells, self.first, s.cells[PUB])
        return move(acted, w, Process(chunk=(first,)))

    def _observe(self, s: State) -> list[tuple[str, State]]:
        """Read a word, its slot's birth, and the word again: one look a step."""
        if not s.look:
            words = s.cells[self.first :]
            return [(f"look at {k}", s._replace(look=(k, word))) for k, word in enumerate(words)]
        slot, word, *birth = s.look
        if not birth:
            return [("look at its birth", s._replace(look=(slot, word, s.births[slot])))]
        again = s.cells[self.first + slot] if self.moves.looks_again else word
        for _, seen, moment in certain([word], birth, [again]):
            if moment != born(seen >> SEQ_SHIFT):
                raise Broken(f"frame {seen >> SEQ_SHIFT} is said to be born at {moment}")
        return [("look again", s._replace(look=()))]

    def check(self, s: State) -> None:
        self._check_holders(s)
        if any(a >= b for a, b in zip(s.durable, s.durable[1:], strict=False)):
            raise Broken(f"sent out of order or twice: {s.durable}")

    def check_end(self, s: State) -> None:
        super().check_end(s)
        self._check_gap(s, s.processes[-1], self.model.frames)

    def _accounted(self, s: State) -> set[int]:
        return {*s.durable, *self._recorded(s)}

    def _recorded(self, s: State) -> set[int]:
        found = {drops.read(record).seq for record in s.records if record}
        assert all(s.records[seq] >> SEQ_SHIFT == seq for seq in found)
        return found

    def _check_token(self, s: State, cell: int, word: int, stage: int) -> None:
        super()._check_token(s, cell, word, stage)
        if s.births[cell - self.first] != born(word >> SEQ_SHIFT) and not self.moves.born_late:
            raise Broken(f"frame {word >> SEQ_SHIFT} was taken without its birth")

    def _births(self, s: State) -> Births:
        slots = self.model.slots
        return Births(s.births, 200, self.first, len(s.cells) + slots, self.model.frames)


def born(seq: int) -> int:
    """When a frame of the model was born."""
    return 100 + seq
