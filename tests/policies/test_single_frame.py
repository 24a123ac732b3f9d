"""Single-frame mode: when it is entered and left, and that it does not swing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.policies.load import Load
from mpflow.policies.pressure import Pressure
from mpflow.policies.single_frame import ModeState, Wish, choose_mode
from mpflow.tokens import Mode

HEAVY, MIDDLING, LIGHT = Load(backlog=0.9, where="detect"), Load(backlog=0.4), Load()
SHORT_OF_MEMORY = Pressure(memory=True, calm=False, why="95% of the memory is in use")
SHORT_OF_CPU = Pressure(cpu=True, calm=False, why="99% of the CPU time is in use")
NONE = Pressure()


class Run:
    """A run looked at ten times a second; ``told`` has each change with its second."""

    def __init__(self, *, allowed: bool = True, max_latency: float = 2.0) -> None:
        self.state = ModeState()
        self.ticks = 0
        self.told: list[tuple[float, Mode]] = []
        self.reasons: list[str] = []
        self.allowed = allowed
        self.max_latency = max_latency

    def see(
        self,
        load: Load,
        seconds: float = 0.1,
        pressure: Pressure = NONE,
        *,
        wish: Wish = Wish.AUTO,
        level: int = 0,
    ) -> Run:
        for _ in range(round(seconds * 10)):
            self.state, change = choose_mode(
                self.state,
                load,
                pressure,
                self.ticks / 10,
                wish=wish,
                allowed=self.allowed,
                level=level,
                max_latency=self.max_latency,
            )
            if change is not None:
                self.told.append((self.ticks / 10, change.mode))
                self.reasons.append(change.reason)
            self.ticks += 1
        return self


SINGLE, THROUGHPUT = Mode.SINGLE_FRAME, Mode.THROUGHPUT


@pytest.mark.parametrize(
    ("max_latency", "after"), [(0.1, 0.3), (0.5, 0.3), (1.0, 0.5), (2.0, 1.0), (60.0, 2.0)]
)
def test_it_is_entered_after_half_of_the_largest_latency(max_latency: float, after: float) -> None:
    run = Run(max_latency=max_latency).see(HEAVY, 10.0)
    assert run.told == [(pytest.approx(after), SINGLE)]
    assert run.reasons == ["single-frame mode: frames wait for detect in 90% of the ring"]


@pytest.mark.parametrize("load", [LIGHT, MIDDLING])
def test_a_load_below_the_high_mark_never_enters_it(load: Load) -> None:
    assert Run().see(load, 100.0).told == []


def test_a_burst_does_not_enter_it() -> None:
    run = Run()
    for _ in range(20):
        run.see(HEAVY, 0.8).see(LIGHT, 2.0)
    assert run.told == []


def test_it_is_left_after_five_seconds_of_light_load() -> None:
    run = Run().see(HEAVY, 3.0).see(LIGHT, 20.0)
    assert run.told == [(1.0, SINGLE), (pytest.approx(7.9), THROUGHPUT)]
    assert run.reasons[1] == "throughput mode: the load has been light for 5 s"


@pytest.mark.parametrize("load", [MIDDLING, HEAVY, Load(lost=0.3, demand=2.0)])
def test_it_stays_while_the_load_is_not_light(load: Load) -> None:
    assert Run().see(HEAVY, 3.0).see(load, 200.0).told == [(1.0, SINGLE)]


def test_it_stays_while_the_ladder_is_climbed() -> None:
    run = Run().see(HEAVY, 3.0).see(LIGHT, 50.0, level=1)
    assert len(run.told) == 1
    assert len(run.see(LIGHT, 5.2).told) == 2


def test_a_return_that_did_not_last_makes_the_next_one_later() -> None:
    run = Run()
    for _ in range(8):
        run.see(HEAVY, 2.0)
        while run.state.mode is SINGLE:
            run.see(LIGHT)
    entered = [second for second, mode in run.told if mode is SINGLE]
    left = [second for second, mode in run.told if mode is THROUGHPUT]
    stayed = [round(b - a - 1) for a, b in zip(entered, left, strict=True)]
    assert stayed == [5, 10, 20, 40, 80, 80, 80, 80]


def test_a_return_that_lasted_is_forgotten() -> None:
    run = Run().see(HEAVY, 2.0).see(LIGHT, 10.0).see(HEAVY, 2.0).see(LIGHT, 100.0)
    run.see(HEAVY, 2.0)
    assert run.state.leave_after == 5.0


@pytest.mark.parametrize(("pressure", "told"), [(SHORT_OF_MEMORY, 1), (SHORT_OF_CPU, 0)])
def test_lack_of_memory_enters_it_and_lack_of_cpu_does_not(pressure: Pressure, told: int) -> None:
    run = Run().see(LIGHT, 10.0, pressure)
    assert len(run.told) == told
    assert run.reasons == ["single-frame mode: 95% of the memory is in use"][:told]


def test_a_run_that_may_not_be_degraded_never_enters_it_by_itself() -> None:
    assert Run(allowed=False).see(HEAVY, 100.0).told == []


@pytest.mark.parametrize("allowed", [True, False])
def test_what_is_asked_for_happens_at_once_and_stays(allowed: bool) -> None:
    run = Run(allowed=allowed).see(LIGHT, 20.0, wish=Wish.SINGLE)
    run.see(HEAVY, 20.0, wish=Wish.THROUGHPUT)
    assert run.told == [(0.0, SINGLE), (20.0, THROUGHPUT)]
    assert run.reasons[0] == "single-frame mode: it was asked for"


def test_back_to_auto_goes_on_from_the_mode_that_was_asked_for() -> None:
    run = Run().see(LIGHT, 1.0, wish=Wish.SINGLE).see(HEAVY, 60.0)
    assert run.told == [(0.0, SINGLE)]
    assert len(run.see(LIGHT, 6.0).told) == 2


@given(st.lists(st.tuples(st.floats(0.3, 0.7), st.integers(1, 20)), max_size=100))
def test_noise_around_the_high_mark_alone_never_makes_it_leave(
    steps: list[tuple[float, int]],
) -> None:
    run = Run()
    for backlog, ticks in steps:
        run.see(Load(backlog=backlog, where="x"), ticks / 10)
    assert len(run.told) <= 1


@given(st.lists(st.tuples(st.sampled_from([HEAVY, MIDDLING, LIGHT]), st.integers(1, 60))))
def test_however_the_load_jumps_the_mode_keeps_its_dwell_times(
    steps: list[tuple[Load, int]],
) -> None:
    run = Run()
    for load, ticks in steps:
        run.see(load, ticks / 10)
    seconds = [second for second, _ in run.told]
    stays = [after - before for before, after in pairwise(seconds)]
    assert all(stay > 4.9 for stay in stays[0::2])
    assert all(stay > 0.9 for stay in stays[1::2])
