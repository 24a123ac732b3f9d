"""How a stage's worker heeds the helm: options that change, being left out, the mode of a frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from mpflow.desk import Desk
from mpflow.errors import describe
from mpflow.shm import Order
from mpflow.spec import Helm, Rules
from mpflow.stage import Options, Stage
from mpflow.tokens import FrameState, Mode, Token


@dataclass
class Tuning:
    """The options a stage was built with, and what of them is changed at present. Outlives a job:
    what one job has changed is taken back for the next, unless that wants it too."""

    own: Options
    changed: dict[str, Any] = field(default_factory=dict)


class Heed:
    """Looks at the helm between two batches."""

    def __init__(
        self, desk: Desk, stage: Stage[Any], rules: Rules, tuning: Tuning | None = None
    ) -> None:
        self._desk = desk
        self._stage = stage
        self._live = rules.live
        self._tuning = tuning or Tuning(stage.options)
        self._order = desk.ring.order
        self._helm: Helm | None = None
        self._notes: tuple[str, ...] = ()
        self._refused: dict[str, Any] | None = None

    @property
    def left_out(self) -> bool:
        """Whether the stage is left out at present."""
        return self._desk.name in self._desk.orders.helm.skip

    def look(self) -> None:
        """Take up a new helm, if there is one."""
        helm = self._desk.orders.helm
        if helm is self._helm:
            return
        self._helm = helm
        name = self._desk.name
        self._desk.ring.order = self._order_in(helm.mode)
        if self._tune(helm.options.get(name, {})):
            self._notes = tuple(note for note in helm.notes if note.startswith(f"{name}."))

    def note_mode(self, token: Token) -> Token:
        """The card with the mode that the run is in."""
        helm = self._desk.orders.helm
        if token.mode is helm.mode:
            return token
        return token.with_mode(helm.mode, stage=self._desk.name, reason=helm.reason)

    def leave_out(self, token: Token) -> Token:
        """The card of a frame that is given on without this stage's work."""
        name, reason = self._desk.name, self._desk.orders.helm.reason
        self._desk.meter.count("degraded")
        return token.without_op(name, stage=name, reason=reason).with_degradations([f"-{name}"])

    def note_degraded(self, token: Token) -> Token:
        """The card of a frame that was worked on with other options than asked."""
        if not self._notes or token.state is not FrameState.LIVE:
            return token
        self._desk.meter.count("degraded")
        return token.with_degradations(self._notes)

    def _order_in(self, mode: Mode) -> Order:
        """A live run in single-frame mode takes the newest frame first; no other ever does."""
        if not self._live or mode is not Mode.SINGLE_FRAME:
            return self._order
        return Order.LATEST if self._order is Order.WATERMARK else Order.NEWEST

    def _tune(self, changed: dict[str, Any]) -> bool:
        """Let the stage go on with other options, and say whether it does.

        What it refuses harms nothing, and is not asked for again before something else was.
        """
        tuning = self._tuning
        if changed in (tuning.changed, self._refused):
            return changed == tuning.changed
        wanted = msgspec.convert({**msgspec.to_builtins(tuning.own), **changed}, type(tuning.own))
        try:
            with self._desk.meter.building():
                self._stage.tune(wanted)
        except Exception as error:  # noqa: BLE001 - the stage goes on as it was
            text = f"{self._desk.name} cannot change its options: {describe(error)}"
            self._desk.tell("warning", text=text)
            self._refused = changed
            return False
        tuning.changed, self._refused = changed, None
        return True
