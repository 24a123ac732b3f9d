"""Backoff after deaths, storms, and what is forgiven."""

from __future__ import annotations

import pytest

from mpflow.policies.restart import Restarts, Storm, delay_after


@pytest.mark.parametrize(
    ("deaths", "delay"), [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.4), (7, 3.2), (8, 5.0), (2000, 5.0)]
)
def test_the_first_restart_comes_at_once_and_the_next_ones_later_and_later(
    deaths: int, delay: float
) -> None:
    assert delay_after(deaths) == pytest.approx(delay)


def test_five_deaths_of_one_stage_without_progress_are_a_storm() -> None:
    restarts = Restarts()
    delays = [restarts.note_death("detect", now) for now in (10.0, 11.0, 12.0, 13.0)]
    assert delays == [0.0, 0.1, 0.2, 0.4]
    assert restarts.note_death("detect", 17.5) == Storm("detect", 5, 7.5)


def test_each_stage_has_deaths_of_its_own() -> None:
    restarts = Restarts(limit=2)
    assert restarts.note_death("detect", 0.0) == 0.0
    assert restarts.note_death("redact", 0.0) == 0.0
    assert isinstance(restarts.note_death("redact", 1.0), Storm)


def test_durable_progress_forgives_every_stage() -> None:
    restarts = Restarts()
    for now in range(4):
        restarts.note_death("detect", float(now))
    restarts.note_death("redact", 4.0)
    restarts.note_progress()
    assert (restarts.deaths("detect"), restarts.deaths("redact")) == (0, 0)
    assert restarts.note_death("detect", 5.0) == 0.0


@pytest.mark.parametrize(("frames", "left"), [(0, 4), (1, 2), (2, 0), (3, 0)])
def test_deaths_that_a_quarantined_frame_explains_do_not_count(frames: int, left: int) -> None:
    restarts = Restarts()
    for now in range(4):
        restarts.note_death("detect", float(now))
    restarts.note_quarantine("detect", frames)
    assert restarts.deaths("detect") == left


def test_a_quarantine_of_a_stage_that_never_died_is_nothing() -> None:
    restarts = Restarts()
    restarts.note_quarantine("detect")
    assert restarts.note_death("detect", 0.0) == 0.0


def test_a_film_full_of_killers_is_no_storm_as_long_as_each_is_quarantined() -> None:
    restarts = Restarts()
    for now in (0.0, 1.0, 2.0):
        restarts.note_death("detect", now)
    for frame in range(50):
        assert restarts.note_death("detect", 10.0 + frame) == pytest.approx(0.4)
        assert restarts.note_death("detect", 10.5 + frame, quarantined=1) == pytest.approx(0.2)
