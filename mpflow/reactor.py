"""Waiting on many things at once: descriptors with their reactions, and signals as events."""

from __future__ import annotations

import os
import selectors
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a run in order."""


class Reactor:
    """Calls the reaction of each descriptor that is readable; signals are queued, never handled."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._signals: deque[int] = deque()

    def watch(self, descriptor: int, react: Callable[[], object]) -> None:
        """Call ``react`` whenever the descriptor is readable."""
        self._selector.register(descriptor, selectors.EVENT_READ, react)

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor; one that is not watched is no error."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def watches(self, descriptor: int) -> bool:
        """Whether the descriptor is watched."""
        return descriptor >= 0 and descriptor in self._selector.get_map()

    def wait(self, seconds: float) -> None:
        """Wait for something to happen, at most so long, and let everything that has be handled."""
        for key, _ in self._selector.select(seconds):
            # one that an earlier reaction has closed may have got a successor by the same number
            if self._selector.get_map().get(key.fd) is key:
                key.data()

    def catch(self, *numbers: signal.Signals) -> None:
        """Queue these signals from now on, blocked ones too; a wake-up pipe ends the wait."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda received, _: self._signals.append(received))
        self.watch(read, lambda: os.read(read, 512))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def signals(self) -> Iterator[int]:
        """The signals that have come, in order, each once."""
        while self._signals:
            yield self._signals.popleft()
