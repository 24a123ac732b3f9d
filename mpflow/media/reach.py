"""Whether a live output is reached: what is told of a loss, when to try again, when to give up."""

from __future__ import annotations

from mpflow.errors import MpflowError
from mpflow.media.destination import Destination
from mpflow.media.liveerrors import away, is_hopeless, lost, unreachable
from mpflow.media.liverequest import LiveRequest, Voice
from mpflow.media.reconnect import Outage


class Reach:
    """Follows one output from connection to connection. Moments are seconds of the monotonic
    clock."""

    def __init__(self, destination: Destination, request: LiveRequest, voice: Voice) -> None:
        self._destination = destination
        self._request = request
        self._voice = voice
        self._connections = 0
        self._outage: Outage | None = None
        self._error: BaseException | None = None
        self._is_told = False
        self._next_try = 0.0

    def may_try(self, now: float) -> bool:
        """Whether it is time for the next connection."""
        return now >= self._next_try

    def reached(self) -> None:
        """The other end takes what is sent."""
        self._connections += 1
        self._outage, self._is_told = None, False
        if self._connections > 1:
            self._voice.count("reconnects", 1)

    def lost(self, error: BaseException, now: float) -> None:
        """A connection broke, or did not come about. Raises OutputError when there is no hope."""
        if not self._destination.is_lasting:
            raise lost(self._destination, error) from error
        if not self._connections and (hopeless := self._hopeless(error)) is not None:
            raise hopeless from error
        self._error = error
        outage = self._outage or Outage(now)
        self._next_try, self._outage = now + outage.pause(), outage.tried()
        self.is_away(now)
        if not self._is_told:
            self._is_told = True
            self._voice.alert("reconnect", away(self._destination, error))

    def is_away(self, now: float) -> None:
        """There is no connection. Raises OutputError when that is so for too long."""
        outage = self._outage
        if outage is not None and outage.left(now, self._request.retry) < 0:
            raise unreachable(self._destination, now - outage.since, self._error)

    def stands(self, seconds: float) -> None:
        """It has stood still for so long, without an error. Raises OutputError if too long."""
        patience = max(self._request.retry, self._request.caution.timeout)
        if self._destination.is_lasting and seconds > patience:
            raise unreachable(self._destination, seconds, None)

    def _hopeless(self, error: BaseException) -> MpflowError | None:
        with self._voice.waiting():
            return is_hopeless(self._destination, error, self._request.caution)
