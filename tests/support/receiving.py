"""The live source by itself, outside a pipeline: what it gives, tells and counts."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mpflow.media.sound import SoundPacket, SoundReceiver
from mpflow.spec import BEGINNING, Job, JobSpec, MediaInfo, Place, SourceSummary
from mpflow.stage import Picture, StageContext
from mpflow.stages.receive import Receive, ReceiveOptions


@dataclass
class Receiving:
    """One source on one address. It leaves when ``enough`` says so, and after ``limit`` seconds."""

    url: str
    options: dict[str, Any] = field(default_factory=dict)
    limit: float = 60.0
    counts: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    sound: list[SoundPacket] = field(default_factory=list)
    leave: bool = False

    def __post_init__(self) -> None:
        context = StageContext(
            "receive",
            threads=2,
            warn=self.warnings.append,
            alert=lambda kind, text: self.alerts.append(f"{kind}: {text}"),
            count=lambda name, more: self.counts.update({name: more}),
            leaving=self._leaving,
        )
        self._until = time.monotonic() + self.limit
        self.stage = Receive(ReceiveOptions(**self.options), context)
        self._left, self._right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener = SoundReceiver(self._right.fileno())
        self.spec = JobSpec("1", self.url, live=True)

    def probe(self) -> MediaInfo:
        """Look at the input."""
        return self.stage.probe(self.spec)

    def begin(self, media: MediaInfo) -> None:
        """Begin with what a probe found."""
        self.stage.begin(Job(self.spec, media, self._left.fileno()))

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        """Every picture, noted down."""
        for picture in self.stage.pictures(place):
            assert picture.pts is not None and picture.arrived is not None
            self.stamps.append(picture.pts)
            self.times.append(picture.pts * picture.time_base[0] / picture.time_base[1])
            self.ages.append((time.monotonic_ns() - picture.arrived) / 1e9)
            self.sound += self._listener.receive()
            yield picture

    def run(self, enough: Callable[[Receiving], bool] = lambda receiving: False) -> SourceSummary:
        """Probe, and take pictures until the input ends or there are enough."""
        self.begin(self.probe())
        return self.go_on(enough)

    def go_on(self, enough: Callable[[Receiving], bool] = lambda receiving: False) -> SourceSummary:
        """Take pictures until the input ends or there are enough."""
        try:
            for _ in self.pictures():
                self.leave = enough(self)
        finally:
            self.sound += self._listener.receive()
            summary = self.stage.end()
        return summary

    def close(self) -> None:
        """Let go of everything."""
        self.stage.close()
        self._listener.close()
        self._left.close()
        self._right.close()

    def __enter__(self) -> Receiving:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _leaving(self) -> bool:
        return self.leave or time.monotonic() > self._until
