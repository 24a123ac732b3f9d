"""Addresses of live inputs: which there are, how each is opened, what a failure means."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import av
import pytest

from mpflow.errors import ConfigError, InputError
from mpflow.media.address import Address, Wishes, authorities


def options(url: str, wishes: Wishes = Wishes()) -> dict[str, str]:  # noqa: B008 - frozen
    return Address.of(url, wishes)._options(7.5, patient=False)


def test_rtsp_comes_within_its_connection_unless_udp_is_asked_for() -> None:
    assert options("rtsp://h/x")["rtsp_transport"] == "tcp"
    assert options("rtsp://h/x", Wishes(transport="udp"))["rtsp_transport"] == "udp"


def test_listening_for_rtsp_needs_its_own_options() -> None:
    found = options("rtsp://h/x", Wishes(listen=True))
    assert (found["rtsp_flags"], found["listen_timeout"]) == ("listen", "8")
    assert options("rtmp://h/x/y", Wishes(listen=True))["listen"] == "1"


@pytest.mark.parametrize("url", ["rtsps://h/x", "rtmps://h/x/y", "https://h/x", "tls://h:1"])
def test_certificates_are_checked_unless_that_is_switched_off(url: str) -> None:
    found = options(url)
    assert (found["tls_verify"], found["ca_file"]) == ("1", authorities())
    assert options(url, Wishes(ca_file="/x"))["ca_file"] == "/x"
    assert options(url, Wishes(insecure=True))["tls_verify"] == "0"


def test_the_users_own_options_come_last() -> None:
    assert options("rtsp://h/x", Wishes(options={"probesize": "9"}))["probesize"] == "9"


def test_srt_is_refused_with_the_way_around_it() -> None:
    with pytest.raises(ConfigError, match="srt-live-transmit"):
        Address.of("srt://me:9000", Wishes())


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="rtsp, rtsps"):
        Address.of("gopher://h/x", Wishes())


def test_what_cannot_be_listened_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="listen"):
        Address.of("udp://h:1", Wishes(listen=True))


def test_a_device_is_known_by_its_name_or_by_what_it_is(tmp_path: Path) -> None:
    assert Address.of("/dev/video7", Wishes()).scheme == "v4l2"
    assert Address.of("v4l2:/dev/cam", Wishes()).name == "/dev/cam"
    os.mkfifo(tmp_path / "pipe")
    assert Address.of(str(tmp_path / "pipe"), Wishes()).scheme == "pipe"
    assert Address.of(str(tmp_path / "a.mp4"), Wishes()).is_file


def test_a_device_that_is_not_there_is_named() -> None:
    address = Address.of("/dev/video97", Wishes())
    with pytest.raises(FileNotFoundError) as raised:
        address.open(1, 1)
    assert "'/dev/video97' cannot be opened: No such file" in str(address.explain(raised.value))


@pytest.mark.parametrize("patience", [float("inf"), 1e12])
def test_waits_without_an_end_are_as_long_as_ffmpeg_can(
    patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[float, float]] = []
    monkeypatch.setattr(av, "open", lambda *_, timeout, **__: given.append(timeout))
    Address.of("tcp://127.0.0.1:9", Wishes()).open(patience, patience)
    assert given == [(30 * 24 * 3600.0,) * 2]


@pytest.mark.parametrize(
    ("url", "tells"),
    [
        ("rtmp://h/a/b", True),
        ("http://h/x", True),
        ("rtsp://h/x", False),
        ("tcp://h:1", False),
        ("udp://h:1", False),
        ("v4l2:/dev/cam", False),
        ("clip.mp4", True),
    ],
)
def test_it_is_known_which_ends_can_be_told_from_a_loss(url: str, tells: bool) -> None:
    assert Address.of(url, Wishes()).tells_end is tells


def test_a_datagram_port_that_somebody_has_is_not_taken_from_them() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("", 0))
        address = Address.of(f"udp://127.0.0.1:{other.getsockname()[1]}", Wishes())
        with pytest.raises(OSError) as raised:
            address.require_free()
    assert "the port is taken" in str(address.explain(raised.value))
    address.require_free()


def test_a_failure_never_shows_a_password() -> None:
    address = Address.of("rtsp://me:secret@h/x", Wishes())
    for error in (av.ExitError(1, "x"), OSError(errno.EIO, "x"), OSError(errno.ECONNREFUSED, "x")):
        assert "secret" not in str(address.explain(error))


def test_nobody_at_a_port_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = Address.of(f"rtmp://127.0.0.1:{port}/live/x", Wishes())
    with pytest.raises(OSError) as raised:
        address.open(2, 2)
    explained = address.explain(raised.value)
    assert isinstance(explained, InputError)
    assert "connection refused (start the server" in str(explained)


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        address = Address.of(f"tcp://127.0.0.1:{port}", Wishes(listen=True))
        with pytest.raises(OSError) as raised:
            address.open(2, 2)
    assert "the port is taken" in str(address.explain(raised.value))


def test_nobody_who_connects_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = Address.of(f"tcp://127.0.0.1:{port}", Wishes(listen=True))
    with pytest.raises(av.ExitError) as raised:
        address.open(0.2, 1)
    assert "was listened for, and nobody came" in str(address.explain(raised.value))
