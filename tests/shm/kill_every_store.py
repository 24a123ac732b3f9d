"""Kills a real process before every single store of every script below, recovers, and goes on.

Run by test_kill_every_store.py as a process of its own, without threads, so that forking is safe.
For each script it first records which stores a child makes, then, once for each of them, lets a
child kill itself right before that store. The parent recovers what the child was, and runs the
ring to its end. Prints one JSON object: for each script its steps, each with what went wrong.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
from collections.abc import Callable

from mpflow.shm import (
    Bell,
    Geometry,
    Order,
    Ring,
    Segment,
    ShmError,
    Span,
    Why,
    drop_of,
    recover,
)
from mpflow.shm.layout import END, FIRST_KEY
from mpflow.shm.steps import hooked

FRAMES = 2
GEOMETRY = Geometry(
    slots=2, slot_bytes=4096, token_bytes=64, stages=3, workers=3, journal_bytes=8192
)
SOURCE, STAGE, SINK = 0, 1, 2
EDIT = Span(512, 32, 16, 64)


class Abort(Exception):
    """Leaves an operation half done, as a death would, inside a living process."""


class World:
    """One ring with the three roles, and a log of what the sink has made durable."""

    def __init__(self, segment: Segment, bells: list[Bell], log: mmap.mmap) -> None:
        self.segment, self.bells, self.log = segment, bells, log
        orders = (Order.LOWEST, Order.LOWEST, Order.WATERMARK)
        self.source, self.stage, self.sink = (
            Ring(segment, bells, k, k, order) for k, order in enumerate(orders)
        )

    def alloc(self):
        lease = self.source.alloc()
        if lease is not None:
            lease.view(0, (4096,), writable=True)[:] = lease.seq + 1
        return lease

    def publish(self) -> bool:
        lease = self.alloc()
        return lease is not None and self.source.publish(lease, b"decoded %d" % lease.seq)

    def take_and_edit(self):
        lease = self.stage.take()
        if lease is None:
            return None
        assert lease.token == b"decoded %d" % lease.seq
        self.change(lease)
        return lease

    def change(self, lease) -> None:
        self.stage.work(lease)
        self.stage.journal(lease, [EDIT])
        view = lease.view(EDIT.offset, (EDIT.rows, EDIT.row_bytes), (EDIT.stride, 1), writable=True)
        view += 100

    def edit(self) -> bool:
        lease = self.take_and_edit()
        return lease is not None and self.stage.give(lease, b"edited %d" % lease.seq)

    def write(self) -> bool:
        lease = self.sink.take()
        if lease is None:
            return False
        assert lease.token == b"edited %d" % lease.seq
        pixels = lease.view(0, (64, 64))
        right = pixels[0, 0] == lease.seq + 1 and (pixels[8:24, :32] == lease.seq + 101).all()
        assert right, f"frame {lease.seq}: {pixels[8, 0]} {pixels[23, 31]}"
        assert (pixels[8:24, 32:] == lease.seq + 1).all()
        self.log[1 + self.log[0]] = lease.seq
        self.log[0] += 1
        self.sink.retire(lease)
        del pixels
        self.sink.reap()
        return True

    def recover(self, role: int, *, live: bool = False) -> None:
        durable = self.log[0] if role == SINK else None
        recover(self.segment, self.bells, role, role, durable, live=live)

    def finish(self) -> None:
        """Run all roles until nothing is left; raise if that never happens."""
        for _ in range(20 * FRAMES):
            if self.source.published < FRAMES:
                self.publish()
            elif self.source.end is None:
                self.source.end_of_stream(FRAMES)
            self.edit()
            self.write()
            if self.segment.drained():
                return
        raise AssertionError(f"never drained: {self.segment.words()}")


def fill_ring(world: World) -> None:
    while world.publish():
        pass


def to_the_sink(world: World) -> None:
    fill_ring(world)
    while world.edit():
        pass


def source_publishes(world: World) -> None:
    fill_ring(world)
    world.source.end_of_stream(FRAMES)


def source_finds_itself_stale(world: World) -> None:
    lease = world.held
    world.source.publish(lease, b"too late")


def stage_edits(world: World) -> None:
    while world.edit():
        pass


def stage_finds_itself_stale(world: World) -> None:
    world.stage.give(world.held, b"too late")


def stage_takes_back(world: World) -> None:
    world.stage.undo(world.held)
    world.change(world.held)
    world.stage.give(world.held, b"edited %d" % world.held.seq)


def stage_sheds(world: World) -> None:
    world.stage.shed([0])


def stage_drops(world: World) -> None:
    world.stage.drop(world.held, Why.STALE)


def sink_writes(world: World) -> None:
    while world.write():
        pass


def hold_a_slot(world: World) -> None:
    world.held = world.alloc()


def hold_a_stale_slot(world: World) -> None:
    hold_a_slot(world)
    world.recover(SINK)


def hold_an_edit(world: World) -> None:
    fill_ring(world)
    world.held = world.take_and_edit()


def hold_a_stale_edit(world: World) -> None:
    hold_an_edit(world)
    world.recover(SINK)


def stop_between_pub_and_word(world: World) -> None:
    def stop(name: str) -> None:
        if name == "P2":
            raise Abort

    try:
        with hooked(stop):
            world.publish()
    except Abort:
        pass


def one_at_the_sink(world: World) -> None:
    fill_ring(world)
    world.edit()
    world.held = world.sink.take()


def recovers(role: int, *, live: bool = False) -> Callable[[World], None]:
    return lambda world: world.recover(role, live=live)


SHEDS, DROPS, LOSES = "a stage sheds", "a stage drops what it holds", "a live sink is recovered"
LIVE = (SHEDS, DROPS, LOSES)


# name: (what happened before, what is killed at each of its stores, who must be recovered)
SCRIPTS: dict[str, tuple[Callable, Callable, int]] = {
    "the source publishes": (lambda world: None, source_publishes, SOURCE),
    "the source publishes after a rewind": (hold_a_stale_slot, source_finds_itself_stale, SOURCE),
    "a stage edits and gives": (fill_ring, stage_edits, STAGE),
    "a stage gives after a rewind": (hold_a_stale_edit, stage_finds_itself_stale, STAGE),
    "a stage takes its work back": (hold_an_edit, stage_takes_back, STAGE),
    SHEDS: (fill_ring, stage_sheds, STAGE),
    DROPS: (hold_an_edit, stage_drops, STAGE),
    "the sink writes and frees": (to_the_sink, sink_writes, SINK),
    "a source that only allocated is recovered": (hold_a_slot, recovers(SOURCE), SOURCE),
    "a source that half published is recovered": (
        stop_between_pub_and_word,
        recovers(SOURCE),
        SOURCE,
    ),
    "a stale source is recovered": (hold_a_stale_slot, recovers(SOURCE), SOURCE),
    "a stage that edits is recovered": (hold_an_edit, recovers(STAGE), STAGE),
    "a stale stage is recovered": (hold_a_stale_edit, recovers(STAGE), STAGE),
    "a sink is recovered": (one_at_the_sink, recovers(SINK), SINK),
    LOSES: (one_at_the_sink, recovers(SINK, live=True), SINK),
}


def record(name: str) -> list[str]:
    """Run a script to its end in this process; return the steps it made."""
    before, script, _ = SCRIPTS[name]
    world = make_world()
    before(world)
    made: list[str] = []
    with hooked(made.append):
        script(world)
    return made


def kill_at(name: str, place: int) -> str:
    """Kill a child before store ``place`` of a script, recover, finish; say what went wrong."""
    before, script, role = SCRIPTS[name]
    world = make_world()
    child = os.fork()
    if child == 0:
        run_and_die(world, before, script, place)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        return f"the child ended with status {status} before the kill"
    try:
        world.recover(role, live=name in LIVE)
        account(world)
        world.finish()
        settle(world, live=name in LIVE)
    except (AssertionError, ShmError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def run_and_die(world: World, before: Callable, script: Callable, place: int) -> None:
    left = place

    def die(name: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    own = World(Segment.attach(world.segment.fd), world.bells, world.log)
    before(own)
    with hooked(die):
        script(own)
    os._exit(0)


def account(world: World) -> None:
    """No slot is held by anybody any more, the lock is free, no key is left."""
    cells = world.segment.cells.tolist()
    for word in world.segment.words():
        assert word.state.name in ("FREE", "READY"), word
    assert not any(cells[FIRST_KEY : FIRST_KEY + 3]), "a key was left"
    with world.segment.lock.within(0):
        pass


def settle(world: World, *, live: bool) -> None:
    """Everything was delivered once and in order, or has its record; nothing is left."""
    durable = list(world.log[1 : 1 + world.log[0]])
    missing = [seq for seq in range(FRAMES) if seq not in durable]
    assert durable == sorted(set(durable)), durable
    assert not missing or (live and missing == [0] and drop_of(world.segment, 0)), durable
    assert world.segment.cells[END] == FRAMES
    assert not any(world.segment.cells[FIRST_KEY:])


def make_world() -> World:
    bells = [Bell.create() for _ in range(3)]
    return World(Segment.create(GEOMETRY), bells, mmap.mmap(-1, 4096))


def main() -> None:
    told = {}
    for name in SCRIPTS:
        made = record(name)
        told[name] = [(step, kill_at(name, place)) for place, step in enumerate(made)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
