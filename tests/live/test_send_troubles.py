"""Live output whose other end fails: lost, silent, refusing, back again."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from catchers import Catcher, free_port
from sending import RATE, Feed

from mpflow.errors import ConfigError, OutputError

_OPEN = ("task", "fd")


@contextmanager
def silent_server() -> Iterator[int]:
    """Takes connections and never says, nor reads, anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        yield server.getsockname()[1]


def test_a_server_that_was_away_gets_a_fresh_stream_when_it_is_back() -> None:
    port = free_port()
    url = f"rtmp://127.0.0.1:{port}/live/key"
    feed = Feed(url, sound="aac")
    first = Catcher(url, port, listen="1")
    with first, feed.running():
        feed.send(2)
        first.kill()
        feed.send(2, begin=2)
        with Catcher(url, port, listen="1") as second:
            feed.send(5, begin=4)
            summary = feed.finish()
            caught = second.result()
    assert caught.streams == {"video": "h264", "audio": "aac"}
    assert caught.pictures[0]["key"]
    assert caught.times[0] < 0.1
    assert caught.times == sorted(caught.times)
    assert feed.counts["reconnects"] == 1
    assert [kind for kind, _ in feed.alerts] == ["reconnect"]
    assert "trying again" in feed.alerts[0][1] and "key" not in feed.alerts[0][1]
    assert summary.frames + feed.counts["undelivered"] == 9 * RATE
    assert feed.counts["undelivered"] > RATE


def test_a_server_that_is_never_there_ends_the_run_after_the_time_to_retry() -> None:
    feed = Feed(f"tcp://127.0.0.1:{free_port()}", {"retry": 1.0})
    with feed.running(), pytest.raises(OutputError, match="took nothing for 1 s") as caught:
        feed.send(10)
    assert "nothing listens there" in caught.value.what
    assert "--retry" in caught.value.cure


@pytest.mark.parametrize("protocol", ["rtmp", "rtsp", "tls"])
def test_a_server_that_never_answers_counts_as_lost(protocol: str) -> None:
    with silent_server() as port:
        options = {"timeout": 0.5, "retry": 2.0, "insecure": True}
        feed = Feed(f"{protocol}://127.0.0.1:{port}/live/key", options)
        with feed.running(), pytest.raises(OutputError, match="took nothing for"):
            feed.send(20)
    assert feed.alerts
    assert feed.counts["undelivered"] > 0


def test_a_reader_that_stops_reading_is_given_up_and_pictures_are_dropped() -> None:
    with silent_server() as port:
        url = f"tcp://127.0.0.1:{port}?send_buffer_size=4096"
        options = {"timeout": 0.5, "retry": 3.0, "codec": "rawvideo", "format": "nut"}
        feed = Feed(url, options, size=(640, 480))
        with feed.running(), pytest.raises(OutputError, match="took nothing"):
            feed.send(30)
    assert feed.counts["undelivered"] > 0


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_output_that_is_never_tried_again_runs_as_long_as_it_holds(protocol: str) -> None:
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    port = free_port(kind)
    where = f"{protocol}://127.0.0.1:{port}"
    feed = Feed(where, {"retry": 0.0}, size=(640, 480))
    with Catcher(where + "?listen=1" * (protocol == "tcp"), port) as catcher, feed.running():
        feed.send(2)
        assert feed.finish().frames == 2 * RATE
        if protocol == "tcp":
            assert len(catcher.result().pictures) > RATE
    assert feed.counts == {}


def test_pictures_given_to_a_connection_that_never_was_are_not_delivered() -> None:
    with silent_server() as port:
        feed = Feed(f"rtmp://127.0.0.1:{port}/live/key", {"timeout": 1.0})
        with feed.running():
            feed.send(3)
            summary = feed.finish()
    assert summary.frames == 0
    assert feed.counts["undelivered"] == 3 * RATE
    assert feed.taken_back == sorted(set(feed.taken_back))
    assert feed.taken_back[0] == 0


def test_pictures_that_were_on_their_way_when_a_connection_broke_are_not_delivered() -> None:
    port = free_port()
    where = f"tcp://127.0.0.1:{port}"
    feed = Feed(where, {"retry": 600.0}, size=(320, 240))
    with Catcher(f"{where}?listen=1", port) as catcher, feed.running():
        feed.send(2)
        catcher.kill()
        feed.send(2, begin=2)
        summary = feed.finish()
    assert RATE < summary.frames <= 2 * RATE + 2
    assert summary.frames + feed.counts["undelivered"] == 4 * RATE
    assert feed.taken_back
    assert max(feed.taken_back) >= 2 * RATE - 1


def test_the_first_loss_ends_a_run_that_is_never_to_try_again() -> None:
    feed = Feed(f"tcp://127.0.0.1:{free_port()}", {"retry": 0.0})
    with feed.running(), pytest.raises(OutputError, match="nothing listens there"):
        feed.send(10)


