"""Connections that are cut: the right ones, and those who wait on them are woken."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from mpflow.media.cutting import cut, sockets

Made = tuple[socket.socket, socket.socket, frozenset[tuple[int, int]]]


@pytest.fixture
def made() -> Iterator[Made]:
    """Both ends of a connection, and how it is known."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = sockets()
        own = socket.create_connection(server.getsockname())
        known = sockets() - before
        peer, _ = server.accept()
    with own, peer:
        yield own, peer, known


def test_who_waits_on_a_connection_is_woken(made: Made) -> None:
    own, peer, known = made
    got: list[bytes] = []
    waiting = threading.Thread(target=lambda: got.append(own.recv(1)))
    waiting.start()
    cut(known)
    waiting.join(30)
    assert got == [b""] and peer.recv(1) == b""


def test_a_number_that_somebody_else_has_by_now_is_left_alone(made: Made) -> None:
    own, peer, known = made
    ((descriptor, inode),) = known
    cut(frozenset({(descriptor, inode + 1), (9999, inode)}))
    own.sendall(b"x")
    assert peer.recv(1) == b"x"


def test_only_connections_to_networks_are_cut() -> None:
    before = sockets()
    left, right = socket.socketpair()
    with left, right, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        cut(sockets() - before)
        left.sendall(b"x")
        assert right.recv(1) == b"x"
        datagrams.sendto(b"y", datagrams.getsockname())
        assert datagrams.recv(1) == b"y"
