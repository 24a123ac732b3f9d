"""What a stage refuses to change is not on the cards of its frames, and is not asked for again."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from mpflow.heed import Heed, Tuning
from mpflow.shm import Order
from mpflow.spec import Helm, Rules
from mpflow.stage import Options
from mpflow.tokens import Token


class PaintOptions(Options, frozen=True):
    """How it is painted."""

    size: int = 9
    every: int = 1


class Painter:
    """Stands for a stage, and for a worker's desk, orders and meter: keeps what it is told."""

    name = "paint"

    def __init__(self) -> None:
        self.options = PaintOptions()
        self.asked: list[PaintOptions] = []
        self.told: list[str] = []
        self.orders = SimpleNamespace(helm=Helm())
        self.ring = SimpleNamespace(order=Order.LOWEST)
        self.meter = SimpleNamespace(building=nullcontext, count=lambda name: None)
        self.tuning = Tuning(self.options)
        me: Any = self
        self.heed = Heed(me, me, Rules(live=True), self.tuning)

    def tune(self, options: PaintOptions) -> None:
        self.asked.append(options)
        if options.size == 0:
            raise ValueError("there is no size 0")
        self.options = options

    def tell(self, kind: str, **values: Any) -> None:
        self.told.append(values["text"])

    def steer(self, **changed: int) -> tuple[str, ...]:
        """Change the helm; what a frame's card says is degraded by it."""
        notes = tuple(f"paint.{key}={value}" for key, value in changed.items())
        options = {"paint": changed} if changed else {}
        self.orders.helm = Helm(options=options, notes=(*notes, "other.every=3"))
        self.heed.look()
        return self.heed.note_degraded(Token("1", 0)).degradations


def test_options_that_are_in_force_are_on_the_cards() -> None:
    painter = Painter()
    assert painter.steer(size=3) == ("paint.size=3",)
    assert painter.steer(size=3, every=2) == ("paint.size=3", "paint.every=2")
    assert painter.steer() == ()
    assert painter.options == PaintOptions()


def test_a_refused_change_leaves_cards_as_they_were_and_is_told_once() -> None:
    painter = Painter()
    painter.steer(every=2)
    for _ in range(3):
        assert painter.steer(size=0, every=2) == ("paint.every=2",)
    assert painter.told == ["paint cannot change its options: ValueError: there is no size 0"]
    assert len(painter.asked) == 2
    assert painter.tuning.changed == {"every": 2}


def test_after_a_refused_change_others_are_tried_and_so_is_that_one_later() -> None:
    painter = Painter()
    painter.steer(size=0)
    assert painter.steer(size=4) == ("paint.size=4",)
    assert painter.steer(size=0) == ("paint.size=4",)
    assert len(painter.told) == 2
    assert painter.steer() == ()
    assert painter.options == PaintOptions()


def test_what_one_job_has_changed_is_taken_back_for_the_next() -> None:
    painter = Painter()
    painter.steer(size=3)
    me: Any = painter
    painter.heed = Heed(me, me, Rules(live=True), painter.tuning)
    assert painter.steer() == ()
    assert painter.options == PaintOptions()
