"""Packets between the reading thread and the decoding loop: bounded either way."""

from __future__ import annotations

import threading

from av import Packet

from mpflow.media import feed as feeding
from mpflow.media.feed import Arrived, Ended, Feed


def packet(number: int, *, key: bool = False, picture: bool = True) -> Arrived:
    made: Packet[object] = Packet(b"x")
    made.pts, made.is_keyframe = number, key
    return Arrived(made, picture, number)


def drained(feed: Feed) -> list[int]:
    numbers = []
    while (item := feed.get(0)) is not None:
        assert isinstance(item, Arrived)
        numbers.append(item.at)
    return numbers


def test_a_stream_goes_on_at_the_last_key_frame_that_waits() -> None:
    feed = Feed(patient=False)
    for number in range(10):
        feed.put(packet(number, key=number in (0, 6)))
    feed.skip_to_key()
    assert feed.take_dropped() == 6
    assert drained(feed) == [6, 7, 8, 9]
    assert (feed.take_dropped(), feed.pictures) == (0, 0)


def test_a_stream_without_a_key_frame_waits_for_the_next() -> None:
    feed = Feed(patient=False)
    for number in range(4):
        feed.put(packet(number))
    feed.skip_to_key()
    feed.put(packet(4))
    feed.put(packet(5, picture=False))
    feed.put(packet(6, key=True))
    feed.put(packet(7))
    assert feed.take_dropped() == 5
    assert drained(feed) == [5, 6, 7]


def test_an_end_is_never_dropped() -> None:
    feed = Feed(patient=False)
    feed.put(packet(0))
    feed.put(Ended())
    feed.skip_to_key()
    assert feed.get(0) == Ended()


def test_what_piles_up_is_bounded_and_begins_with_a_key_frame() -> None:
    feed = Feed(patient=False)
    for number in range(5000):
        feed.put(packet(number, key=number % 100 == 0))
    numbers = drained(feed)
    assert len(numbers) <= 2100
    assert numbers[0] % 100 == 0 and numbers[-1] == 4999
    assert feed.take_dropped() == 5000 - len(numbers)


def test_packets_of_many_bytes_are_bounded_too() -> None:
    feed = Feed(patient=False)
    for number in range(100):
        large: Packet[object] = Packet(4 << 20)
        large.is_keyframe = True
        feed.put(Arrived(large, picture=True, at=number))
    assert len(drained(feed)) <= 16


def test_the_thread_of_a_file_waits_until_there_is_room() -> None:
    feed = Feed(patient=True)
    put = threading.Thread(
        target=lambda: [feed.put(packet(number)) for number in range(200)], daemon=True
    )
    put.start()
    got = []
    while len(got) < 200:
        item = feed.get(10)
        assert isinstance(item, Arrived)
        got.append(item.at)
        assert feed.pictures <= feeding._ENOUGH
    put.join(10)
    assert got == list(range(200))
    assert feed.take_dropped() == 0


def test_closing_lets_a_waiting_thread_go() -> None:
    feed = Feed(patient=True)
    went = []
    put = threading.Thread(
        target=lambda: went.extend(feed.put(packet(number)) for number in range(100)), daemon=True
    )
    put.start()
    while feed.pictures < feeding._ENOUGH:
        assert put.is_alive()
    feed.close()
    put.join(10)
    assert not put.is_alive() and went[-1] is False
