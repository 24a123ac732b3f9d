"""Packets between the thread that reads them and the loop that decodes them: bounded either way.

    reading thread: put -> [opened | packet | packet | ... | ended] -> get: decoding loop

A file's thread waits when there is enough (``patient``). A stream cannot wait: what is too much
goes, up to the last key frame, so that decoding can go on from there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Condition
from typing import Any

from av import Packet
from av.container import InputContainer

_ENOUGH = 64
# What a stream may pile up: about half a minute, or too many bytes.
_TOO_MANY, _TOO_LARGE = 2000, 64 << 20


@dataclass(frozen=True, slots=True)
class Opened:
    """The input is open: its container, whose packets follow."""

    container: InputContainer


@dataclass(frozen=True, slots=True)
class Arrived:
    """One packet, whether it is of the picture, and when it came (ns, monotonic clock)."""

    packet: Packet[Any]
    picture: bool
    at: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The input is over: it ended by itself, or with an error."""

    error: Exception | None = None


Item = Opened | Arrived | Ended


class Feed:
    """A queue with one writer and one reader."""

    def __init__(self, *, patient: bool) -> None:
        self._patient = patient
        self._items: deque[Item] = deque()
        self._changed = Condition()
        self._pictures = 0
        self._size = 0
        self._wants_key = False
        self._closed = False
        self._dropped = 0

    def put(self, item: Item) -> bool:
        """Add one; False when nobody wants any more."""
        with self._changed:
            while self._patient and len(self._items) >= _ENOUGH and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            if self._is_wanted(item):
                self._append(item)
            if not self._patient and (len(self._items) > _TOO_MANY or self._size > _TOO_LARGE):
                self._skip_to_key()
            self._changed.notify_all()
            return True

    def get(self, seconds: float) -> Item | None:
        """The next one; None when there is none for so long."""
        with self._changed:
            if not self._items:
                self._changed.wait(seconds)
            if not self._items:
                return None
            item = self._items.popleft()
            self._count(item, -1)
            self._changed.notify_all()
            return item

    @property
    def is_closed(self) -> bool:
        """Whether nobody wants any more."""
        return self._closed

    @property
    def pictures(self) -> int:
        """How many packets of the picture wait."""
        return self._pictures

    @property
    def skips(self) -> bool:
        """Whether packets of the picture are dropped up to the next key frame."""
        return self._wants_key

    def take_dropped(self) -> int:
        """How many packets of the picture were dropped since this was asked last."""
        with self._changed:
            dropped, self._dropped = self._dropped, 0
            return dropped

    def skip_to_key(self) -> None:
        """Go on at the last key frame that waits, or at the next that comes."""
        with self._changed:
            self._skip_to_key()

    def close(self) -> None:
        """No more is wanted."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()

    def _skip_to_key(self) -> None:
        """Drop packets before the last key frame; where there is none, all of them."""
        kept: deque[Item] = deque()
        found = False
        while self._items and not found:
            item = self._items.pop()
            kept.appendleft(item)
            found = isinstance(item, Arrived) and item.picture and bool(item.packet.is_keyframe)
        if not found:
            self._items, kept = kept, deque()
            self._wants_key = True
        dropped = [item for item in self._items if isinstance(item, Arrived)]
        self._items = deque(item for item in self._items if not isinstance(item, Arrived))
        self._items.extend(kept)
        for item in dropped:
            self._count(item, -1)
            self._dropped += item.picture

    def _is_wanted(self, item: Item) -> bool:
        if isinstance(item, Opened):
            self._wants_key = False
        if not (self._wants_key and isinstance(item, Arrived) and item.picture):
            return True
        self._wants_key = not item.packet.is_keyframe
        self._dropped += self._wants_key
        return not self._wants_key

    def _append(self, item: Item) -> None:
        self._items.append(item)
        self._count(item, 1)

    def _count(self, item: Item, sign: int) -> None:
        if isinstance(item, Arrived):
            self._pictures += sign * item.picture
            self._size += sign * item.packet.size
