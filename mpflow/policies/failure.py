"""What an exception in a stage means for the frame it was raised on.

    raised -> tried again, a few times, after a pause -> covered, passed on or left out
           -> or the run ends: where trying cannot help, or the user wants it so

A frame without a face is no failure, and a dead worker is none either: see restart.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mpflow.errors import (
    ConfigError,
    ContractError,
    InputError,
    ModelError,
    OutputError,
    PeerLost,
    Refused,
)
from mpflow.shm import ShmError
from mpflow.spec import OnFailure
from mpflow.tokens import FrameState

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

HOPELESS = (
    ContractError,
    ConfigError,
    InputError,
    OutputError,
    ModelError,
    Refused,
    PeerLost,
    ShmError,
    ImportError,
)
"""What is the same for every frame and at every attempt. Lack of memory is not among them: it
may have passed a moment later."""

STATES: Mapping[OnFailure, FrameState] = {
    "mask": FrameState.MASKED,
    "pass": FrameState.PASSED,
    "skip": FrameState.DROPPED,
}


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the frame again, by itself, after a pause."""

    pause_s: float


@dataclass(frozen=True, slots=True)
class Give:
    """Give the frame on in this state, without the stage's work."""

    state: FrameState


@dataclass(frozen=True, slots=True)
class Fail:
    """End the run with the error."""


Verdict = Retry | Give | Fail


def decide(error: BaseException, attempt: int, retries: int, on_failure: OnFailure) -> Verdict:
    """What to do after ``attempt`` failed attempts (1 for the first) at one frame."""
    if isinstance(error, HOPELESS) or not isinstance(error, Exception):
        return Fail()
    if attempt <= retries:
        return Retry(pause_after(attempt))
    return give_up(on_failure)


def give_up(on_failure: OnFailure) -> Give | Fail:
    """What becomes of a frame that is not tried again, such as a quarantined one."""
    return Fail() if on_failure == "fail" else Give(STATES[on_failure])


def pause_after(attempt: int) -> float:
    """Seconds before the next attempt: doubling, from 50 ms to 2 s."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempt - 1, 64))
