"""Frames that were not delivered as asked, in lines below a summary: which, where, why."""

from __future__ import annotations

from collections.abc import Iterator

from mpflow.accounts import LedgerSummary, LostFrame
from mpflow.farm.numbers import list_text

SHOWN_FRAMES = 8
_LONGEST_REASON = 120
_OF_A_RUN = "--report has a line about each of them, --tokens one about every frame"
_STATES = ("masked", "passed", "dropped", "degraded")


def lost_lines(ledger: LedgerSummary | None, where: str = _OF_A_RUN) -> Iterator[str]:
    """A line for each thing that became of them, then ``where`` the rest is; none when all is
    well."""
    if ledger is None:
        return
    found = {state: [row for row in ledger.rows if row.state == state] for state in _STATES}
    for state, rows in found.items():
        if rows:
            yield f"{state}: {_frames(rows, getattr(ledger, state))} ({_reason(rows)})"
    if any(found.values()):
        yield where


def _frames(rows: list[LostFrame], count: int) -> str:
    shown = [row.frame for row in rows[:SHOWN_FRAMES]]
    more = count - len(shown)
    return f"{list_text(shown)} and {more} more" if more > 0 else list_text(shown)


def _reason(rows: list[LostFrame]) -> str:
    """The stage and the first line of what the first of them says."""
    first = rows[0]
    lines = first.reason.splitlines() or ["for no reason given"]
    others = ", and others" if any(row.reason != first.reason for row in rows) else ""
    who = f"{first.stage}: " if first.stage else ""
    return f"{who}{lines[0][:_LONGEST_REASON]}{others}"
