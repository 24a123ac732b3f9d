"""The names of all shared stores, and the hook that runs before each of them.

In production the hook does nothing. Tests put a kill, a recorder or a scheduler in its place, so
that every window between two stores can be hit on purpose. A name that no test reaches is a
fault of the tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STEPS: dict[str, str] = {
    "L1": "lock: the holder's id is written, the lock is taken",
    "L2": "lock: the holder's id is cleared, the lock is still held",
    "A1": "alloc: FREE becomes HELD by the source",
    "G0": "publish: when the frame was born",
    "G1": "give or publish: the token goes into the spare bank",
    "P1": "publish: pub moves past the frame",
    "P2": "publish: HELD becomes READY for the first stage",
    "P3": "publish: the epoch is stale, the slot becomes FREE",
    "E1": "end of stream: the source writes how many frames there are",
    "T1": "take: READY becomes HELD",
    "K1": "work: HELD becomes WORK",
    "J1": "journal: pixels about to change are saved",
    "J2": "journal: the key makes the saved pixels valid",
    "G2": "give: READY for the next stage",
    "G3": "give: the epoch is stale, the slot becomes FREE",
    "J4": "journal: the key is cleared",
    "UP": "undo: the saved pixels are copied back",
    "UK": "undo: the key is cleared",
    "U1": "undo: WORK becomes HELD again",
    "F1": "free: the slot becomes FREE",
    "S0": "shed: what is dropped and why is recorded",
    "S1": "shed: a READY slot becomes FREE",
    "D0": "drop: what its holder drops and why is recorded",
    "B1": "bell: a reader is woken",
    "R0": "recovery: a slot of an old epoch becomes FREE",
    "R1": "recovery of the source: READY if published, else FREE",
    "RP": "recovery of a stage: the saved pixels are copied back",
    "R2": "recovery of a stage: READY again, as a suspect if it was WORK",
    "RJ": "recovery of a stage: the dead worker's key is cleared",
    "R3E": "recovery of the sink: the epoch moves on",
    "R3P": "recovery of the sink: pub goes back to the first frame that is not durable",
    "R3N": "recovery of the sink: the end is unknown again",
    "R3W": "recovery of the sink: a READY slot, or one of its own, becomes FREE",
    "R4D": "recovery of a live sink: a frame it held is recorded as lost",
    "R4W": "recovery of a live sink: its slot becomes FREE",
}


FILL = b"\xa5"

fill_released = bool(os.environ.get("MPFLOW_TEST_FILL"))
"""In tests: a slot is filled with a pattern before it becomes FREE, so that whoever still uses
its pixels gets caught."""

hook: Callable[[str], None] | None = None
"""Called with a step's name right before its store; None, and then not called, in production."""


def step(name: str) -> None:
    """Let the hook run, if there is one. The hot paths ask for the hook themselves."""
    if hook is not None:
        hook(name)


@contextmanager
def hooked(replacement: Callable[[str], None]) -> Iterator[None]:
    """Let ``replacement`` run before each shared store of this process, for a block."""
    global hook  # noqa: PLW0603 - the one replaceable hook of the room
    before = hook
    hook = replacement
    try:
        yield
    finally:
        hook = before
