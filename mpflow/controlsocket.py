"""The door to a running pipeline for its owner: a socket that takes requests and answers them.

    mpflow ctl RUN ... --> RUN.sock --> ControlSocket --> Steerer (skip, set, mode, stop, preview)
                                              `---------> the latest Snapshot (hello, stats)

Everything happens in the supervisor's loop and nothing waits: a client that does not take its
answers is hung up on. Only processes of the same user, or root's, are listened to.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from mpflow._version import __version__
from mpflow.errors import InternalError, MpflowError, OutputError
from mpflow.reactor import Reactor
from mpflow.requests import (
    MAX_ANSWER,
    MAX_REQUEST,
    Answer,
    Failure,
    Hello,
    Identity,
    Request,
    Stats,
    failure,
    pack,
    read_request,
)
from mpflow.rundir import SUFFIX, connect, own_folder, short_name
from mpflow.snapshot import Snapshot

MAX_CLIENTS = 16

TOUCH_S = 3600.0
"""How often the socket's file is touched: what sweeps /tmp removes files that are ten days old."""

_CREDENTIALS = struct.Struct("3i")
"""What SO_PEERCRED tells of a peer: process, user, group (unix(7))."""

Reply = Callable[[Answer | Failure], None]


class Steerer(Protocol):
    """Who does what is asked for."""

    def steer(self, request: Request, reply: Reply) -> None:
        """Do it, and say so by ``reply``, once, now or later. Raises MpflowError for a no."""


class ControlSocket:
    """Listens for one run. For the thread of the reactor."""

    def __init__(
        self,
        steerer: Steerer,
        latest: Callable[[], Snapshot | None],
        complain: Callable[[str], None] = lambda text: None,
    ) -> None:
        """``complain`` takes what should be in the run's log."""
        self._steerer = steerer
        self._latest = latest
        self._complain = complain
        self._run = ""
        self._name = ""
        self._preset = ""
        self._listener: socket.socket | None = None
        self._path: Path | None = None
        self._reactor: Reactor | None = None
        self._clients: set[socket.socket] = set()
        self._touched: float | None = None

    def open(self, run: str, *, name: str = "", preset: str = "") -> Path:
        """Make the socket; raises OutputError when there is no place for it."""
        self._run, self._name, self._preset = run, name, preset
        folder = own_folder()
        _sweep(folder)
        path = folder / f"{run}{SUFFIX}"
        self._listener = _listen(path)
        self._path = path
        return path

    def attach(self, reactor: Reactor) -> None:
        """From now on be called whenever somebody comes."""
        assert self._listener is not None
        self._reactor = reactor
        reactor.watch(self._listener.fileno(), self._welcome)

    def tick(self, now: float) -> None:
        """Keep the socket's file young."""
        if self._path is None or (self._touched is not None and now - self._touched < TOUCH_S):
            return
        self._touched = now
        with suppress(OSError):
            os.utime(self._path)

    def close(self) -> None:
        """Hang up on everybody and take the socket away."""
        for client in list(self._clients):
            self._hang_up(client)
        if self._listener is None or self._path is None:
            return
        if self._reactor is not None:
            self._reactor.unwatch(self._listener.fileno())
        with suppress(OSError):
            self._path.unlink()
        self._listener.close()
        self._listener = None

    def _welcome(self) -> None:
        """Somebody has come."""
        assert self._listener is not None and self._reactor is not None
        try:
            client, _ = self._listener.accept()
        except OSError:  # gone again, or no descriptor is left: the next one may have more luck
            return
        if len(self._clients) >= MAX_CLIENTS or not _is_trusted(client):
            client.close()
            return
        client.setblocking(False)
        with suppress(OSError):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MAX_ANSWER)
        self._clients.add(client)
        self._reactor.watch(client.fileno(), partial(self._hear, client))

    def _hear(self, client: socket.socket) -> None:
        """A client has something to say: one request."""
        try:
            data = client.recv(MAX_REQUEST)  # not recvmsg: descriptors it may send are dropped
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up(client)
            return
        reply = partial(self._send, client)
        try:
            self._do(read_request(data), reply)
        except MpflowError as error:
            reply(failure(error))
        except Exception as error:  # noqa: BLE001 - told to both sides; the run goes on
            what = f"a request failed: {type(error).__name__}: {error}"
            self._complain(what)
            reply(failure(InternalError(what, cure="see the run's log")))

    def _do(self, request: Request, reply: Callable[[Answer | Failure], None]) -> None:
        match request:
            case Hello():
                reply(Answer(hello=self._identity()))
            case Stats():
                reply(Answer(snapshot=self._latest()))
            case _:
                self._steerer.steer(request, reply)

    def _identity(self) -> Identity:
        now = self._latest()
        return Identity(
            run=self._run,
            name=self._name,
            pid=os.getpid(),
            preset=self._preset,
            job=now.job if now else "",
            state=now.state if now else "",
            live=now.live if now else False,
            uptime=now.uptime if now else 0.0,
            version=__version__,
        )

    def _send(self, client: socket.socket, answer: Answer | Failure) -> None:
        """Answer; who has left, or takes nothing, is none of our business any more."""
        if client not in self._clients:
            return
        try:
            client.send(pack(answer), socket.MSG_NOSIGNAL)
        except OSError:
            self._hang_up(client)

    def _hang_up(self, client: socket.socket) -> None:
        self._clients.discard(client)
        if self._reactor is not None:
            self._reactor.unwatch(client.fileno())
        client.close()


def _listen(path: Path) -> socket.socket:
    """A socket that listens before it has its name: nobody takes it for a dead one."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    making = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with short_name(making) as name:
            listener.bind(name)
        making.chmod(0o600)
        listener.listen(MAX_CLIENTS)
        making.rename(path)
    except OSError as error:
        listener.close()
        with suppress(OSError):
            making.unlink()
        raise OutputError(
            f"the run's control socket {path} cannot be made: {error}",
            cure="set XDG_RUNTIME_DIR to a folder of your own",
        ) from error
    return listener


def _sweep(folder: Path) -> None:
    """Remove the sockets of runs that were killed."""
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            connect(path).close()
        except ConnectionRefusedError:
            with suppress(OSError):
                path.unlink()
        except OSError:
            continue


def _is_trusted(client: socket.socket) -> bool:
    """Whether a process of this user is at the other end, or one of root's."""
    size = _CREDENTIALS.size
    told = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = _CREDENTIALS.unpack(told)
    return user in (os.geteuid(), 0)
