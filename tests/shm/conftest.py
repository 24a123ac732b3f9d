"""Lets the tests of the ring share its model, its helper processes, and a small ring."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpflow.shm import Bell, Geometry, Order, Ring, Segment

sys.path.insert(0, str(Path(__file__).parent))


class SmallRing:
    """A segment with its bells, and rings of any stage and worker on it."""

    def __init__(self, geometry: Geometry) -> None:
        self.segment = Segment.create(geometry)
        self.bells = [Bell.create() for _ in range(geometry.stages)]

    def ring(self, stage: int, worker: int, order: Order = Order.LOWEST) -> Ring:
        return Ring(self.segment, self.bells, stage, worker, order)

    def close(self) -> None:
        self.segment.close()
        for bell in self.bells:
            bell.close()


@pytest.fixture
def make_ring() -> Iterator[Callable[..., SmallRing]]:
    """Make small rings; numbers of Geometry may be given by name."""
    made: list[SmallRing] = []

    def make(**numbers: int) -> SmallRing:
        usual = {
            "slots": 3,
            "slot_bytes": 4096,
            "token_bytes": 256,
            "stages": 3,
            "workers": 4,
            "journal_bytes": 8192,
        }
        made.append(SmallRing(Geometry(**(usual | numbers))))
        return made[-1]

    yield make
    for small in made:
        small.close()
