"""The live source at real servers: stopped for a while and back, silent, and certificates."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from receiving import Receiving
from senders import free_port, sender
from servers import Nginx, RtspServer, needs_nginx, needs_rtsp_server

from mpflow.errors import InputError

AWAY_S = 3.0


@needs_nginx
def test_an_rtmp_server_that_is_stopped_and_back_is_read_on(tmp_path: Path) -> None:
    server = Nginx.at(tmp_path)
    with Receiving(server.url, {"retry": 60, "read_timeout": 2}) as receiving:
        with server.running(), sender(server.url, "flv", 60):
            receiving.begin(receiving.probe())
            pictures = receiving.pictures()
            while len(receiving.times) < 25:
                next(pictures)
        stopped = time.monotonic()
        threading.Event().wait(AWAY_S)  # what is tested is that it is away for a while
        with server.running(), sender(server.url, "flv", 60):
            while not receiving.counts["reconnects"]:
                next(pictures)
            gap, before = time.monotonic() - stopped, len(receiving.times) - 1
            while len(receiving.times) < before + 25:
                next(pictures)
    assert all(a < b for a, b in pairwise(receiving.stamps))
    missing = receiving.times[before] - receiving.times[before - 1]
    assert missing == pytest.approx(gap, abs=1.5) and missing > AWAY_S
    assert receiving.sound[-1].time == pytest.approx(receiving.times[-1], abs=0.3)
    assert [text.partition(":")[0] for text in receiving.alerts] == ["reconnect"]


@needs_nginx
def test_a_stream_entered_in_the_middle_begins_with_a_whole_picture(tmp_path: Path) -> None:
    server = Nginx.at(tmp_path)
    with (
        server.running(),
        sender(server.url, "flv", 60, key_every=75),
        Receiving(server.url) as first,
        Receiving(server.url) as receiving,
    ):
        first.probe()
        media = receiving.probe()
        receiving.begin(media)
        receiving.go_on(lambda self: len(self.times) >= 25)
    assert media.zero is not None and {s.kind for s in media.streams} == {"audio", "video"}
    assert receiving.stage.damaged == 0
    assert abs(receiving.times[0]) < 0.2


@needs_nginx
def test_a_server_without_a_stream_does_not_answer(tmp_path: Path) -> None:
    server = Nginx.at(tmp_path)
    options = {"open_timeout": 0.5, "read_timeout": 0.5}
    with (
        server.running(),
        Receiving(server.url, options) as receiving,
        pytest.raises(InputError, match="does not answer"),
    ):
        receiving.probe()


@needs_rtsp_server
def test_an_rtsp_server_that_is_killed_and_back_is_read_on() -> None:
    server = RtspServer.at_free_ports()
    options = {"retry": 60, "read_timeout": 2, "transport": "udp"}
    with Receiving(server.url, options) as receiving:
        with server.running(), sender(server.inlet, "rtsp", 60, transport="udp"):
            media = _probed_when_announced(receiving)
            receiving.begin(media)
            pictures = receiving.pictures()
            while len(receiving.times) < 25:
                next(pictures)
        threading.Event().wait(AWAY_S)  # what is tested is that it is away for a while
        with server.running(), sender(server.inlet, "rtsp", 60, transport="udp"):
            while not receiving.counts["reconnects"]:
                next(pictures)
    assert all(a < b for a, b in pairwise(receiving.stamps))
    assert "it ended" in receiving.alerts[0]
    assert receiving.times[-1] - receiving.times[-2] > AWAY_S - 1


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with _tls_server(tmp_path, "localhost") as (port, heard):
        for scheme in ("rtsps", "rtmps", "https"):
            with (
                Receiving(f"{scheme}://localhost:{port}/live/x") as receiving,
                pytest.raises(InputError, match="certificate cannot be trusted"),
            ):
                receiving.probe()
    assert heard == []


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    with _tls_server(tmp_path, "elsewhere.example") as (port, heard):
        options = {"ca_file": str(tmp_path / "cert.pem")}
        for scheme in ("rtsps", "rtmps", "https"):
            with (
                Receiving(f"{scheme}://localhost:{port}/live/x", options) as receiving,
                pytest.raises(InputError, match="certificate cannot be trusted"),
            ):
                receiving.probe()
    assert heard == []


@pytest.mark.parametrize("trust", ["ca_file", "insecure"])
def test_a_certificate_that_is_trusted_is_taken(tmp_path: Path, trust: str) -> None:
    with _tls_server(tmp_path, "localhost") as (port, heard):
        options = {"ca_file": str(tmp_path / "cert.pem")} if trust == "ca_file" else {}
        options |= {"insecure": True} if trust == "insecure" else {}
        with (
            Receiving(f"https://localhost:{port}/live/x", options) as receiving,
            pytest.raises(InputError),
        ):
            receiving.probe()
    assert heard[0].startswith(b"GET /live/x")


def _probed_when_announced(receiving: Receiving) -> object:
    """A probe that waits for the sender to have announced its stream to the server."""
    until = time.monotonic() + 20
    while True:
        try:
            return receiving.probe()
        except InputError:
            if time.monotonic() > until:
                raise


@contextmanager
def _tls_server(folder: Path, name: str) -> Iterator[tuple[int, list[bytes]]]:
    """A server with a certificate of its own making; what was said to it over a safe line."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(cert), "-subj", f"/CN={name}"]
    subprocess.run([*command, "-addext", f"subjectAltName=DNS:{name}"], check=True, stderr=-3)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    heard: list[bytes] = []
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:
        threading.Thread(target=_serve, args=(server, context, heard), daemon=True).start()
        yield port, heard


def _serve(server: socket.socket, context: ssl.SSLContext, heard: list[bytes]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                secure.settimeout(5)
                if data := secure.recv(1000):
                    heard.append(data)
        except OSError:
            continue
