"""What the supervisor says to a worker while a job runs."""

from __future__ import annotations

from typing import Any

import msgspec

from mpflow.accounts import LedgerSummary
from mpflow.channel import Channel
from mpflow.spec import Helm, JobSpec, MediaInfo, Place, Rules, Value


class Task(Value, frozen=True):
    """What a worker is told with ``begin``: its part of one job.

    ``ops`` are the stages each frame goes through, after ``source``. With ``wait`` nothing is taken
    from the ring before ``go``. ``started`` is when the job began, in nanoseconds of the monotonic
    clock; ``remembers`` says whether any stage keeps an analysis log. ``helm`` is how the run is
    steered at the moment; news of it come as orders. ``books`` is what a sink that cannot be
    replaced from the disk takes over of the ledger.
    """

    job: JobSpec
    media: MediaInfo
    source: str = ""
    ops: tuple[str, ...] = ()
    rules: Rules = Rules()
    wait: bool = False
    started: int = 0
    remembers: bool = False
    helm: Helm = Helm()
    books: LedgerSummary | None = None


class Orders:
    """The orders given so far; ``read`` looks for new ones and never waits.

    ``go``: begin to take frames, from that place on.
    ``stop``: the source ends the stream early. ``conclude``: all frames are published; the sink
    closes when it has them, whole or not. ``close_now``: the sink closes with what it has.
    ``over``: leave the job. ``parked``: take no more frames until it is unset. ``helm``: how the
    run is steered from now on. ``previews``: the sink writes its next frames as pictures, one to
    each of these paths.
    """

    def __init__(self, channel: Channel, helm: Helm = Helm()) -> None:  # noqa: B008 - frozen
        self._channel = channel
        self.helm = helm
        self.previews: list[str] = []
        self.parked = False
        self.stop = False
        self.close_now = False
        self.over = False
        self.conclude: bool | None = None
        self.go: Place | None = None

    def answer(self, kind: str, **values: Any) -> None:
        """Say something back."""
        self._channel.send(kind, **values)

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

    def wait_to_go(self) -> Place | None:
        """Wait until frames may be taken; None when the job ends before that."""
        while self.go is None and not (self.over or self.close_now):
            self._wait()
        return self.go

    def wait_to_be_needed(self) -> None:
        """Wait until frames may be taken again, or the job is over."""
        while self.parked and not self.over:
            self._wait()

    def wait_over(self) -> None:
        """Wait until the job is over for everybody."""
        while not self.over:
            self._wait()

    def _wait(self) -> None:
        received = self._channel.receive()
        if received is not None:
            self._note(received[0])

    def _note(self, message: dict[str, Any]) -> None:
        match message["kind"]:
            case "go":
                self.go = msgspec.convert(message["place"], Place)
            case "stop":
                self.stop = True
            case "conclude":
                self.conclude = bool(message["complete"])
            case "park":
                self.parked = True
            case "unpark":
                self.parked = False
            case "close-now":
                self.close_now = True
            case "end":
                self.over = True
            case "helm":
                self.helm = msgspec.convert(message["helm"], Helm)
            case "preview" if message["path"] not in self.previews:
                self.previews.append(message["path"])
