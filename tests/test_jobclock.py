"""A job's clock: deadlines, silences, and seconds that were nobody's fault."""

from mpflow.jobclock import JobClock


def test_without_a_deadline_nothing_passes() -> None:
    assert not JobClock().passed(1e9)


def test_a_deadline_passes_and_moves_when_the_supervisor_was_stopped() -> None:
    clock = JobClock()
    clock.allow(5, now=100)
    assert not clock.passed(105)
    assert clock.passed(105.1)
    clock.forgive(60)
    assert not clock.passed(165)
    assert clock.passed(165.1)


def test_silence_counts_from_the_first_look_and_anew_for_another_wait() -> None:
    clock = JobClock()
    assert not clock.silent(("detect",), 10, now=50)
    assert not clock.silent(("detect",), 10, now=60)
    assert clock.silent(("detect",), 10, now=60.1)
    assert not clock.silent(("encode",), 10, now=60.2)
    clock.forgive(100)
    assert not clock.silent(("encode",), 10, now=170)
    assert clock.silent(("encode",), 10, now=170.3)
