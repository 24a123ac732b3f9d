"""What to leave out when decoding cannot keep up with a live input: a pure state machine.

backlog small -> decode everything
half of the limit -> leave out pictures that no other refers to, until it is small again
over the limit, and not falling -> go on at a key frame
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from av import Packet

_PATIENCE_S = 0.5
_FALLING = 0.8
_SMALL = 1 / 8


class Effort(Enum):
    """What is decoded."""

    ALL = "all"
    REFERENCES = "references"
    NEXT_KEY = "next key"


@dataclass(frozen=True, slots=True)
class Lag:
    """How far decoding is behind. ``limit`` is in seconds of the input."""

    limit: float
    effort: Effort = Effort.ALL
    over_since: float | None = None
    over_by: float = 0.0

    def seen(self, backlog: float, now: float) -> Lag:
        """The state after ``backlog`` seconds of input were found to wait at a moment ``now``."""
        effort = self._effort(backlog)
        if backlog <= self.limit:
            return replace(self, effort=effort, over_since=None)
        if self.over_since is None:
            return replace(self, effort=effort, over_since=now, over_by=backlog)
        if now - self.over_since < _PATIENCE_S:
            return replace(self, effort=effort)
        if backlog < self.over_by * _FALLING:
            return replace(self, effort=effort, over_since=now, over_by=backlog)
        return replace(self, effort=Effort.NEXT_KEY, over_since=None)

    def _effort(self, backlog: float) -> Effort:
        if backlog > self.limit / 2:
            return Effort.REFERENCES
        if self.effort is Effort.REFERENCES and backlog > self.limit * _SMALL:
            return Effort.REFERENCES
        return Effort.ALL


class Pace:
    """Says packet by packet what is decoded. ``seeks`` looks for a key frame that is not late;
    otherwise whoever has the packets goes on at the last key frame among them."""

    def __init__(self, limit: float, *, seeks: bool) -> None:
        self._lag = Lag(limit)
        self._seeks = seeks
        self._wants_key = False

    @property
    def has_given_up(self) -> bool:
        """Whether to go on at a key frame, after the packet asked about last."""
        return self._lag.effort is Effort.NEXT_KEY

    @property
    def effort(self) -> Effort:
        """What the decoder is to take trouble with."""
        return self._lag.effort

    def wants(self, packet: Packet[Any], backlog: float, now: float) -> bool:
        """Whether a packet is decoded that is ``backlog`` seconds late at a moment ``now``."""
        self._lag = self._lag.seen(backlog, now)
        if self.has_given_up:
            self._wants_key = self._seeks
            return False
        if self._wants_key:
            self._wants_key = not (packet.is_keyframe and backlog < self._lag.limit / 2)
        return not self._wants_key
