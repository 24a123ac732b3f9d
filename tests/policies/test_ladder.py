"""The ladder: how rungs are read, and when they are climbed and taken back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpflow.errors import ConfigError
from mpflow.policies.ladder import Given, LadderState, Rung, choose_level, in_force, parse_ladder
from mpflow.policies.load import Load
from mpflow.policies.pressure import Pressure
from mpflow.policies.single_frame import Wish
from mpflow.tokens import Mode

TUNABLE = {"receive": (), "detect": ("every", "size"), "enhance": (), "redact": (), "send": ()}
FIXED = {"receive": "it reads the input", "redact": "it hides people"}

HEAVY = Load(lost=0.5, demand=2.0)
BORNE = Load(demand=0.9)
LIGHT = Load(demand=0.3)
FILE_LIGHT = Load()
MEMORY = Pressure(memory=True, calm=False, why="95% of the memory is in use")
TENSE = Pressure(calm=False)
NONE = Pressure()
SINGLE, THROUGHPUT = Mode.SINGLE_FRAME, Mode.THROUGHPUT


def test_rungs_are_read_as_they_are_written() -> None:
    rungs = parse_ladder(["detect.every=2", " skip  enhance", "detect.size = 320x192"], TUNABLE, {})
    assert rungs == (
        Rung("detect", "every", "2"),
        Rung("enhance"),
        Rung("detect", "size", "320x192"),
    )
    assert [rung.note for rung in rungs] == ["detect.every=2", "-enhance", "detect.size=320x192"]


@pytest.mark.parametrize(
    ("text", "says", "cure"),
    [
        ("detect.every", "is no rung", "STAGE.OPTION=VALUE"),
        ("detect.every=", "is no rung", "STAGE.OPTION=VALUE"),
        ("every=2", "is no rung", "skip STAGE"),
        ("skip", "is no rung", "skip STAGE"),
        ("", "is no rung", "skip STAGE"),
        ("skip blur", "there is no stage 'blur'", "receive, detect, enhance"),
        ("blur.size=3", "there is no stage 'blur'", "receive, detect, enhance"),
        ("detect.model=x", "detect.model cannot be changed", "detect.every, detect.size"),
        ("redact.style=x", "redact.style cannot be changed", "of redact, nothing can"),
        ("skip redact", "redact cannot be left out, since it hides people", "something else"),
    ],
)
def test_what_is_no_rung_of_this_pipeline_is_named_with_a_cure(
    text: str, says: str, cure: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_ladder(["detect.every=2", text], TUNABLE, FIXED)
    assert says in str(caught.value)
    assert cure in (caught.value.cure or "")


@pytest.mark.parametrize(
    ("level", "given"),
    [
        (0, Given()),
        (1, Given((), {"detect": {"every": "2"}}, ("detect.every=2",))),
        (2, Given(("enhance",), {"detect": {"every": "2"}}, ("detect.every=2", "-enhance"))),
        (3, Given(("enhance",), {"detect": {"every": "4"}}, ("detect.every=4", "-enhance"))),
        (9, Given(("enhance",), {"detect": {"every": "4"}}, ("detect.every=4", "-enhance"))),
    ],
)
def test_rungs_add_up_and_a_later_one_overrides(level: int, given: Given) -> None:
    rungs = (Rung("detect", "every", "2"), Rung("enhance"), Rung("detect", "every", "4"))
    assert in_force(rungs, level) == given


class Climb:
    """A run looked at ten times a second; ``told`` has each new level with its second."""

    def __init__(self, top: int = 3) -> None:
        self.state, self.top, self.ticks = LadderState(), top, 0
        self.told: list[tuple[float, int]] = []
        self.reasons: list[str] = []

    def see(
        self,
        load: Load,
        seconds: float = 0.1,
        pressure: Pressure = NONE,
        *,
        mode: Mode = SINGLE,
        wish: Wish = Wish.AUTO,
    ) -> Climb:
        for _ in range(round(seconds * 10)):
            self.state, change = choose_level(
                self.state,
                load,
                pressure,
                self.ticks / 10,
                top=self.top,
                mode=mode,
                wish=wish,
            )
            if change is not None:
                self.told.append((self.ticks / 10, change.level))
                self.reasons.append(change.reason)
            self.ticks += 1
        return self


def test_it_is_climbed_one_rung_at_a_time_when_single_frame_mode_did_not_help() -> None:
    climb = Climb().see(HEAVY, 60.0)
    assert climb.told == [(5.0, 1), (pytest.approx(10.1), 2), (pytest.approx(15.2), 3)]
    assert climb.reasons[0] == "more is given up: 50% of the frames are dropped"


def test_it_is_not_climbed_before_single_frame_mode_was_tried() -> None:
    assert Climb().see(HEAVY, 60.0, mode=THROUGHPUT).told == []


def test_it_is_climbed_where_single_frame_mode_is_not_wanted() -> None:
    assert Climb().see(HEAVY, 5.2, mode=THROUGHPUT, wish=Wish.THROUGHPUT).told == [(5.0, 1)]


def test_it_is_climbed_under_pressure_in_any_mode() -> None:
    climb = Climb().see(LIGHT, 5.2, MEMORY, mode=THROUGHPUT)
    assert (climb.told, climb.reasons) == (
        [(5.0, 1)],
        ["more is given up: 95% of the memory is in use"],
    )


@pytest.mark.parametrize("load", [HEAVY, BORNE, LIGHT])
def test_without_rungs_nothing_is_given_up(load: Load) -> None:
    assert Climb(top=0).see(load, 100.0, MEMORY).told == []


def test_rungs_are_taken_back_one_at_a_time_and_slower() -> None:
    climb = Climb().see(HEAVY, 11.0).see(LIGHT, 100.0)
    assert [level for _, level in climb.told] == [1, 2, 1, 0]
    (_, (second, _), (third, _), (fourth, _)) = climb.told
    assert third - second > 20.0
    assert fourth - third > 20.0
    assert climb.reasons[-1] == "less is given up: 20 s of calm"


@pytest.mark.parametrize(
    ("load", "pressure"),
    [(BORNE, NONE), (LIGHT, TENSE), (Load(backlog=0.4), NONE), (HEAVY, NONE)],
    ids=["nothing to spare", "no memory to spare", "a queue", "a load"],
)
def test_nothing_is_taken_back_without_something_to_spare(load: Load, pressure: Pressure) -> None:
    assert Climb(top=1).see(HEAVY, 6.0).see(load, 500.0, pressure).told == [(5.0, 1)]


def came(demand: float, arrivals: float = 30.0, lost: float = 0.0) -> Load:
    return Load(lost=lost, demand=demand, arrivals=arrivals)


@pytest.mark.parametrize(
    ("then", "seconds"),
    [
        (came(0.6), 120.0),
        (came(0.43), 120.0),
        (came(0.42), 20.0),
        (came(0.3, 15.0), 20.0),
    ],
    ids=["no", "not quite", "yes", "fewer frames come"],
)
def test_a_rung_that_seems_to_be_needed_is_kept_for_longer(then: Load, seconds: float) -> None:
    # it halved what was asked for: from 1.2 times to 0.6 times what can be done
    climb = Climb(top=1).see(came(1.2, lost=0.2), 5.1).see(came(0.6), 5.0)
    climb.see(then, 200.0)
    assert [level for _, level in climb.told] == [1, 0]
    assert climb.told[1][0] - climb.told[0][0] == pytest.approx(seconds, abs=6.0)


def test_a_load_that_ends_just_when_a_rung_is_climbed_is_not_taken_for_its_work() -> None:
    climb = Climb(top=1).see(came(2.0, 60.0, lost=0.5), 5.1).see(came(0.5, 15.0), 60.0)
    assert [level for _, level in climb.told] == [1, 0]


def test_a_return_that_brings_the_trouble_back_makes_the_next_one_later() -> None:
    climb = Climb(top=1)
    calm = []
    for _ in range(8):
        climb.see(HEAVY, 5.2)
        before = climb.ticks
        while climb.state.level:
            climb.see(FILE_LIGHT)
        calm.append(round((climb.ticks - before) / 10))
    assert calm == [20, 40, 80, 160, 320, 640, 640, 640]


def test_a_return_that_lasted_is_forgotten() -> None:
    climb = Climb(top=1)
    for _ in range(3):
        climb.see(HEAVY, 5.2).see(FILE_LIGHT, 200.0)
    assert climb.state.calm_for[1] == 20.0


def test_when_nothing_more_may_be_given_up_all_comes_back_at_once() -> None:
    climb = Climb().see(HEAVY, 60.0)
    climb.top = 0
    assert climb.see(HEAVY, 1.0).told[-1] == (60.0, 0)


@given(st.lists(st.floats(0.0, 0.12), max_size=400))
def test_drops_around_the_mark_climb_but_never_swing(lost: list[float]) -> None:
    climb = Climb()
    for each in lost:
        climb.see(Load(lost=each, demand=1.0), 0.5)
    levels = [level for _, level in climb.told]
    assert levels == sorted(levels)


loads = st.sampled_from([HEAVY, BORNE, LIGHT, FILE_LIGHT])


@given(st.lists(st.tuples(loads, st.integers(1, 300)), max_size=40))
def test_however_the_load_jumps_each_change_is_one_rung_and_takes_its_time(
    steps: list[tuple[Load, int]],
) -> None:
    climb = Climb()
    for load, ticks in steps:
        climb.see(load, ticks / 10)
    before = (0.0, 0)
    for second, level in climb.told:
        assert abs(level - before[1]) == 1
        assert second - before[0] > (4.9 if level > before[1] else 19.9)
        before = (second, level)
