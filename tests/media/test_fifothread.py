"""What FFmpeg's sending thread is at, seen from outside."""

from __future__ import annotations

import socket
import threading
from typing import Any

import av
import pytest
from av.container import OutputContainer

from mpflow.media.destination import Caution, find_destination
from mpflow.media.fifothread import Doing, FifoThread

STEPS = 2000


def begun(url: str) -> tuple[OutputContainer, FifoThread]:
    """A container that FFmpeg has begun to send, and the thread that does it."""
    destination = find_destination(url)
    muxer, options = destination.options(Caution(timeout=1.0))
    container = av.open(destination.target, "w", format=muxer, container_options=options)
    stream: Any = container.add_stream("libx264", rate=25)
    stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
    before = FifoThread.all()
    container.start_encoding()
    return container, named(before)


def named(before: FifoThread) -> FifoThread:
    """It gets its name a moment after it began."""
    for _ in range(STEPS):
        if (found := FifoThread.all().since(before)).numbers:
            return found
        threading.Event().wait(0.001)
    raise TimeoutError("no thread sends")


def comes_to(thread: FifoThread, doing: Doing) -> bool:
    """Whether it gets there: the kernel rings no bell, so it is looked at."""
    for _ in range(STEPS):
        if thread.doing is doing:
            return True
        threading.Event().wait(0.002)
    return False


def test_a_thread_that_waits_for_a_packet_is_idle() -> None:
    container, thread = begun("udp://127.0.0.1:9")
    try:
        assert comes_to(thread, Doing.IDLE)
    finally:
        container.close()
    assert thread.doing is Doing.GONE


def test_a_thread_that_waits_for_the_other_end_is_busy_until_it_gives_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        container, thread = begun(f"rtmp://127.0.0.1:{silent.getsockname()[1]}/live/key")
        try:
            assert comes_to(thread, Doing.BUSY)
            assert comes_to(thread, Doing.GONE)
        finally:
            container.close()


def test_no_thread_is_gone() -> None:
    assert FifoThread(frozenset()).doing is Doing.GONE


def test_a_kernel_that_does_not_tell_is_not_taken_for_an_idle_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"comm": "fifo-consumer", "wchan": "0"}
    monkeypatch.setattr("mpflow.media.fifothread._read", lambda number, what: told[what])
    assert FifoThread(frozenset({"1"})).doing is Doing.UNTOLD
