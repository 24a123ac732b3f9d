"""Sending packets to where nobody knows how long it takes: in a thread, behind a bounded queue.

    put -> queue -> thread: header, packets, trailer -> FFmpeg

Whoever puts never waits. What went wrong is found in ``error`` at the next look. However long the
other end keeps the thread waiting, it does so without the interpreter's lock (see fifothread).
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import av
from av import Packet
from av.container import OutputContainer

from mpflow.media.fifothread import Doing, FifoThread

# How often FFmpeg's thread is looked at before the container is closed, and how many looks have to
# say the same: it takes up a packet a moment after it was given it.
_LOOK_S, _LONGEST_LOOK_S = 0.02, 0.2
_SURE, _SURE_UNTOLD = 2, 25
# How long such a thread may take to begin.
_BEGINNING_S = 0.2


class Delivery:
    """One opened container and the thread that writes to it.

    The container is set up but not begun; nobody else may touch it before it is over. Encoding for
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

    def end(self) -> None:
        """Have the trailer written after what is left."""
        self._put(None)

    def wait(self, timeout: float) -> bool:
        """Whether all is over, after that time at most: written, or failed."""
        self._thread.join(timeout)
        return not self._thread.is_alive() or self.error is not None

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
        sending: FifoThread | None = None
        try:
            sending = self._begin()
            while (packet := self._next()) is not None:
                self._container.mux_one(packet)
                self.sent += 1
                self._drop_first()
            _require_alive(_settle(sending))
            self._container.close()
        except (OSError, av.FFmpegError, ValueError) as error:
            self._fail(error, sending)
        except BaseException as error:  # a thread's own end is seen by nobody
            self._fail(error, sending)
            raise
        finally:
            self._at_end()

    def _begin(self) -> FifoThread | None:
        """Begin the container; FFmpeg's own thread, where it has one."""
        before = FifoThread.all()
        self._container.start_encoding()
        if self._container.format.name != "fifo":
            return None
        until = time.monotonic() + _BEGINNING_S
        while not (sending := FifoThread.all().since(before)).numbers:
            if time.monotonic() > until:
                break  # it has failed at once, and is gone
            _pause(_LOOK_S / 10)
        return sending

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

    def _fail(self, error: BaseException, sending: FifoThread | None) -> None:
        """Close what can be closed; FFmpeg says the same again, or why it cannot."""
        with self._change:
            # its traceback would keep this object, and with it the encoder and its threads
            self.error = error.with_traceback(None)
            self._queue.clear()
            self._change.notify_all()
        _settle(sending)
        with suppress(OSError, av.FFmpegError, ValueError):
            self._container.close()


def _require_alive(doing: Doing) -> None:
    """A thread that is gone before the trailer has failed, which closing would not say."""
    if doing is Doing.GONE:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def _settle(sending: FifoThread | None) -> Doing:
    """Wait until closing takes no time: FFmpeg's thread has nothing to do, or has given up.

    That is bounded by the timeout of the network, and whoever waits for this thread bounds it
    further. The kernel rings no bell when a thread falls asleep, so it is looked at.
    """
    same, last, look = 0, Doing.IDLE, _LOOK_S
    while sending is not None:
        doing = sending.doing
        same = same + 1 if doing is last else 1
        last = doing
        enough = {Doing.GONE: 1, Doing.IDLE: _SURE, Doing.UNTOLD: _SURE_UNTOLD}.get(doing)
        if enough is not None and same >= enough:
            break
        look = min(look * 1.1, _LONGEST_LOOK_S) if doing is Doing.BUSY else _LOOK_S
        _pause(look)
    return last


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)
