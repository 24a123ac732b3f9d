"""Control messages arrive whole, with descriptors, and a lost peer is said at once."""

import os

import pytest

from mpflow.channel import MAX_MESSAGE, Channel, Outbox
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


def test_an_outbox_never_waits_keeps_the_order_and_only_the_newest_of_some() -> None:
    ours, theirs = Channel.pair()
    with ours, theirs:
        outbox = Outbox(ours, newest=["helm"])
        outbox.tell("first", number=0)
        for number in range(2000):  # far more than the socket has room for
            outbox.tell("helm", number=number)
        outbox.tell("last", number=1)
        heard: list[tuple[str, int]] = []
        while not heard or heard[-1][0] != "last":
            while (received := theirs.receive(wait=False)) is not None:
                heard.append((received[0]["kind"], received[0]["number"]))
            outbox.flush()
    assert heard[0] == ("first", 0)
    numbers = [number for kind, number in heard if kind == "helm"]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 1999
    assert len(numbers) < 2000


def test_descriptors_that_wait_stay_open_until_they_are_sent() -> None:
    ours, theirs = Channel.pair()
    read, write = os.pipe()
    with ours, theirs:
        outbox = Outbox(ours)
        for number in range(2000):
            outbox.tell("filler", number=number)
        outbox.tell("pipe", [write])
        os.close(write)
        kinds: list[str] = []
        while "pipe" not in kinds:
            while (received := theirs.receive(wait=False)) is not None:
                kinds.append(received[0]["kind"])
                for descriptor in received[1]:
                    os.write(descriptor, b"here")
                    os.close(descriptor)
            outbox.flush()
    assert os.read(read, 9) == b"here"
    os.close(read)


def test_an_outbox_to_nobody_drops_what_it_is_told() -> None:
    ours, theirs = Channel.pair()
    theirs.close()
    with ours:
        outbox = Outbox(ours)
        outbox.tell("news")
        outbox.flush()
        outbox.close()
