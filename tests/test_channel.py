"""Control messages arrive whole, with descriptors, and a lost peer is said at once."""

import os

import pytest

from mpflow.channel import MAX_MESSAGE, Channel
from mpflow.errors import InternalError, PeerLost


def test_messages_keep_their_bounds_and_order() -> None:
    left, right = Channel.pair()
    with left, right:
        left.send("one", values=[1, 2])
        left.send("two")
        assert right.receive() == ({"kind": "one", "values": [1, 2]}, [])
        assert right.receive() == ({"kind": "two"}, [])
        assert right.receive(wait=False) is None


def test_descriptors_travel_with_their_message() -> None:
    left, right = Channel.pair()
    read, write = os.pipe()
    with left, right:
        left.send("take", [write])
        received = right.receive()
        assert received is not None
        (copy,) = received[1]
        os.write(copy, b"through")
        assert os.read(read, 10) == b"through"
    for descriptor in (read, write, copy):
        os.close(descriptor)


def test_a_closed_peer_is_lost_for_reading_and_writing() -> None:
    left, right = Channel.pair()
    right.close()
    with pytest.raises(PeerLost):
        left.receive()
    with pytest.raises(PeerLost):
        left.send("anyone")
    assert left.offer("anyone") is False
    left.close()


def test_news_is_dropped_when_there_is_no_room() -> None:
    left, right = Channel.pair()
    with left, right:
        while left.offer("news", text="x" * 10_000):
            pass
        assert right.receive() is not None


def test_a_message_beyond_the_limit_is_an_error_of_ours() -> None:
    left, right = Channel.pair()
    with left, right, pytest.raises(InternalError, match="too large"):
        left.send("big", text="x" * MAX_MESSAGE)
