"""One time line for live inputs: over jumps, new connections and replaced workers."""

from __future__ import annotations

import pytest

from mpflow.media.liveclock import SECOND, WINDOW, LiveClock, PacedClock

MS = SECOND // 1000
STEP = 40 * MS


def placed(clock: LiveClock, start: int, count: int, at: int, delay: int = 0) -> list[int]:
    """Places of ``count`` packets in steps from a time stamp on, each ``delay`` after its time."""
    return [
        clock.place(start + n * STEP, start + n * STEP, at + n * STEP + delay) for n in range(count)
    ]


def test_the_first_packet_is_at_zero_and_says_when_that_was() -> None:
    clock = LiveClock(step=STEP)
    assert placed(clock, 777 * SECOND, 3, at=50 * SECOND) == [0, STEP, 2 * STEP]
    assert clock.zero == 50 * SECOND


def test_after_a_new_connection_time_goes_on_by_the_clock() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 5 * SECOND, 10, at=0)
    clock.joined()
    assert placed(clock, 100 * SECOND, 2, at=9 * STEP + 3 * SECOND)[0] == 9 * STEP + 3 * SECOND


def test_a_connection_that_is_back_at_once_is_one_step_further() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 0, 10, at=0)
    clock.joined()
    assert clock.place(0, 0, 9 * STEP + MS) == 10 * STEP


@pytest.mark.parametrize("jump", [-2 * SECOND, -3600 * SECOND, 3600 * SECOND])
def test_a_clock_that_jumps_is_bridged(jump: int) -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 7200 * SECOND, 10, at=0)
    assert placed(clock, 7200 * SECOND + jump, 3, at=10 * STEP) == [n * STEP for n in (10, 11, 12)]


def test_a_pause_in_which_both_clocks_went_on_is_no_jump() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 0, 10, at=0)
    later = 60 * SECOND
    assert clock.place(later, later, later) == later


def test_a_replaced_worker_goes_on_where_the_clock_is() -> None:
    first = LiveClock(step=STEP)
    placed(first, 5 * SECOND, 10, at=10 * SECOND)
    second = LiveClock(step=STEP, zero=first.zero)
    assert second.place(90 * SECOND, 90 * SECOND, 14 * SECOND) == 4 * SECOND
    ahead = LiveClock(step=STEP, zero=first.zero, after=6 * SECOND)
    assert ahead.place(90 * SECOND, 90 * SECOND, 14 * SECOND) == 6 * SECOND + STEP


def test_packets_without_a_time_stamp_come_one_step_after_the_other() -> None:
    clock = LiveClock(step=STEP)
    assert clock.place(None, None, 0) == 0
    assert clock.place(None, None, STEP) == STEP
    assert clock.place(900 * SECOND, 900 * SECOND, 2 * STEP) == 2 * STEP
    assert clock.place(None, None, 3 * STEP) == 3 * STEP


def test_what_the_network_adds_makes_a_picture_older() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 0, 10, at=0)
    place = clock.place(10 * STEP, 10 * STEP, 10 * STEP + 2 * SECOND)
    now = 10 * STEP + 2 * SECOND
    assert now - clock.arrived(place, now) == 2 * SECOND


def test_a_picture_is_never_expected_later_than_now() -> None:
    clock = LiveClock(step=STEP)
    place = clock.place(0, 0, SECOND)
    assert clock.arrived(place + 10 * SECOND, SECOND) == SECOND


def test_pictures_of_a_burst_are_as_old_as_they_are() -> None:
    clock = LiveClock(step=STEP)
    places = [clock.place(n * STEP, n * STEP, 0) for n in range(50)]  # a server's last seconds
    assert [0 - clock.arrived(place, 0) for place in places] == [(49 - n) * STEP for n in range(50)]


def test_delay_that_never_goes_is_not_taken_for_lateness() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 0, 10, at=0)
    count = WINDOW // STEP + 20
    places = placed(clock, 10 * STEP, count, at=10 * STEP, delay=3 * SECOND)
    ages = [3 * SECOND + place - clock.arrived(place, place + 3 * SECOND) for place in places]
    now = places[-1] + 3 * SECOND
    assert clock.arrived(places[-1], now) == now
    assert len(ages) == count


def test_sound_follows_its_pictures_and_waits_for_the_first() -> None:
    clock = LiveClock(step=STEP)
    assert clock.follow(5 * SECOND) is None
    placed(clock, 5 * SECOND, 10, at=0)
    assert clock.follow(5 * SECOND + 7) == 7
    assert clock.follow(50 * SECOND) is None


def test_sound_goes_on_where_pictures_are_far_apart() -> None:
    clock = LiveClock(step=STEP)
    placed(clock, 5 * SECOND, 1, at=0)
    heard = [clock.follow(5 * SECOND + n * SECOND) for n in range(30)]
    assert heard == [n * SECOND for n in range(30)]
    assert clock.follow(300 * SECOND) is None
    assert clock.follow(35 * SECOND) == 30 * SECOND


def test_a_file_is_played_by_its_own_time_stamps() -> None:
    clock = PacedClock(step=STEP)
    clock.joined()
    places = [clock.place(3 * SECOND + n * STEP, 3 * SECOND + n * STEP, 0) for n in range(3)]
    assert places[0] == 3 * SECOND
    assert [clock.due(place, 100 * SECOND) for place in places] == [
        100 * SECOND + n * STEP for n in range(3)
    ]
    assert clock.arrived(places[2], 100 * SECOND) == 100 * SECOND


def test_each_turn_of_a_file_begins_where_the_last_one_ended() -> None:
    clock = PacedClock(step=STEP)
    clock.joined()
    for n in range(3):
        clock.place(SECOND + n * STEP, SECOND + n * STEP, 0)
    clock.joined()
    assert clock.place(SECOND, SECOND, 0) == SECOND + 3 * STEP


def test_a_file_that_is_read_on_keeps_its_time_stamps() -> None:
    clock = PacedClock(step=STEP, after=10 * SECOND)
    clock.joined()
    assert clock.place(9 * SECOND, 9 * SECOND, 0) == 9 * SECOND
    anew = PacedClock(step=STEP, after=10 * SECOND)
    anew.anew()
    anew.joined()
    assert anew.place(0, 0, 0) == 10 * SECOND + STEP


def test_what_is_decoded_on_the_way_to_the_first_picture_sets_no_pace() -> None:
    clock = PacedClock(step=STEP, after=10 * SECOND)
    clock.joined()
    assert clock.arrived(clock.place(8 * SECOND, 8 * SECOND, 0), SECOND) == SECOND
    assert clock.due(10 * SECOND + STEP, 2 * SECOND) == 2 * SECOND
    assert clock.due(10 * SECOND + 2 * STEP, 2 * SECOND) == 2 * SECOND + STEP
