"""Whether a run does what it is for, and if not, why not, as a sentence for whoever watches it."""

from __future__ import annotations

from collections.abc import Sequence

IDLE = "idle"
"""The state between two jobs."""

STILL_S = 10.0
"""A pipeline from which no frame has come for so long, though it runs, is in trouble."""

_STARTING = ("probing", "beginning")
_RUNNING = "running"


def trouble(
    state: str, *, missing: Sequence[str], still: float, building: bool, patience: float = STILL_S
) -> str:
    """What is wrong; empty when all is well.

    ``missing`` are the stages without anybody at work, ``still`` the seconds since a frame last
    came to the end, ``building`` says that a worker is at something that takes long.
    """
    if state == "aborting":
        return "the job has failed and is being ended"
    if state != IDLE and missing:
        names = " and ".join(missing)
        return f"nobody works for {names} just now: a worker is being started"
    if state in _STARTING:
        return "the job is being started"
    if state == _RUNNING and still > patience and not building:
        return f"no frame has come to the end for {still:.0f} s"
    return ""
