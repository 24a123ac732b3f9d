"""Sending packets to where nobody knows how long it takes: in a thread, behind a bounded queue.

    put -> queue -> thread: header, packets, trailer -> FFmpeg

Whoever puts never waits. What went wrong is found in ``error`` at the next look.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import av
from av import Packet
from av.container import OutputContainer


class Delivery:
    """One opened container and the thread that writes to it.

    The container is set up but not begun; nobody else may touch it before ``close``. Encoding for
    its streams may go on meanwhile. ``sent`` counts the packets that the muxer took; ``at_end`` is
    called in the thread when it needs the container's file no more.
    """

    def __init__(
        self, container: OutputContainer, at_end: Callable[[], None] = lambda: None
    ) -> None:
        self.sent = 0
        self.error: BaseException | None = None
        self._container = container
        self._at_end = at_end
        self._queue: deque[tuple[float, Packet[Any] | None]] = deque()
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> float:
        """For how many seconds the oldest packet has waited."""
        with self._change:
            return time.monotonic() - self._queue[0][0] if self._queue else 0.0

    def put(self, packet: Packet[Any]) -> None:
        """Have a packet written after those before it."""
        self._put(packet)

    def wait_for_room(self, backlog: float, timeout: float) -> bool:
        """Wait until the backlog is no longer than that; False where it stays so, or broke."""
        until = time.monotonic() + timeout
        while self.error is None and (old := self.backlog) > backlog:
            left = until - time.monotonic()
            if left <= 0:
                return False
            with self._change:
                self._change.wait(min(left, old))
        return self.error is None

    def close(self, timeout: float) -> bool:
        """Write what is left and the trailer; False if that was not done in time, or failed."""
        self._put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive() and self.error is None

    def leave(self) -> None:
        """Write nothing more, and wait for nothing."""
        with self._change:
            self._queue.clear()
        self._put(None)

    def _put(self, packet: Packet[Any] | None) -> None:
        with self._change:
            self._queue.append((time.monotonic(), packet))
            self._change.notify_all()

    def _run(self) -> None:
        try:
            self._container.start_encoding()
            while (packet := self._next()) is not None:
                self._container.mux_one(packet)
                self.sent += 1
                self._drop_first()
            self._container.close()
        except (OSError, av.FFmpegError, ValueError) as error:
            self._fail(error)
        except BaseException as error:  # a thread's own end is seen by nobody
            self._fail(error)
            raise
        finally:
            self._at_end()

    def _next(self) -> Packet[Any] | None:
        """The first packet, which stays in the queue until it is written."""
        with self._change:
            self._change.wait_for(lambda: self._queue)
            return self._queue[0][1]

    def _drop_first(self) -> None:
        with self._change:
            if self._queue and self._queue[0][1] is not None:
                self._queue.popleft()
            self._change.notify_all()

    def _fail(self, error: BaseException) -> None:
        """Close what can be closed; FFmpeg says the same again, or why it cannot."""
        with suppress(OSError, av.FFmpegError, ValueError):
            self._container.close()
        with self._change:
            # its traceback would keep this object, and with it the encoder and its threads
            self.error = error.with_traceback(None)
            self._queue.clear()
            self._change.notify_all()
