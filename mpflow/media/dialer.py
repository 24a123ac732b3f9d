"""Keeping in touch with a live input: connecting, waiting in short steps, connecting again.

dial -> packets -> lost (ended | failed | silent) -> pause -> dial -> ... -> back, or given up
"""

from __future__ import annotations

import errno
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import av

from mpflow.errors import InputError, describe
from mpflow.media.address import Address
from mpflow.media.feed import Arrived, Ended, Feed, Item, Opened
from mpflow.media.line import Line
from mpflow.media.patience import MARGIN_S, Patience, Unseen, Watch
from mpflow.media.reconnect import Outage

# How long a wait lasts before it is asked whether to go on.
_STEP_S = 0.1
# A listener that hears nothing is opened anew this often: until then its port cannot be let go.
_LONGEST_LISTENING_S = 30.0


class Host(Protocol):
    """Who a live input belongs to; see mpflow.stage.StageContext."""

    @property
    def warn(self) -> Callable[[str], None]:
        """Takes a sentence for the user."""

    @property
    def alert(self) -> Callable[[str, str], None]:
        """Takes the kind of an event and a sentence."""

    @property
    def count(self) -> Callable[[str, int], None]:
        """Adds to a counter."""

    @property
    def waiting(self) -> Callable[[], AbstractContextManager[None]]:
        """Is entered for a wait."""

    @property
    def leaving(self) -> Callable[[], bool]:
        """Says whether to end."""


class Dialer:
    """Gives what comes from an address, over one connection after the other."""

    def __init__(self, address: Address, patience: Patience, host: Host) -> None:
        self._address = address
        self._patience = patience
        self._host = host
        self._line: Line | None = None
        self._outage: Outage | None = None
        self._cause: Ended | None = None
        self._dial_at = 0.0
        self._watch = Watch(patience.reading)
        self._has_pictures = False

    @property
    def feed(self) -> Feed | None:
        """What has come and was not looked at yet."""
        return self._line.feed if self._line is not None else None

    def dial(self, *, after: int | None = None) -> None:
        """Connect for the first time, or play a file (on from a time stamp of its picture)."""
        self._line = self._open(self._patience.opening, after=after, first=True)

    def redial(self) -> None:
        """Connect as after an outage: for as long as an input may be away."""
        self._outage, self._cause = Outage(time.monotonic()), None
        self._dial_at = 0.0

    def expect(self, step: float) -> None:
        """Take note of how far apart pictures usually are, in seconds."""
        self._watch.step = step

    def next(self) -> Item | None:
        """The next packet or event; None when it is time to leave.

        A connection that does not open, or of which no picture comes any more, has ended.
        """
        while not self._host.leaving():
            if self._line is None and not self._due():
                continue
            if self._line is None:
                self._line = self._open(self._time_to_open())
            item = self._line.feed.get(0)
            if item is None:
                with self._host.waiting():
                    item = self._line.feed.get(_STEP_S)
            now = time.monotonic()
            self._note(item, now)
            if not isinstance(item, Ended) and (trouble := self._trouble(self._line, now)):
                return Ended(trouble)
            if item is not None:
                return item
        return None

    def lost(self, ended: Ended) -> bool:
        """Take note of an end; says whether the input is to be connected again.

        Raises InputError when it was away for too long, unless it had simply ended.
        """
        self.close()
        now = time.monotonic()
        if self._outage is None:
            self._cause = ended
        outage = self._outage or Outage(now)
        if outage.left(now, self._patience.retry) <= outage.pause():
            return self._given_up(ended)
        if self._outage is None:
            self._host.alert("reconnect", f"{self._told(ended)}; connecting again")
        self._dial_at = now + outage.pause()
        self._outage = outage.tried()
        return True

    def back(self) -> None:
        """A picture came: the input is there."""
        self._watch.seen(time.monotonic())
        if self._outage is not None:
            if self._outage.tries:
                self._host.count("reconnects", 1)
            self._outage = None

    def busy(self) -> None:
        """Nobody asked for what comes, up to now."""
        self._watch.excused(time.monotonic())

    def close(self) -> None:
        """Hang up."""
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _due(self) -> bool:
        """Wait a little until the next attempt; says whether it is time for it."""
        left = self._dial_at - time.monotonic()
        if left > 0:
            with self._host.waiting():
                time.sleep(min(left, _STEP_S))  # nothing tells that a server is back
        return left <= _STEP_S

    def _note(self, item: Item | None, now: float) -> None:
        match item:
            case Opened():
                self._watch.opened(now)
            case Arrived(_, picture):
                self._watch.came(now)
                self._has_pictures |= picture

    def _trouble(self, line: Line, now: float) -> Exception | None:
        """Why the connection is as good as lost, if it is; a file that is open never is."""
        if self._watch.is_open and self._address.is_file:
            return None
        retry, outage = self._patience.retry, self._outage
        only_sound = self._watch.is_open and not self._has_pictures
        if only_sound and outage is not None and outage.left(now, retry) < -MARGIN_S:
            return Unseen(retry)
        return self._watch.trouble(now, skips=line.feed.skips)

    def _open(self, opening: float, *, after: int | None = None, first: bool = False) -> Line:
        wait = opening * self._address.steps + MARGIN_S
        self._watch.dialled(time.monotonic(), opening=wait)
        self._has_pictures = False
        reading = self._patience.reading
        return Line(self._address, opening=opening, reading=reading, after=after, first=first)

    def _time_to_open(self) -> float:
        left = math.inf
        if self._outage is not None:
            left = self._outage.left(time.monotonic(), self._patience.retry)
        most = _LONGEST_LISTENING_S if self._address.listens else self._patience.opening
        return max(1.0, min(left, most))

    def _given_up(self, ended: Ended) -> bool:
        """Nothing more comes: an error, unless the input had ended in order, or nobody wants to
        know whether it had."""
        retry = self._patience.retry
        may = self._address.tells_end or not retry
        if may and self._cause is not None and self._is_clean(self._cause):
            return False
        away = f", and did not come back within {retry:g} s" if retry else ""
        raise InputError(
            f"{self._address.shown!r} was lost{away}: {self._reason(ended)}",
            cure="see to it that the sender is there, or wait longer with --retry",
        )

    def _told(self, ended: Ended) -> str:
        """What happened, in words."""
        if self._is_clean(ended) and self._address.tells_end:
            return f"{self._address.shown!r} ended"
        return f"{self._address.shown!r} was lost: {self._reason(ended)}"

    def _is_clean(self, ended: Ended) -> bool:
        """Whether an input ended in order: FFmpeg calls it an error when an RTMP sender leaves,
        and when a stream of unknown length ends that a web server gives."""
        error = ended.error
        may = self._address.listens or self._address.scheme in ("http", "https")
        return error is None or (may and isinstance(error, OSError) and error.errno == errno.EIO)

    def _reason(self, ended: Ended) -> str:
        if self._is_clean(ended):
            return "it ended"
        if isinstance(ended.error, Unseen):
            return str(ended.error)
        if isinstance(ended.error, av.ExitError):
            return f"nothing came for {self._patience.reading:g} s"
        if isinstance(ended.error, OSError) and ended.error.errno == errno.EIO:
            return "the connection broke off"
        if isinstance(ended.error, av.FFmpegError | OSError):
            return ended.error.strerror or type(ended.error).__name__
        return describe(ended.error) if ended.error else ""
