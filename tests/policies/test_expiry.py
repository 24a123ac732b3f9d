"""Who keeps a frame for too long, as tables of looks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpflow.policies.expiry import ExpiryState, HeldFrame, Kill, judge

FRAME = HeldFrame(slot=3, seq=40, worker=2, label="detect", age=0.0)


def watch(
    seconds: float, frames: list[HeldFrame], *, ttl: float = 30.0, live: bool = False
) -> list[tuple[float, Kill]]:
    """Every kill with its second; frames grow older, in the same hands all the time."""
    state, told = ExpiryState(), []
    for tick in range(round(seconds * 2) + 1):
        now = tick / 2
        older = [replace(frame, age=frame.age + now) for frame in frames]
        state, kills = judge(state, older, now, ttl=ttl, live=live)
        told += [(now, kill) for kill in kills]
    return told


def test_in_a_file_run_each_holder_has_the_time_to_live_for_itself() -> None:
    reason = "stage detect keeps frame 40, which has been there for 30 s (ttl 30 s)"
    assert watch(40.0, [replace(FRAME, age=500.0)]) == [(30.5, Kill(2, 40, reason))]


def test_in_a_live_run_a_holder_may_let_go_of_an_expired_frame_itself() -> None:
    reason = "stage detect keeps frame 40, which is 36 s old (ttl 30 s)"
    assert watch(36.0, [FRAME], live=True) == [(35.5, Kill(2, 40, reason))]


def test_in_a_live_run_whoever_gets_a_frame_late_has_a_moment_too() -> None:
    assert [second for second, _ in watch(9.0, [replace(FRAME, age=33.0)], live=True)] == [5.5]


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    "frames",
    [[], [replace(FRAME, excused=True, age=999.0)]],
    ids=["nothing is held", "who builds, or waits for what does not come"],
)
def test_nobody_is_killed_without_a_reason(frames: list[HeldFrame], live: bool) -> None:
    assert watch(500.0, frames, live=live) == []


@pytest.mark.parametrize("live", [False, True])
def test_without_a_time_to_live_nothing_expires(live: bool) -> None:
    assert watch(900.0, [FRAME], ttl=0.0, live=live) == []


def test_a_frame_that_goes_from_hand_to_hand_is_kept_by_nobody() -> None:
    state = ExpiryState()
    for now in range(200):
        held = [replace(FRAME, worker=now // 20)]
        state, kills = judge(state, held, float(now), ttl=30.0, live=False)
        assert kills == ()


def test_time_in_which_the_supervisor_was_stopped_is_nobodys_fault() -> None:
    state, _ = judge(ExpiryState(), [FRAME], 0.0, ttl=30.0, live=False)
    _, kills = judge(state, [FRAME], 9000.0, ttl=30.0, live=False)
    assert kills == ()


def test_a_worker_is_killed_once_for_its_oldest_frame() -> None:
    others = [replace(FRAME, slot=4, seq=41), replace(FRAME, slot=9, seq=39)]
    elsewhere = replace(FRAME, slot=5, seq=38, worker=7)
    told = watch(31.0, [FRAME, *others, elsewhere])
    assert [(kill.worker, kill.seq) for _, kill in told] == [(7, 38), (2, 39)]


def test_who_is_to_be_killed_is_not_told_again_while_it_dies() -> None:
    assert [second for second, _ in watch(65.0, [FRAME])] == [30.5, 61.5]
