"""What a runner works with: its place in the pipeline, the ring, the meter, its orders."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from mpflow.colour import Colour
from mpflow.frame import Frame, PictureLayout
from mpflow.metrics import Meter
from mpflow.orders import Orders
from mpflow.shm import Lease, Ring
from mpflow.spec import VideoInfo

PATIENCE_S = 0.25
"""How long a wait lasts before the loop looks again, whatever the bells say."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a runner works with: its place in the pipeline, the ring, the meter, its orders.

    ``worker`` is its number among the workers of its stage.
    """

    name: str
    worker: int
    ring: Ring
    meter: Meter
    orders: Orders
    layout: PictureLayout
    colour: Colour

    @property
    def slots(self) -> int:
        """How many frames the ring holds."""
        return self.ring.segment.geometry.slots

    @classmethod
    def at(  # noqa: PLR0913 - one value for each thing on the desk
        cls, name: str, ring: Ring, meter: Meter, orders: Orders, video: VideoInfo, *, number: int
    ) -> Desk:
        """The desk of one worker, the ``number``-th of its stage, for one input."""
        layout = PictureLayout.of(video.pixel_format, video.width, video.height)
        return cls(name, number, ring, meter, orders, layout, Colour.from_tags(video))

    def frame(self, lease: Lease, *, editable: bool = False) -> Frame:
        """The pixels of a leased slot; edits of an editable one go through the worker's journal."""
        journal = partial(self.ring.journal, lease) if editable else None
        geometry = self.ring.segment.geometry
        side = geometry.slot_bytes, geometry.side_bytes
        return Frame(self.layout, lease, self.colour, journal, side)

    def tell(self, kind: str, **values: Any) -> None:
        """Send a message to the supervisor."""
        self.orders.answer(kind, **values)

    def pause(self, seconds: float) -> None:
        """Let some time pass, unless the job is over before."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.orders.over:
            self.meter.waited_for_input(self.wait(min(left, PATIENCE_S)))

    def wait(self, seconds: float = PATIENCE_S) -> int:
        """Sleep until the bell or an order comes; returns the nanoseconds waited."""
        start = time.monotonic_ns()
        self.ring.wait(seconds, also=(self.orders.fileno(),))
        self.orders.read()
        return time.monotonic_ns() - start
