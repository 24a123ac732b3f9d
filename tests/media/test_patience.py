"""When a connection that lives is as good as lost: told by moments, without any clock."""

from __future__ import annotations

import av
import pytest

from mpflow.media.patience import FIRST_PICTURE_S, MARGIN_S, Unseen, Watch

READING = 5.0
LIMIT_S = READING + 1


@pytest.fixture
def watch() -> Watch:
    """One that was dialled at 100 and is open since 101."""
    watch = Watch(READING)
    watch.dialled(100.0, opening=10.0)
    watch.opened(101.0)
    return watch


def pictures(watch: Watch, *moments: float) -> None:
    for moment in moments:
        watch.came(moment)
        watch.seen(moment)


def sound(watch: Watch, until: float) -> Exception | None:
    """What is said while packets come and no picture."""
    watch.came(until)
    return watch.trouble(until, skips=False)


def test_a_connection_has_to_open_in_time() -> None:
    watch = Watch(READING)
    watch.dialled(100.0, opening=10.0)
    assert watch.trouble(110.0, skips=False) is None
    assert isinstance(watch.trouble(110.1, skips=False), av.ExitError)


def test_an_input_of_which_nothing_comes_is_lost(watch: Watch) -> None:
    pictures(watch, 102.0)
    assert watch.trouble(102.0 + READING, skips=False) is None
    assert isinstance(watch.trouble(102.1 + READING + MARGIN_S, skips=False), av.ExitError)


def test_the_first_picture_may_take_longer_than_the_others(watch: Watch) -> None:
    assert sound(watch, 101.0 + FIRST_PICTURE_S) is None
    assert isinstance(sound(watch, 102.1 + FIRST_PICTURE_S), Unseen)


def test_pictures_that_stop_while_packets_come_are_a_loss(watch: Watch) -> None:
    pictures(watch, *(102 + n / 25 for n in range(100)))
    last = 102 + 99 / 25
    assert sound(watch, last + LIMIT_S) is None
    assert str(sound(watch, last + LIMIT_S + 0.1)) == "no picture came for 5 s"


def test_pictures_that_are_seldom_are_waited_for(watch: Watch) -> None:
    watch.step = 15.0
    pictures(watch, 102.0)
    assert sound(watch, 150.0) is None


def test_what_is_seldom_is_learnt_from_the_pictures(watch: Watch) -> None:
    pictures(watch, 102.0, 106.0, 110.0, 114.0)
    assert sound(watch, 114.0 + 15.0) is None
    assert isinstance(sound(watch, 114.0 + 17.1), Unseen)


def test_few_pictures_do_not_tell_yet_how_often_they_come(watch: Watch) -> None:
    pictures(watch, 102.0, 122.0)
    assert sound(watch, 122.0 + FIRST_PICTURE_S) is None
    pictures(watch, 142.0)
    assert sound(watch, 142.0 + 80.0) is None


def test_silence_is_told_as_such_and_not_as_a_picture_that_is_missing(watch: Watch) -> None:
    pictures(watch, 102.0, 102.04, 102.08)
    watch.came(108.0)
    assert watch.trouble(108.6, skips=False) is None
    watch.came(109.2)
    assert isinstance(watch.trouble(109.2, skips=False), Unseen)


def test_pictures_left_out_up_to_a_key_frame_are_no_loss_for_a_while(watch: Watch) -> None:
    pictures(watch, 102.0, 102.04, 102.08)
    for now in range(103, 132):
        watch.came(now)
        assert watch.trouble(now, skips=True) is None
    assert watch.trouble(131.5, skips=False) is None
    watch.came(140.0)
    assert isinstance(watch.trouble(140.0, skips=True), Unseen)


def test_time_in_which_nobody_looked_does_not_count(watch: Watch) -> None:
    pictures(watch, 102.0, 102.04, 102.08)
    watch.excused(200.0)
    assert sound(watch, 200.0 + READING) is None
    pictures(watch, 205.0)
    assert isinstance(sound(watch, 231.1), Unseen)
