"""Who wakes whom: the bells of all stages as one worker rings and hears them.

    a frame moved to a stage      its bell
    a slot came free              bell 0
    READY work is left behind     the own bell again, if this worker silenced it
    a frame vanished in between   all bells: a later stage may wait for it in vain
    the end is known              all bells, on every move: somebody may wait to be the last

Waits are bounded and look again, so a bell that its ringer's death left unrung costs time only.
"""

from __future__ import annotations

import select
from collections.abc import Sequence

from mpflow.shm.bell import Bell


class Waking:
    """The bells of a ring as ``stage`` hears and rings them.

    ``ended`` says that the end is known, ``heard`` that the own bell rang since the last look;
    the ring keeps both.
    """

    def __init__(self, bells: Sequence[Bell], stage: int) -> None:
        self._bells = tuple(bells)
        self._bell = bells[stage]
        self._fd = self._bell.fileno()
        self._polls: dict[tuple[int, ...], select.poll] = {}
        self._silenced = False
        self.heard = False
        self.ended = False

    def wait(self, timeout: float, also: Sequence[int]) -> list[int]:
        """Wait for the own bell or one of ``also``; clear the bell before it returns."""
        key = tuple(also)
        poll = self._polls.get(key) or self._register(key)
        ready = [fd for fd, _ in poll.poll(timeout * 1000 if timeout > 0 else 0)]
        if self._fd in ready:
            self._bell.clear()
            self._silenced = self.heard = True
        return ready

    def moved(self, stage: int) -> None:
        """A frame became READY for ``stage``; stage 0 stands for a free slot."""
        if self.ended:
            self.all()
        else:
            self._bells[stage].ring()

    def took(self, left: int) -> None:
        """Frames were taken, ``left`` are still READY for the own stage."""
        if self.ended:
            self.all()
        elif left and self._silenced:
            self._silenced = False
            self._bell.ring()

    def wake_self(self) -> None:
        """Ring the own bell; safe from any thread."""
        self._bell.ring()

    def all(self) -> None:
        """Ring every bell."""
        for bell in self._bells:
            bell.ring()

    def _register(self, also: tuple[int, ...]) -> select.poll:
        poll = self._polls[also] = select.poll()
        for fd in (self._fd, *also):
            poll.register(fd, select.POLLIN)
        return poll
