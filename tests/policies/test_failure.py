"""What an exception in a stage means, as a table."""

from __future__ import annotations

import pytest

from mpflow.errors import (
    ConfigError,
    ContractError,
    InternalError,
    ModelError,
    PeerLost,
    ResourceError,
)
from mpflow.policies.failure import Fail, Give, Retry, decide, give_up, pause_after
from mpflow.shm import NotHolder
from mpflow.tokens import FrameState

ORDINARY = (ValueError("x"), MemoryError(), InternalError("x"), ResourceError("x"), OSError(12, ""))
HOPELESS = (
    ContractError("x"),
    ConfigError("x"),
    ModelError("x"),
    PeerLost("x"),
    NotHolder("x"),
    ImportError("x"),
    KeyboardInterrupt(),
    SystemExit(1),
)


@pytest.mark.parametrize("error", ORDINARY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    ("attempt", "retries", "on_failure", "verdict"),
    [
        (1, 2, "mask", Retry(0.05)),
        (2, 2, "mask", Retry(0.1)),
        (3, 2, "mask", Give(FrameState.MASKED)),
        (3, 2, "pass", Give(FrameState.PASSED)),
        (3, 2, "skip", Give(FrameState.DROPPED)),
        (3, 2, "fail", Fail()),
        (1, 0, "mask", Give(FrameState.MASKED)),
        (1, 0, "fail", Fail()),
        (1, 1, "fail", Retry(0.05)),
    ],
)
def test_an_ordinary_error_is_retried_then_the_preset_decides(
    error: BaseException, attempt: int, retries: int, on_failure, verdict
) -> None:
    assert decide(error, attempt, retries, on_failure) == verdict


@pytest.mark.parametrize("error", HOPELESS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("on_failure", ["mask", "pass", "skip", "fail"])
def test_what_no_attempt_can_better_ends_the_run_at_once(error: BaseException, on_failure) -> None:
    assert decide(error, 1, 5, on_failure) == Fail()


@pytest.mark.parametrize(
    ("attempt", "pause"), [(1, 0.05), (2, 0.1), (3, 0.2), (6, 1.6), (7, 2.0), (9000, 2.0)]
)
def test_pauses_double_up_to_two_seconds(attempt: int, pause: float) -> None:
    assert pause_after(attempt) == pytest.approx(pause)


def test_a_quarantined_frame_is_not_tried_again() -> None:
    assert give_up("mask") == Give(FrameState.MASKED)
    assert give_up("fail") == Fail()
