"""Runs that are only what others see of them: a control socket, and a snapshot behind it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from snapshots import snapshot_of

from mpflow.controlsocket import ControlSocket, Reply
from mpflow.errors import ConfigError
from mpflow.reactor import Reactor
from mpflow.requests import Answer, Preview, Request, Set, Stop
from mpflow.snapshot import Snapshot


@dataclass
class SteeredRun:
    """Notes what it is asked; ``stop`` ends it after its answer."""

    snapshot: Snapshot | None = field(default_factory=snapshot_of)
    asked: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    looks: int = 0
    lasts: int | None = None
    """After so many looks at its figures the run is over."""

    def steer(self, request: Request, reply: Reply) -> None:
        """Do what is asked for, in words."""
        self.asked.append(request)
        match request:
            case Set(key="detect.evry"):
                raise ConfigError("unknown key detect.evry", cure="did you mean detect.every?")
            case Set(key=key, value=value):
                reply(Answer(f"{key} is {value} from now on"))
            case Preview(path=path):
                reply(Answer("a picture of frame 7", path=path or "/tmp/look.png"))
            case Stop():
                reply(Answer("stopping"))
                self.over.set()
            case _:
                reply(Answer(f"{type(request).__name__.lower()} is done"))

    def latest(self) -> Snapshot | None:
        """The figures at this moment."""
        self.looks += 1
        if self.lasts is not None and self.looks > self.lasts:
            self.over.set()
        return self.snapshot


@contextmanager
def going_on(run: SteeredRun, identity: str, name: str = "") -> Iterator[SteeredRun]:
    """Serve a run's socket in a thread until the block is left, or the run is over."""
    reactor = Reactor()
    socket = ControlSocket(run, run.latest)
    socket.open(identity, name=name, preset="live-redact")
    socket.attach(reactor)

    def serve() -> None:
        while not run.over.is_set():
            reactor.wait(0.02)
        socket.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield run
    finally:
        run.over.set()
        thread.join(10)
        assert not thread.is_alive()
