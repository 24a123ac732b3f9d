"""What the supervisor says to a worker while a job runs."""

from __future__ import annotations

from mpflow.channel import Channel


class Orders:
    """The orders given so far; ``read`` looks for new ones and never waits.

    ``stop``: the source ends the stream early. ``conclude``: all frames are published; the sink
    closes when it has them, whole or not. ``close_now``: the sink closes with what it has.
    ``over``: leave the job.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.stop = False
        self.close_now = False
        self.over = False
        self.conclude: bool | None = None

    def fileno(self) -> int:
        """The descriptor that becomes readable with a new order."""
        return self._channel.fileno()

    @property
    def leave(self) -> bool:
        """Whether there is any reason to stop working."""
        return self.stop or self.close_now or self.over

    def read(self) -> None:
        """Take in every order that has come; raises PeerLost when the supervisor is gone."""
        while (received := self._channel.receive(wait=False)) is not None:
            self._note(received[0])

    def wait_over(self) -> None:
        """Wait until the job is over for everybody."""
        while not self.over:
            received = self._channel.receive()
            if received is not None:
                self._note(received[0])

    def _note(self, message: dict[str, object]) -> None:
        match message["kind"]:
            case "stop":
                self.stop = True
            case "conclude":
                self.conclude = bool(message["complete"])
            case "close-now":
                self.close_now = True
            case "end":
                self.over = True