@pytest.mark.parametrize("pictures", [2, 60])
@pytest.mark.parametrize("protocol", ["rtmp", "rtsp", "tls"])
def test_nothing_stands_still_while_a_connection_ends_that_never_was(
    protocol: str, pictures: int
) -> None:
    with silent_server() as port, steps() as taken:
        options = {"timeout": 15.0, "insecure": True}
        feed = Feed(f"{protocol}://127.0.0.1:{port}/live/key", options)
        with feed.running():
            feed.send(pictures / RATE)
            before = len(taken)
            summary = feed.finish()
            after = len(taken)
    assert "not taken" in summary.warnings[-1]
    assert after - before > 50  # of some 300 within the three seconds that an end may take


@contextmanager
def steps() -> Iterator[list[float]]:
    """The moments at which another thread of this process had its turn, every hundredth second."""
    taken, over = [time.monotonic()], threading.Event()

    def run() -> None:
        while not over.wait(0.01):
            taken.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield taken
    finally:
        over.set()
        thread.join()


def test_a_stalled_output_can_be_finished() -> None:
    with silent_server() as port:
        feed = Feed(f"rtmp://127.0.0.1:{port}/live/key", {"timeout": 1.0})
        with feed.running():
            feed.send(0.3)
            summary = feed.finish()
    assert "not taken" in summary.warnings[-1]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that nobody vouches for, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    paths = folder / "cert.pem", folder / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        f" -addext subjectAltName=DNS:localhost -out {paths[0]} -keyout {paths[1]}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return paths


@contextmanager
def secure_server(certificate: tuple[Path, Path]) -> Iterator[tuple[int, list[int]]]:
    """A TLS server; what it was sent, in bytes a piece."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    got: list[int] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = server.accept()
            except OSError:
                return  # closed: the test is over
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    while piece := connection.recv(65536):
                        got.append(len(piece))
            except OSError:
                continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1], got
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@pytest.mark.parametrize("protocol", ["tls", "https", "rtmps", "rtsps"])
def test_a_certificate_nobody_vouches_for_is_refused_at_once(
    protocol: str, certificate: tuple[Path, Path]
) -> None:
    with secure_server(certificate) as (port, got):
        feed = Feed(f"{protocol}://localhost:{port}/live/key", {"retry": 60.0})
        with feed.running(), pytest.raises(OutputError, match="not to be trusted") as caught:
            feed.send(10)
    assert "--insecure" in caught.value.cure
    assert got == []


def test_a_certificate_for_another_name_is_refused(certificate: tuple[Path, Path]) -> None:
    with secure_server(certificate) as (port, got):
        feed = Feed(f"tls://127.0.0.1:{port}", {"ca_file": str(certificate[0])})
        with feed.running(), pytest.raises(OutputError, match="not to be trusted"):
            feed.send(10)
    assert got == []


@pytest.mark.parametrize("trust", ["insecure", "ca_file"])
def test_a_certificate_can_be_vouched_for_or_not_looked_at(
    trust: str, certificate: tuple[Path, Path]
) -> None:
    value = True if trust == "insecure" else str(certificate[0])
    with secure_server(certificate) as (port, got):
        feed = Feed(f"tls://localhost:{port}", {trust: value})
        with feed.running():
            feed.send(1)
            assert feed.finish().warnings == ()
    assert sum(got) > 1000


@pytest.mark.parametrize(
    ("output", "options", "kind", "words"),
    [
        ("srt://host:9000", {}, OutputError, "srt-live-transmit"),
        ("ftp://host/x", {}, OutputError, "nothing that can be written to"),
        ("out.xyz", {}, ConfigError, "no container 'xyz'"),
        ("out", {}, ConfigError, "does not name its container"),
        ("rtmp://host/live/key", {"codec": "libvpx"}, ConfigError, "flv cannot hold"),
        ("-", {"codec": "libx999"}, ConfigError, "no video encoder"),
        ("/nowhere/out.ts", {}, OutputError, "nowhere"),
        ("", {}, ConfigError, "no output"),
    ],
)
def test_what_cannot_be_is_said_before_a_picture_is_coded(
    output: str, options: dict, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught, Feed(output, options).running():
        pass
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("device", "words"), [("/dev/video250", "modprobe v4l2loopback"), ("/dev/null", "no video")]
)
def test_a_device_that_takes_no_pictures_is_named(device: str, words: str) -> None:
    if os.path.exists(device) and "video" in device:  # noqa: PTH110
        pytest.skip("this machine has such a device")
    feed = Feed(f"v4l2:{device}", {"retry": 0.0})
    with feed.running(), pytest.raises(OutputError) as caught:
        feed.send(5)
    assert device in caught.value.what
    assert words in caught.value.cure


@pytest.mark.parametrize("sound", ["", "aac", "libopus"])
def test_connections_that_failed_leave_nothing_behind(
    sound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpflow.media.reconnect.FIRST_PAUSE_S", 0.0)
    options = {"retry": 600.0, "format": "flv"}
    feed = Feed(f"tcp://127.0.0.1:{free_port()}", options, (640, 480), sound, late=0.1)
    gc.disable()  # encoders have to go with their connections, not with the next collection
    try:
        with feed.running():
            feed.send(1)
            threads, files = (len(list(Path(f"/proc/self/{of}").iterdir())) for of in _OPEN)
            feed.send(3, begin=1)
            later = [len(list(Path(f"/proc/self/{of}").iterdir())) for of in _OPEN]
    finally:
        gc.enable()
    assert later[0] <= threads + 3
    assert later[1] <= files + 3
