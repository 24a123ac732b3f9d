"""Tokens are made anew at every change, and each change says who made it and why."""

import pytest

from mpflow.errors import ContractError
from mpflow.report import Report, StageReport
from mpflow.tokens import Change, Face, FrameState, Mode, Stamp, Token

TOKEN = Token("job", 7, pts=3003, time_base=(1, 30000), ops=("detect", "redact"))


def test_time_is_exact_and_none_without_a_stamp() -> None:
    assert TOKEN.time == pytest.approx(0.1001)
    assert Token("job", 0).time is None


def test_every_change_makes_a_new_card_and_leaves_the_old_one() -> None:
    face = Face((1, 2, 3, 4), 0.9)
    assert TOKEN.with_faces([face]).faces == (face,)
    assert TOKEN.with_field("mine.dark", True).fields == {"mine.dark": True}
    assert TOKEN.faces == () and TOKEN.fields == {}
    with pytest.raises(AttributeError):
        TOKEN.seq = 8  # type: ignore[misc]


def test_a_field_without_its_package_is_refused() -> None:
    with pytest.raises(ContractError, match=r"package\.key"):
        TOKEN.with_field("dark", True)


def test_state_operations_and_mode_carry_their_stage_and_reason() -> None:
    token = TOKEN.with_state(FrameState.MASKED, stage="detect", reason="it failed")
    token = token.without_op("detect", stage="supervisor", reason="overloaded")
    token = token.with_mode(Mode.SINGLE_FRAME, stage="supervisor", reason="backlog")
    assert token.state is FrameState.MASKED and token.ops == ("redact",)
    assert token.mode is Mode.SINGLE_FRAME
    assert token.changes == (
        Change("detect", "state:live>masked", "it failed"),
        Change("supervisor", "ops:-detect", "overloaded"),
        Change("supervisor", "mode:throughput>single-frame", "backlog"),
    )


def test_a_stage_is_struck_off_with_its_stamp() -> None:
    stamp = Stamp("detect", 0, 1, 2, 3)
    done = TOKEN.done(stamp)
    assert done.ops == ("redact",) and done.stamps == (stamp,)
    assert TOKEN.wants("detect") and not done.wants("detect")


def test_a_report_names_its_bottleneck_and_how_much_was_waiting() -> None:
    stages = (
        StageReport("decode", busy=1.0, waiting=9.0),
        StageReport("detect", workers=2, busy=12.0, waiting=4.0),
        StageReport("encode", busy=8.0, waiting=2.0),
    )
    report = Report("1", "in", frames_written=50, seconds=10.0, stages=stages)
    assert report.bottleneck is stages[2]
    assert [stage.idle_ratio for stage in stages] == [0.9, 0.25, 0.2]
    assert report.frames_per_second == 5.0
    again = Report("1", "in", frames_written=50, seconds=10.0, resumed_at=30)
    assert again.frames_per_second == 2.0
    assert Report("1", "in").bottleneck is None and StageReport("x").idle_ratio == 0.0
