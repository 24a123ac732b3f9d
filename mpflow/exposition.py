"""Metrics over HTTP, for Prometheus and whoever looks after the machine.

    GET /metrics   everything a snapshot tells, as Prometheus reads it
    GET /health    200 while every stage is there and frames move, else 503; JSON says why

A thread of its own answers, from nothing but the latest snapshot, which is never changed: it can
neither wait for the supervisor's loop nor be waited for. What is served names no file and nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, SHUT_RDWR, socket
from socketserver import TCPServer
from typing import Any

import msgspec

from mpflow.errors import ConfigError, ResourceError
from mpflow.promtext import CONTENT_TYPE, prometheus_text
from mpflow.snapshot import Snapshot

STALE_S = 5.0
"""A snapshot older than this says that the supervisor itself does not move."""

CLIENT_S = 5.0
"""How long a client may take, from its coming to its answer."""

MAX_CLIENTS = 8
"""With so many there, the one that has been there longest makes room: an answer takes a moment,
so that is no one who means well."""

_CURE = "give HOST:PORT, 127.0.0.1:9100 for example"

Page = tuple[HTTPStatus, str, bytes]


class Exposition:
    """Serves what it was shown last."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._shown: tuple[Snapshot, float] | None = None
        server.page = self._page
        self._thread = threading.Thread(
            target=server.serve_forever, name="metrics", kwargs={"poll_interval": 0.2}, daemon=True
        )

    @classmethod
    def open(cls, address: str) -> Exposition:
        """Listen at ``HOST:PORT``; port 0 takes any that is free.

        Raises ConfigError for what is no address, ResourceError for one that cannot be had.
        """
        host, port = parse_address(address)
        try:
            server = _Server((host, port))
        except OSError as error:
            raise ResourceError(
                f"metrics cannot be served at {address}: {error.strerror or error}",
                cure="choose another port, or end what listens there",
            ) from error
        opened = cls(server)
        opened._thread.start()
        return opened

    @property
    def address(self) -> str:
        """Where it listens, with the port it has got."""
        host, port = self._server.server_address[:2]
        name = str(host)
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def show(self, snapshot: Snapshot) -> None:
        """Serve this from now on."""
        self._shown = snapshot, time.monotonic()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _page(self, path: str) -> Page | None:
        """What a path gets; None for one that is not there."""
        match path.partition("?")[0]:
            case "/metrics":
                return self._metrics()
            case "/health":
                return self._health()
            case _:
                return None

    def _metrics(self) -> Page:
        if self._shown is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"nothing is known yet\n"
        return HTTPStatus.OK, CONTENT_TYPE, prometheus_text(self._shown[0])

    def _health(self) -> Page:
        healthy, values = health(self._shown, time.monotonic())
        status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
        return status, "application/json", msgspec.json.encode(values) + b"\n"


def health(shown: tuple[Snapshot, float] | None, now: float) -> tuple[bool, dict[str, Any]]:
    """Whether all is well with the latest snapshot, and what is told of it."""
    if shown is None:
        return False, {"healthy": False, "trouble": "the run is starting"}
    snapshot, moment = shown
    stale = now - moment
    trouble = snapshot.trouble
    if stale > STALE_S:
        trouble = f"the supervisor has not looked for {stale:.0f} s"
    healthy = snapshot.healthy and stale <= STALE_S
    return healthy, {
        "healthy": healthy,
        "trouble": trouble,
        "run": snapshot.run,
        "name": snapshot.name,
        "state": snapshot.state,
        "mode": snapshot.mode,
        "frames": snapshot.frames,
        "rate": round(snapshot.rate, 2),
        "dropped": snapshot.dropped,
        "age_p99": round(snapshot.age.p99, 4),
        "bottleneck": snapshot.bottleneck,
    }


def parse_address(text: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``[HOST]:PORT``; raises ConfigError."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise ConfigError(f"metrics: {text!r} is no address", cure=_CURE)
    return host, int(port)


class _Server(ThreadingHTTPServer):
    """A thread for each client, and not too many of them, nor for long."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        if ":" in address[0]:
            self.address_family = AF_INET6
        self.page: Callable[[str], Page | None] = lambda path: None
        self._came: dict[socket, float] = {}
        self._guard = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind only: the base class would look up the host's name, which may take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "mpflow", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client; whoever has been here longest makes room, if need be."""
        with self._guard:
            if len(self._came) >= MAX_CLIENTS:
                _hang_up(self._came, next(iter(self._came)))
            self._came[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Between two looks for clients: whoever has taken too long has to leave."""
        latest = time.monotonic() - CLIENT_S
        with self._guard:
            for client in [each for each, came in self._came.items() if came < latest]:
                _hang_up(self._came, client)

    def shutdown_request(self, request: Any) -> None:
        """A client is done with."""
        with self._guard:
            self._came.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """A client that leaves early is no news, and this process has no terminal."""


def _hang_up(clients: dict[socket, float], client: socket) -> None:
    """End a connection under whoever serves it, who closes it then."""
    del clients[client]
    with suppress(OSError):
        client.shutdown(SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server
    timeout = CLIENT_S
    server_version = "mpflow"
    sys_version = ""

    def do_GET(self) -> None:
        """Send a page."""
        self._send(body=True)

    def do_HEAD(self) -> None:
        """Send what a page would begin with."""
        self._send(body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def _send(self, *, body: bool) -> None:
        page = self.server.page(self.path)
        if page is None:
            page = HTTPStatus.NOT_FOUND, "text/plain", b"there are /metrics and /health\n"
        status, kind, data = page
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if body:
            self.wfile.write(data)
