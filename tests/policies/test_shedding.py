"""From which age frames are dropped, as tables of what was measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sights import snapshot, spread, stage

from mpflow.policies.shedding import CLOSED_S, Limits, ShedState, choose_limits, ready_limits
from mpflow.snapshot import Snapshot
from mpflow.tokens import Mode

SHUT = pytest.approx(CLOSED_S)


def pipeline(detect: float = 0.0, redact: float = 0.0, send: float = 0.0, **changes) -> Snapshot:
    views = [stage("receive"), stage("detect", detect), stage("redact", redact)]
    return snapshot([*views, stage("send", send)], **changes)


def limits(seen: Snapshot, state: ShedState | None = None, **options) -> dict[str, float]:
    told = choose_limits(state or ShedState(), seen, max_latency=2.0, **options)[1]
    assert told is not None
    return {name: round(after, 3) for name, after in told.after.items()}


def test_before_anything_is_measured_half_of_the_time_is_taken_to_be_needed() -> None:
    assert limits(pipeline()) == {"detect": 1.233, "redact": 1.567, "send": 2.0}


def test_a_limit_leaves_time_for_this_and_all_later_stages() -> None:
    seen = pipeline(0.4, 0.1, 0.05)
    assert limits(seen) == {"detect": 1.35, "redact": 1.75, "send": 1.95}


def test_nine_of_ten_frames_make_it() -> None:
    slow = stage("detect", spread(0.1, p90=0.8))
    seen = snapshot([stage("receive"), slow, stage("send")])
    assert limits(seen)["detect"] == pytest.approx(1.1)


@pytest.mark.parametrize(("count", "limit"), [(4, 1.4), (5, 1.5), (19, 1.5), (20, 0.9)])
def test_a_slow_first_frame_does_not_count_for_long(count: int, limit: float) -> None:
    first = stage("detect", spread(0.2, count, p90=1.0))
    assert limits(snapshot([stage("receive"), first, stage("send")]))["detect"] == limit


def test_what_was_measured_is_remembered_while_no_frames_come() -> None:
    state, _ = choose_limits(ShedState(), pipeline(0.4, 0.1, 0.05), max_latency=2.0)
    state, told = choose_limits(state, pipeline(), max_latency=2.0)
    assert told is None
    assert state.after["detect"] == pytest.approx(1.35)


def test_a_stage_that_is_left_out_needs_nothing() -> None:
    assert limits(pipeline(0.4, 0.6, 0.05), skip=["redact"])["detect"] == 1.45


def test_small_differences_are_not_told() -> None:
    state, _ = choose_limits(ShedState(), pipeline(0.4, 0.1, 0.05), max_latency=2.0)
    assert choose_limits(state, pipeline(0.45, 0.12, 0.05), max_latency=2.0)[1] is None
    assert choose_limits(state, pipeline(0.55, 0.12, 0.05), max_latency=2.0)[1] is not None


def test_a_pipeline_that_is_too_slow_says_so_once_and_still_lets_fresh_frames_in() -> None:
    state, told = choose_limits(ShedState(), pipeline(1.5, 1.0, 0.05), max_latency=2.0)
    assert told is not None
    assert told.after["detect"] == pytest.approx(0.2)
    assert told.impossible == (
        "a frame takes 2.5 s of work, 1.5 s of it at detect, and max_latency is 2 s:"
        " most frames are dropped"
    )
    for detect in (1.1, 0.8, 1.0, 1.2, 0.9):  # around the mark it is not told again
        state, told = choose_limits(state, pipeline(detect, 1.0, 0.05), max_latency=2.0)
        assert told is None or not told.impossible
    state, _ = choose_limits(state, pipeline(0.1, 0.1, 0.05), max_latency=2.0)
    assert not state.impossible


def queued(at: str, depth: int, **changes) -> Snapshot:
    """A pipeline whose stages take 100 ms, one of them with a queue, and always busy."""
    views = [
        stage(
            name,
            0.1,
            rate=10.0,
            busy_ratio=1.0 if name == at else 0.5,
            depth=depth if name == at else 0,
        )
        for name in ("receive", "detect", "redact", "send")
    ]
    return snapshot(views, **{"free": 64, **changes})


@pytest.mark.parametrize(
    ("depth", "limit"), [(0, 1.6), (3, 1.215), (10, 0.445), (13, 0.115), (15, SHUT), (90, SHUT)]
)
def test_the_queue_of_a_later_stage_closes_an_earlier_one_before_frames_grow_too_old(
    depth: int, limit: float
) -> None:
    after = limits(queued("redact", depth))
    assert after == {"detect": limit, "redact": 1.7, "send": 1.9}


def test_its_own_queue_does_not_close_a_stage() -> None:
    assert limits(queued("detect", 90))["detect"] == 1.6


def test_in_single_frame_mode_the_newest_waits_for_nobody() -> None:
    assert limits(queued("redact", 90, mode=Mode.SINGLE_FRAME))["detect"] == 1.6


@pytest.mark.parametrize(("depth", "limit"), [(4, 1.6), (5, SHUT)])
def test_in_single_frame_mode_a_queue_before_the_sink_closes_the_entrance(
    depth: int, limit: float
) -> None:
    after = limits(queued("send", depth, mode=Mode.SINGLE_FRAME))
    assert after == {"detect": limit, "redact": 1.7, "send": 1.9}


@pytest.mark.parametrize(("at", "free", "limit"), [("redact", 3, 1.215), ("redact", 2, SHUT)])
def test_a_ring_full_of_work_that_was_begun_closes_the_entrance(
    at: str, free: int, limit: float
) -> None:
    assert limits(queued(at, 3, free=free))["detect"] == limit


def test_a_ring_full_of_frames_before_the_entrance_does_not_close_it() -> None:
    assert limits(queued("detect", 90, free=0))["detect"] == 1.6


@pytest.mark.parametrize(
    ("at", "mode", "free", "depths"),
    [
        ("redact", Mode.THROUGHPUT, 64, [(14, False), (15, True), (14, True), (13, True)]),
        ("redact", Mode.THROUGHPUT, 64, [(15, True), (12, False), (14, False)]),
        ("send", Mode.SINGLE_FRAME, 64, [(4, False), (5, True), (3, True), (2, False), (4, False)]),
        ("redact", Mode.SINGLE_FRAME, 2, [(2, False), (3, True), (2, False)]),  # a small ring
    ],
)
def test_the_entrance_opens_at_a_lower_mark_than_it_is_closed_at(
    at: str, mode: Mode, free: int, depths: list[tuple[int, bool]]
) -> None:
    state = ShedState()
    for depth, closed in depths:
        before = state.after.get("detect")
        seen = queued(at, depth, mode=mode, free=free)
        state, told = choose_limits(state, seen, max_latency=2.0)
        assert (state.after["detect"] == CLOSED_S) is closed is state.closed
        if before is not None and (before == CLOSED_S) != closed:
            assert isinstance(told, Limits), "the workers hear of it at once"


def test_a_ring_that_was_full_opens_the_entrance_before_the_queue_is_empty() -> None:
    state = ShedState()
    for depth, free, closed in ((3, 2, True), (3, 4, True), (3, 5, False), (3, 3, False)):
        state, _ = choose_limits(state, queued("redact", depth, free=free), max_latency=2.0)
        assert state.closed is closed


def keeping(held: int, looks: int = 200, **changes) -> tuple[ShedState, Limits | None]:
    """A stage that may keep two frames back at 15 frames a second, after some looks."""
    follow = stage("follow", 0.002, holds=2, held=held, rate=15.0, busy_ratio=0.03)
    state, told = ShedState(), None
    for came in range(looks):
        views = [stage("receive", frames=came), follow, stage("send", 0.001)]
        state, news = choose_limits(state, snapshot(views), **{"max_latency": 2.0, **changes})
        told = news or told
    return state, told


@pytest.mark.parametrize(("held", "wait"), [(0, 0.0), (1, 2 / 15), (2, 2 / 15)])
def test_what_a_stage_keeps_frames_back_for_counts_as_time_still_to_come(
    held: int, wait: float
) -> None:
    """Of one frame on average, some wait for two others."""
    state, _ = keeping(held)
    assert state.after["follow"] == pytest.approx(1.9 - 0.003 - wait, abs=0.1)
    exact, _ = keeping(held, max_latency=100.0, looks=400)
    assert exact.flows["follow"].held == pytest.approx(held, abs=0.02)


def test_frames_are_still_let_in_behind_a_stage_that_keeps_them_back() -> None:
    """By then they have the age that they gained there."""
    state, _ = keeping(2, max_latency=0.12)
    assert state.after == {"follow": pytest.approx(0.012), "send": pytest.approx(0.119)}


def test_that_no_frame_can_be_in_time_for_what_is_kept_back_is_said() -> None:
    _, told = keeping(2, max_latency=0.12)
    assert told is not None
    assert told.impossible == (
        "a frame takes 0.12 s, 0.12 s of it while follow waits for later frames, and max_latency is"
        " 0.12 s: most frames are dropped"
    )


def test_a_silence_is_not_taken_for_a_long_wait() -> None:
    """Its last frame waits there all the while, and the rate of the last seconds falls to none."""
    state, _ = keeping(1)
    for rate in (10.0, 1.0, 0.0):
        follow = stage("follow", spread(0.0, 0), holds=2, held=2, rate=rate)
        views = [stage("receive", frames=199), follow, stage("send")]
        state, told = choose_limits(state, snapshot(views), max_latency=2.0)
        assert told is None
    views[0] = stage("receive", frames=200)
    state, told = choose_limits(state, snapshot(views), max_latency=2.0)
    assert told is None and state.flows["follow"].rate > 14


def test_a_stage_that_keeps_nothing_back_may_hold_large_batches() -> None:
    seen = snapshot([stage("receive", frames=5), stage("detect", 0.1, held=16), stage("send")])
    assert choose_limits(ShedState(), seen, max_latency=2.0)[0].flows == {}


times = st.floats(0.0, 3.0)


@given(
    st.lists(
        st.tuples(times, st.integers(0, 99), st.floats(0, 100), st.floats(0, 1)),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from(Mode),
    st.integers(0, 64),
    st.floats(0.05, 30.0),
)
def test_limits_grow_from_stage_to_stage_and_never_pass_the_largest_latency(
    stages: list[tuple[float, int, float, float]], mode: Mode, free: int, max_latency: float
) -> None:
    views = [
        stage(f"s{at}", service, depth=depth, rate=rate, busy_ratio=busy)
        for at, (service, depth, rate, busy) in enumerate(stages)
    ]
    _, told = choose_limits(
        ShedState(), snapshot(views, mode=mode, free=free), max_latency=max_latency
    )
    assert told is not None
    after = list(told.after.values())
    assert list(told.after) == [view.name for view in views[1:]]
    assert after == sorted(after)
    assert all(0 < limit <= max_latency for limit in after)


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [(0.0, [0.0, 1.2, 2.0]), (300.0, [300.0, 1.2, 2.0]), (1.5, [1.5, 1.2, 1.5])],
)
def test_frames_that_nobody_takes_are_freed_at_their_limit_or_their_time_to_live(
    ttl: float, expected: list[float]
) -> None:
    stages = ["receive", "detect", "send"]
    assert ready_limits({"detect": 1.2, "send": 2.0}, stages, ttl) == expected
