"""Stretches of frames that became durable together, and their totals."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mpflow.accounts import LedgerSummary, LostFrame

SHOWN_ROWS = 1000
SHOWN_BYTES = 48 * 1024
"""How many frames that were not delivered as asked a summary names: it travels in one message."""

SHOWN_CHANGES = 200
OTHERS = "others"
"""So many changes are counted one by one, all further ones as one of this name."""


class Noted(msgspec.Struct, gc=False):
    """What is counted of one frame: its ``row`` if it was not delivered as asked, its faces and
    what became of them, its mode, whether it was left as it is on purpose, whether a made face is
    not like its source, and what was in force other than asked for."""

    row: LostFrame | None
    faces: int = 0
    covered: int = 0
    open: int = 0
    single: bool = False
    left: bool = False
    drifted: bool = False
    changed: tuple[str, ...] = ()


class Stretch(msgspec.Struct, forbid_unknown_fields=True):
    """Frames ``start`` up to, not including, ``stop``; ``rows`` are those not as asked."""

    start: int
    stop: int
    delivered: int = 0
    masked: int = 0
    passed: int = 0
    dropped: int = 0
    degraded: int = 0
    single_frame: int = 0
    left: int = 0
    faces: int = 0
    frames_with_faces: int = 0
    covered: int = 0
    open: int = 0
    drifted: int = 0
    changed: dict[str, int] = {}
    rows: list[LostFrame] = []

    def count(self, frame: Noted) -> None:
        """Add one frame."""
        row = frame.row
        self.faces += frame.faces
        self.single_frame += frame.single
        self.left += frame.left
        self.frames_with_faces += frame.faces > 0
        self.covered += frame.covered
        self.open += frame.open
        self.drifted += frame.drifted
        self.note(dict.fromkeys(frame.changed, 1))
        match row.state if row is not None else "":
            case "masked":
                self.masked += 1
            case "passed":
                self.passed += 1
            case "dropped":
                self.dropped += 1
            case _:
                self.delivered += 1
                self.degraded += row is not None
        if row is not None:
            self.rows.append(row)

    def note(self, changed: Mapping[str, int]) -> None:
        """Add what was in force other than asked for, and in how many frames."""
        for what, frames in changed.items():
            shown = what in self.changed or len(self.changed) < SHOWN_CHANGES
            name = what if shown else OTHERS
            self.changed[name] = self.changed.get(name, 0) + frames


COUNTED = (
    "delivered",
    "masked",
    "passed",
    "dropped",
    "degraded",
    "single_frame",
    "left",
    "faces",
    "frames_with_faces",
    "covered",
    "open",
    "drifted",
)
"""What is counted of a stretch, under the same names in every account."""


class Totals:
    """All stretches so far, one after the other from frame 0 to ``stop``.

    ``past`` is what a last stage that died had counted of the frames before.
    """

    def __init__(self, past: LedgerSummary | None = None) -> None:
        self.stop = 0
        self._sums = Stretch(0, 0)
        self._bytes = 0
        self._more = 0
        if past is not None:
            self.stop, self._more = past.frames, past.more
            for name in COUNTED:
                setattr(self._sums, name, getattr(past, name))
            self._sums.note(past.changed)
            for row in past.rows:
                self._show(row)

    def add(self, stretch: Stretch) -> None:
        """Add the next stretch."""
        self.stop = stretch.stop
        sums = self._sums
        for name in COUNTED:
            setattr(sums, name, getattr(sums, name) + getattr(stretch, name))
        sums.note(stretch.changed)
        for row in stretch.rows:
            self._show(row)

    def recant(self, before: LostFrame | None, after: LostFrame) -> None:
        """One frame of those so far became another thing than was counted: ``before`` is the row
        that it was counted with, if any."""
        was, now = Stretch(0, 0), Stretch(0, 0)
        was.count(Noted(before))
        now.count(Noted(after))
        for name in COUNTED:
            more = getattr(now, name) - getattr(was, name)
            setattr(self._sums, name, getattr(self._sums, name) + more)
        if before in self._sums.rows:
            self._sums.rows.remove(before)
        elif before is not None:
            self._more -= 1
        self._show(after)
        self._sums.rows.sort(key=lambda row: row.frame)

    def summary(self) -> LedgerSummary:
        """What became of the frames."""
        sums = self._sums
        return LedgerSummary(
            frames=sums.delivered + sums.masked + sums.passed + sums.dropped,
            rows=tuple(sums.rows),
            more=self._more,
            changed=dict(sums.changed),
            **{name: getattr(sums, name) for name in COUNTED},
        )

    def _show(self, row: LostFrame) -> None:
        """Keep a row for the summary while there is room."""
        size = len(msgspec.msgpack.encode(row))
        if len(self._sums.rows) >= SHOWN_ROWS or self._bytes + size > SHOWN_BYTES:
            self._more += 1
        else:
            self._sums.rows.append(row)
            self._bytes += size
