"""Who is overdue, as tables of looks: (second, what is seen) and who is blamed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpflow.policies.hang import HangWatch, Sight
from mpflow.policies.limits import (
    END_FLOOR_S,
    FLOOR_S,
    LIVE_FLOOR_S,
    REMEMBERED,
    UNMEASURED_S,
    Pace,
)
from mpflow.shm import Doing, WorkerStats

ROW = WorkerStats(0, 0, 0, 0, 0, 0, Doing.WORKING, 0)
HOLDER = Sight(worker=2, stage=1, label="detect", pid=77, row=ROW, held=3, limit=10.0)
IDLE = replace(HOLDER, held=0)
LEAVER = replace(HOLDER, held=0, waiting=1)
SOURCE = replace(LEAVER, stage=0, worker=0, label="decode", at_an_end=True)


def watch(*looks: tuple[float, Sight], keeper: int | None = None) -> list[list[str]]:
    """The reasons given at each look."""
    hang = HangWatch()
    return [[late.reason for late in hang.look([s], keeper, now)] for now, s in looks]


def test_a_worker_that_holds_frames_past_its_limit_is_overdue() -> None:
    told = watch((0, HOLDER), (10, HOLDER), (10.1, HOLDER))
    assert told[:2] == [[], []]
    assert told[2] == [
        "stage detect (pid 77) holds 3 frames and has shown no sign of life for 10.1 s (limit 10 s)"
    ]


@pytest.mark.parametrize(
    ("sight", "words"), [(LEAVER, "leaves 1 frame waiting"), (SOURCE, "reads no further")]
)
def test_a_worker_that_leaves_work_untouched_is_overdue(sight: Sight, words: str) -> None:
    assert words in watch((0, sight), (11, sight))[1][0]


@pytest.mark.parametrize(
    "sight",
    [
        IDLE,
        replace(HOLDER, excused=True),
        replace(HOLDER, row=replace(ROW, state=Doing.BUILDING)),
        replace(HOLDER, row=replace(ROW, state=Doing.WAITING)),
    ],
    ids=["nothing to do", "starting or closing", "building", "waiting for the world outside"],
)
def test_one_without_work_or_with_an_excuse_is_never_overdue(sight: Sight) -> None:
    assert watch((0, sight), (1e6, sight), (2e6, sight)) == [[], [], []]


@pytest.mark.parametrize(
    "moved",
    [
        {"heartbeat_ns": 1},
        {"frames": 1},
        {"batches": 1},
        {"busy_ns": 1},
        {"wait_input_ns": 1},
        {"wait_slot_ns": 1},
        {"damaged": 1},
        {"state": Doing.IDLE},
    ],
)
def test_any_change_of_its_row_is_a_sign_of_life(moved: dict[str, int]) -> None:
    alive = replace(HOLDER, row=replace(ROW, **moved))
    assert watch((0, HOLDER), (9, alive), (18, alive)) == [[], [], []]
    assert watch((0, HOLDER), (9, alive), (19.5, alive))[2]


def test_a_stage_that_holds_frames_while_it_waits_for_more_is_not_overdue() -> None:
    looks = [
        (float(s), replace(HOLDER, row=replace(ROW, wait_input_ns=s * 10**9))) for s in range(100)
    ]
    assert not any(watch(*looks))


def test_the_clock_starts_when_the_work_comes_and_after_the_excuse() -> None:
    assert watch((0, IDLE), (100, IDLE), (109, LEAVER), (110, LEAVER)) == [[], [], [], []]
    building = replace(HOLDER, row=replace(ROW, state=Doing.BUILDING))
    assert watch((0, building), (100, building), (101, HOLDER), (111, HOLDER)) == [[]] * 4


def test_only_the_worker_that_hangs_is_blamed() -> None:
    hang = HangWatch()
    others = [replace(HOLDER, worker=w, pid=w) for w in (3, 4)]
    hang.look([HOLDER, *others], None, 0.0)
    moved = [replace(s, row=replace(ROW, frames=1)) for s in others]
    assert [late.worker for late in hang.look([HOLDER, *moved], None, 11.0)] == [2]


def test_time_in_which_the_supervisor_was_stopped_is_nobodys_fault() -> None:
    hang = HangWatch()
    hang.look([HOLDER], None, 0.0)
    hang.forgive(3600.0)
    assert hang.look([HOLDER], None, 3609.0) == []
    assert hang.look([HOLDER], None, 3610.5)


def test_whoever_keeps_the_lock_is_blamed_alone() -> None:
    hang = HangWatch()
    keeper = replace(IDLE, worker=5, pid=99, label="track")
    told = [hang.look([HOLDER, keeper], 99, float(now)) for now in range(0, 60, 2)]
    assert not any(told[:3])
    assert [late.worker for late in told[3]] == [5]
    assert "stage track (pid 99) has kept the ring's lock for 6.0 s" in told[3][0].reason
    assert all(late.worker == 5 for looks in told for late in looks)
    # the kernel freed it with the keeper's death: the others have their full time again
    assert hang.look([HOLDER], None, 61.0) == []
    assert hang.look([HOLDER], None, 68.0) == []
    assert hang.look([HOLDER], None, 68.5)


def test_a_lock_that_goes_from_hand_to_hand_is_no_hang() -> None:
    hang = HangWatch()
    both = [replace(IDLE, worker=w, pid=w) for w in (1, 2)]
    assert not any(hang.look(both, 1 + now % 2, float(now)) for now in range(60))


def test_a_busy_worker_that_happens_to_have_the_lock_at_every_look_is_no_hang() -> None:
    hang = HangWatch()
    for now in range(60):
        busy = replace(HOLDER, row=replace(ROW, frames=now))
        assert hang.look([busy], HOLDER.pid, float(now)) == []


def test_a_lock_kept_while_everybody_was_stopped_is_forgiven() -> None:
    hang = HangWatch()
    hang.look([HOLDER], 77, 0.0)
    hang.forgive(3600.0)
    assert hang.look([HOLDER], 77, 3601.0) == []
    assert hang.look([HOLDER], 77, 3606.0)


def test_a_lock_kept_by_a_stranger_is_blamed_on_nobody() -> None:
    hang = HangWatch()
    assert not any(hang.look([HOLDER], 12345, float(now)) for now in range(60))


@pytest.mark.parametrize(
    ("asked", "at_an_end", "batches_s", "limit"),
    [
        (3.0, False, [100.0], 3.0),
        (0.0, False, [], UNMEASURED_S),
        (0.0, True, [], UNMEASURED_S),
        (0.0, False, [0.01], FLOOR_S),
        (0.0, True, [0.01], END_FLOOR_S),
        (0.0, False, [2.0, 0.01, 0.5], 40.0),
        (0.0, True, [2.0], END_FLOOR_S),
    ],
)
def test_a_limit_is_what_was_asked_or_follows_the_slowest_pace(
    asked: float, at_an_end: bool, batches_s: list[float], limit: float
) -> None:
    pace, row = Pace(), ROW
    pace.note(2, 1, row)
    for seconds in batches_s:
        row = replace(row, batches=row.batches + 1, busy_ns=row.busy_ns + int(seconds * 1e9))
        pace.note(2, 1, row)
    assert pace.limit(1, asked=asked, at_an_end=at_an_end) == pytest.approx(limit)


def test_the_pace_of_an_end_counts_frames_and_all_workers_of_a_stage_share_it() -> None:
    pace = Pace()
    for worker, seconds in ((0, 1), (1, 4)):
        pace.note(worker, 1, ROW)
        pace.note(worker, 1, replace(ROW, frames=2, busy_ns=seconds * 10**9))
    assert pace.limit(1, asked=0.0, at_an_end=False) == pytest.approx(40.0)


def test_a_new_job_whose_counters_begin_anew_disturbs_no_pace() -> None:
    pace = Pace()
    pace.note(0, 1, replace(ROW, frames=50, busy_ns=10**9))
    pace.note(0, 1, ROW)
    assert pace.limit(1, asked=0.0, at_an_end=False) == UNMEASURED_S


def test_a_slow_stretch_is_forgotten_after_some_thousand_batches() -> None:
    pace, row, limits = Pace(), ROW, []
    pace.note(2, 1, row)
    for seconds in (10.0, *[0.01] * (2 * REMEMBERED)):
        row = replace(row, batches=row.batches + 1, busy_ns=row.busy_ns + int(seconds * 1e9))
        pace.note(2, 1, row)
        limits.append(pace.limit(1, asked=0.0, at_an_end=False))
    assert limits[: REMEMBERED + 1] == [200.0] * (REMEMBERED + 1)
    assert limits[-1] == FLOOR_S


def test_a_live_run_waits_for_a_hung_stage_less_long() -> None:
    busy = replace(HOLDER, row=replace(ROW, batches=10, busy_ns=10**8), limit=0.0)

    def told(pace: Pace) -> list[bool]:
        hang = HangWatch(pace=pace)
        hang.look([HOLDER], None, 0.0)
        return [bool(hang.look([busy], None, now)) for now in (1.0, 5.5, 6.5, 15.5, 16.5)]

    assert told(Pace()) == [False, False, False, False, True]
    assert told(Pace(LIVE_FLOOR_S)) == [False, False, True, True, True]
