"""An explicit-state model of the ring that runs the real moves of mpflow.shm.board.

    source -> two parallel workers that change pixels -> (a second stage) -> sink with chunks

A state holds the shared cells exactly as the segment does, beside abstract tokens, pixels and
saved pixels. Every process makes one store at a time; before each it may be killed; a dead one
is recovered under the lock and started again. ``explore`` visits every state there is.

Steps that only their own process can see (filling, pixel changes, the token in the spare bank,
the holder's own marks and keys) commute with everything the others do. With ``reduce`` such a
step, or the death of its process, is the only thing explored in that state: every run has an
equal one in which it comes first. Without it all interleavings are walked literally.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mpflow.shm import board
from mpflow.shm.layout import END, FIRST_KEY, PUB, UNKNOWN
from mpflow.shm.order import Order, Seat, waiting
from mpflow.shm.word import BANK_SHIFT, READY, SEQ_SHIFT, STAGE_SHIFT

DEAD, IDLE = "dead", "idle"
CLEAN, HALF, DONE = 0, 1, 2


class Process(NamedTuple):
    """Where a process stands; ``todo`` are stores it still has to make inside the lock."""

    at: str = IDLE
    cell: int = 0
    todo: tuple = ()
    then: str = IDLE
    chunk: tuple = ()


class State(NamedTuple):
    cells: tuple
    tokens: tuple
    pixels: tuple
    saved: tuple
    lock: int | None
    processes: tuple
    kills: int
    undos: int = 0
    durable: tuple = ()
    extra: Any = None
    births: tuple = ()
    records: tuple = ()
    sheds: int = 0
    drops: int = 0
    given: int = -1
    look: tuple = ()


class Broken(Exception):
    """A property does not hold; the text says which."""


@dataclass(frozen=True)
class Moves:
    """The moves under test; the wrong variants replace some of them."""

    publish: Callable = board.publish
    give: Callable = board.give
    end_of_stream: Callable = board.end_of_stream
    undo: Callable = board.undo
    recover_source: Callable = board.recover_source
    recover_stage: Callable = board.recover_stage
    recover_sink: Callable = board.recover_sink
    locked_give: bool = True
    locked_recovery: bool = True
    banks: bool = True
    tokens_stay: bool = True
    journal: bool = True
    clears_key: bool = True
    owner_cleared_late: bool = False
    sink_order: Order = Order.WATERMARK


@dataclass(frozen=True)
class Model:
    """One configuration: who runs, how many frames, slots and kills, and who may be killed."""

    frames: int = 3
    slots: int = 2
    kills: int = 1
    chunk: int = 2
    stages: tuple[int, ...] = (2,)
    killable: str = "source stage sink"
    undos: int = 0
    reduce: bool = True
    moves: Moves = field(default_factory=Moves)

    @property
    def roles(self) -> list[int]:
        """The stage of each worker, source first, sink last."""
        middle = [k for k, workers in enumerate(self.stages, 1) for _ in range(workers)]
        return [0, *middle, len(self.stages) + 1]

    @property
    def sink(self) -> int:
        return len(self.stages) + 1

    @property
    def first(self) -> int:
        return FIRST_KEY + len(self.roles)


LOCAL = {
    *("fill", "token", "mark", "begin_save", "save", "key", "half", "done", "undo"),
    *("forget", "write"),
}
WORKING = {"begin_save", "save", "key", "half", "done", "token"}


class Walk:
    """The transitions of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.moves = model.moves
        self.roles = model.roles
        self.first = model.first
        self.seats = [
            Seat(
                self.first, stage, w, self.moves.sink_order if stage == model.sink else Order.LOWEST
            )
            for w, stage in enumerate(self.roles)
        ]
        kinds = {0: "source", model.sink: "sink"}
        self.can_die = [kinds.get(stage, "stage") in model.killable for stage in self.roles]

    def start(self) -> State:
        workers, slots = len(self.roles), self.model.slots
        cells = (0, 0, UNKNOWN, *(0,) * workers, *(0,) * slots)
        return State(
            cells,
            ((None, None),) * slots,
            (None,) * slots,
            (None,) * workers,
            None,
            (Process(),) * workers,
            self.model.kills,
            self.model.undos,
        )

    def successors(self, s: State) -> list[tuple[str, State]]:
        if self.model.reduce and s.extra is None:
            for w, p in enumerate(s.processes):
                if p.at in LOCAL:
                    return self._each(s, w, p)
        found: list[tuple[str, State]] = []
        for w, p in enumerate(s.processes):
            found += self._recover(s, w) if p.at == DEAD else self._each(s, w, p)
        return found

    def _each(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        """Everything that may happen to a living process."""
        return [*self._step(s, w, p), *self._fail(s, w, p), *self._kill(s, w, p)]

    # what one process does next

    def _step(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        if p.todo:
            return [self._store(s, w, p)]
        t = getattr(self, f"_{p.at}")(s, w, p)
        return [] if t is None else [(f"{self._name(w)} {p.at}", t)]

    def _store(self, s: State, w: int, p: Process) -> tuple[str, State]:
        (name, cell, value), *rest = p.todo
        if name == "UP":
            s = s._replace(pixels=put(s.pixels, cell - self.first, s.saved[w]))
        else:
            s = self._put(s, cell, value)
        if rest:
            return f"{self._name(w)} {name}", move(s, w, p._replace(todo=tuple(rest)))
        s = s._replace(lock=None if s.lock == w else s.lock)
        return f"{self._name(w)} {name}", move(s, w, p._replace(todo=(), at=p.then, then=IDLE))

    def _locked(self, s: State, w: int, p: Process, stores: Iterable) -> State | None:
        """Take the lock, make the first store; the rest follows one at a time."""
        if s.lock is not None:
            return None
        return self._store(s._replace(lock=w), w, p._replace(todo=tuple(stores)))[1]

    def _idle(self, s: State, w: int, p: Process) -> State | None:
        if s.lock is not None:
            return None
        stage = self.roles[w]
        if stage == 0:
            return self._idle_source(s, w, p)
        stores = board.take(s.cells, self.seats[w], waiting(s.cells, self.first, stage))
        if not stores:
            if stage == self.model.sink and p.chunk:
                return self._last_chunk(s, w, p)
            return None
        (_, cell, word), *_ = stores
        self._check_token(s, cell, word, stage)
        if not self.moves.tokens_stay:
            slot = cell - self.first
            s = s._replace(tokens=put(s.tokens, slot, (None, None)))
        then = "write" if stage == self.model.sink else "mark"
        return self._locked(s, w, p._replace(cell=cell, then=then), stores)

    def _idle_source(self, s: State, w: int, p: Process) -> State | None:
        if s.cells[PUB] >= self.model.frames:
            # the source sees its end without the lock, so it decides now and writes later
            return None if s.cells[END] != UNKNOWN else move(s, w, p._replace(at="end"))
        stores = board.alloc(s.cells, self.first, w)
        if not stores:
            return None
        return self._locked(s, w, p._replace(cell=stores[0][1], then="fill"), stores)

    def _end(self, s: State, w: int, p: Process) -> State | None:
        if s.lock is not None:
            return None
        stores = self.moves.end_of_stream(s.cells, self.model.frames)
        if not stores:
            return move(s, w, p._replace(at=IDLE))
        return self._locked(s, w, p, stores)

    def _fill(self, s: State, w: int, p: Process) -> State:
        frame = (s.cells[p.cell] >> SEQ_SHIFT, *(CLEAN,) * len(self.model.stages))
        return move(self._paint(s, p, frame), w, p._replace(at="token"))

    def _token(self, s: State, w: int, p: Process) -> State:
        word, slot, stage = s.cells[p.cell], p.cell - self.first, self.roles[w]
        bank = word >> BANK_SHIFT & 1
        into = bank ^ 1 if self.moves.banks or stage == 0 else bank
        token = (word >> SEQ_SHIFT, stage + 1)
        tokens = put(s.tokens, slot, put(s.tokens[slot], into, token))
        return move(
            s._replace(tokens=tokens), w, p._replace(at="publish" if stage == 0 else "give")
        )

    def _publish(self, s: State, w: int, p: Process) -> State | None:
        if s.lock is not None:
            return None
        return self._locked(s, w, p, self.moves.publish(s.cells, p.cell))

    def _mark(self, s: State, w: int, p: Process) -> State:
        return self._own(s, w, p._replace(at="begin_save"), board.work(s.cells[p.cell], p.cell))

    def _begin_save(self, s: State, w: int, p: Process) -> State:
        if not self.moves.journal:
            return move(s, w, p._replace(at="half"))
        return move(s._replace(saved=put(s.saved, w, "torn")), w, p._replace(at="save"))

    def _save(self, s: State, w: int, p: Process) -> State:
        pixels = s.pixels[p.cell - self.first]
        return move(s._replace(saved=put(s.saved, w, pixels)), w, p._replace(at="key"))

    def _key(self, s: State, w: int, p: Process) -> State:
        key = board.make_key(p.cell - self.first, s.cells[p.cell] >> SEQ_SHIFT, 1)
        return self._own(s, w, p._replace(at="half"), board.set_key(w, key))

    def _half(self, s: State, w: int, p: Process) -> State:
        return self._change(s, w, p._replace(at="done"), HALF)

    def _done(self, s: State, w: int, p: Process) -> State:
        return self._change(s, w, p._replace(at="token"), DONE)

    def _give(self, s: State, w: int, p: Process) -> State | None:
        then = "forget" if self.moves.journal and self.moves.clears_key else IDLE
        stores = self.moves.give(s.cells, p.cell)
        if not self.moves.banks and stores[0][0] == "G2":
            (name, cell, value) = stores[0]
            stores = ((name, cell, value ^ 1 << BANK_SHIFT),)
        if self.moves.owner_cleared_late:
            return self._locked(s, w, p._replace(then="owner"), stores)
        if not self.moves.locked_give:
            # what was read stays what was read: the store comes some time later
            return move(s, w, p._replace(todo=stores, then=then))
        return self._locked(s, w, p._replace(then=then), stores)

    def _owner(self, s: State, w: int, p: Process) -> State:
        """Wrong variant: a separate owner mark, cleared only after the unlock."""
        return move(s, w, p._replace(at="forget"))

    def _forget(self, s: State, w: int, p: Process) -> State:
        return self._own(s, w, p._replace(at=IDLE), board.clear_key(w))

    def _fail(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        """The stage raises at some point of its work, takes it back, and tries again."""
        if not s.undos or p.todo or p.at not in WORKING or not 0 < self.roles[w] < self.model.sink:
            return []
        stores = tuple(self.moves.undo(s.cells, self.first, p.cell, w))
        failed = s._replace(undos=s.undos - 1)
        undoing = p._replace(at="undo", todo=stores, then="mark")
        return [(f"{self._name(w)} fails at {p.at}", move(failed, w, undoing))]

    def _write(self, s: State, w: int, p: Process) -> State:
        pixels = s.pixels[p.cell - self.first]
        if pixels != (s.cells[p.cell] >> SEQ_SHIFT, *(DONE,) * len(self.model.stages)):
            raise Broken(f"a frame reached the sink with pixels {pixels}")
        chunk = (*p.chunk, s.cells[p.cell] >> SEQ_SHIFT)
        full = len(chunk) == self.model.chunk
        return move(s, w, p._replace(chunk=chunk, at="rename" if full else "free"))

    def _rename(self, s: State, w: int, p: Process) -> State:
        return self._durable(s, w, p._replace(at="free"))

    def _free(self, s: State, w: int, p: Process) -> State | None:
        return self._locked(s, w, p, board.free(p.cell))

    # parts of steps

    def _last_chunk(self, s: State, w: int, p: Process) -> State | None:
        if not board.upstream_empty(s.cells, self.first, self.model.sink):
            return None
        return self._durable(s, w, p)

    def _durable(self, s: State, w: int, p: Process) -> State:
        return move(s._replace(durable=s.durable + p.chunk), w, p._replace(chunk=()))

    def _own(self, s: State, w: int, p: Process, stores: Iterable) -> State:
        ((_, cell, value),) = stores
        return move(s._replace(cells=put(s.cells, cell, value)), w, p)

    def _change(self, s: State, w: int, p: Process, new: int) -> State:
        place, pixels = self.roles[w], s.pixels[p.cell - self.first]
        if pixels[place] != new - 1:
            raise Broken(f"stage {place} works on pixels {pixels}, changed before")
        return move(self._paint(s, p, put(pixels, place, new)), w, p)

    def _paint(self, s: State, p: Process, pixels: tuple) -> State:
        return s._replace(pixels=put(s.pixels, p.cell - self.first, pixels))

    def _check_token(self, s: State, cell: int, word: int, stage: int) -> None:
        token = s.tokens[cell - self.first][word >> BANK_SHIFT & 1]
        if token != (word >> SEQ_SHIFT, stage):
            raise Broken(f"stage {stage} took {word >> SEQ_SHIFT} with the token {token}")

    # death and recovery

    def _kill(self, s: State, w: int, p: Process) -> list[tuple[str, State]]:
        if not s.kills or not self.can_die[w]:
            return []
        lock = None if s.lock == w else s.lock
        # an owner mark that was not cleared yet stays behind
        left = Process(DEAD, p.cell if p.at == "owner" else 0)
        dead = move(s._replace(kills=s.kills - 1, lock=lock), w, left)
        return [(f"{self._name(w)} KILLED before {p.todo[0][0] if p.todo else p.at}", dead)]

    def _recover(self, s: State, w: int) -> list[tuple[str, State]]:
        name = f"recover {self._name(w)}"
        if not self.moves.locked_recovery:
            if s.extra is None:
                return [(f"{name}: reads", s._replace(extra=(w, self._plan(s, w))))]
            if s.extra[0] != w:
                return []
            return [(f"{name}: acts", self._act(s._replace(extra=None), w, s.extra[1]))]
        if s.lock is not None:
            return []
        return [(name, self._act(s, w, self._plan(s, w)))]

    def _plan(self, s: State, w: int) -> tuple:
        stage = self.roles[w]
        if stage == 0:
            return self.moves.recover_source(s.cells, self.first, w)
        if stage == self.model.sink:
            return self.moves.recover_sink(s.cells, self.first, stage, w, self._first_lost(s))
        return self.moves.recover_stage(s.cells, self.first, stage, w)

    def _first_lost(self, s: State) -> int:
        return s.durable[-1] + 1 if s.durable else 0

    def _act(self, s: State, w: int, stores: tuple) -> State:
        for name, cell, value in stores:
            if name == "RP":
                s = s._replace(pixels=put(s.pixels, cell - self.first, s.saved[w]))
            else:
                s = self._put(s, cell, value)
        late = s.processes[w].cell
        if self.moves.owner_cleared_late and late:
            again = READY | self.roles[w] << STAGE_SHIFT | s.cells[late] & ~0x7FFF
            s = s._replace(cells=put(s.cells, late, again))
        return move(s._replace(saved=put(s.saved, w, None)), w, Process())

    def _put(self, s: State, cell: int, value: int) -> State:
        return s._replace(cells=put(s.cells, cell, value))

    def _name(self, w: int) -> str:
        return f"{self.roles[w]}.{w}"

    # what must hold

    def check(self, s: State) -> None:
        """Hold in every state: one holder a slot, and what is durable is in order, once."""
        self._check_holders(s)
        if s.durable != tuple(range(len(s.durable))):
            raise Broken(f"durable out of order, twice or lost: {s.durable}")

    def _check_holders(self, s: State) -> None:
        held = [
            p.cell
            for p in s.processes
            if p.at not in (IDLE, DEAD, "end", "forget", "owner", "late")
            or (p.todo and p.at != IDLE)
        ]
        if len(held) != len(set(held)):
            raise Broken("two live workers hold one slot")

    def check_end(self, s: State) -> None:
        """Hold where nothing more can happen: all is done, nothing is left."""
        if any(p.at == DEAD for p in s.processes):
            raise Broken("a dead process was never recovered")
        if self._accounted(s) != set(range(self.model.frames)):
            raise Broken(f"stuck with {s.durable} durable and words {s.cells[self.first :]}")
        if any(s.cells[self.first :]):
            raise Broken(f"a slot leaked: {s.cells[self.first :]}")
        if s.cells[END] != self.model.frames:
            raise Broken(f"the end is {s.cells[END]}")

    def _accounted(self, s: State) -> set[int]:
        return set(s.durable)


class Result(NamedTuple):
    """What a search found: the fault and the way to it, or none in so many states."""

    fault: str
    states: int
    trace: list[str]

    @property
    def told(self) -> str:
        """The fault, and below it the way to it."""
        return "\n".join([self.fault, *self.trace])


def explore(model: Model, cap: int = 3_000_000, walk: type[Walk] = Walk) -> Result:
    """Visit every state of the model, breadth first, so that a counterexample is a shortest."""
    # millions of tuples without a cycle among them: looking for one takes a third of the time
    gc.disable()
    try:
        return _explore(walk(model), cap)
    finally:
        gc.enable()


def _explore(walk: Walk, cap: int) -> Result:
    start = walk.start()
    came: dict[State, tuple[State, str] | None] = {start: None}
    todo = deque([start])
    while todo:
        s = todo.popleft()
        try:
            walk.check(s)
            found = walk.successors(s)
            if not found:
                walk.check_end(s)
        except Broken as broken:
            return Result(str(broken), len(came), _way(came, s))
        for label, t in found:
            if t not in came:
                came[t] = s, label
                todo.append(t)
        if len(came) > cap:
            return Result("too many states", len(came), [])
    return Result("", len(came), [])


def put(values: tuple, place: int, value: Any) -> tuple:
    """Replace one element."""
    return (*values[:place], value, *values[place + 1 :])


def move(s: State, w: int, p: Process) -> State:
    """Replace one process."""
    return s._replace(processes=put(s.processes, w, p))


def _way(came: dict[State, tuple[State, str] | None], s: State) -> list[str]:
    way = []
    while (step := came[s]) is not None:
        s, label = step
        way.append(label)
    return way[::-1]
