"""Every frame is in the books once; what is durable there survives a dead worker."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mpflow.accounts import COVERED, LEFT, OPEN, LedgerSummary
from mpflow.errors import InternalError, OutputError, Refused
from mpflow.ledger import LEDGER, Book
from mpflow.spec import Place, SinkSummary
from mpflow.stretches import OTHERS, SHOWN_BYTES, SHOWN_CHANGES, SHOWN_ROWS
from mpflow.tokens import Face, FrameState, Mode, Stamp, Token

MS = 1_000_000
FACE = Face((1.00049, 2, 3, 4), 0.9, ((1, 2),), track=7)


def token(seq: int, state: FrameState = FrameState.LIVE, reason: str = "it failed") -> Token:
    """A frame that was decoded in 2 ms, waited 3 ms, and was worked on for 5 ms."""
    born = 100 * MS * seq
    stamps = (
        Stamp("decode", 0, born, born, born + 2 * MS),
        Stamp("detect", 1, born + 4 * MS, born + 5 * MS, born + 10 * MS),
    )
    made = Token("1", seq, pts=seq, time_base=(1, 25), ops=("encode",), born=born, stamps=stamps)
    if state is FrameState.LIVE:
        return made
    return made.with_state(state, stage="detect", reason=reason).with_faces([FACE])


def sink_stamp(seq: int) -> Stamp:
    born = 100 * MS * seq
    return Stamp("encode", 0, born + 10 * MS, born + 20 * MS, born + 40 * MS)


def note(book: Book, *frames: Token) -> None:
    for frame in frames:
        book.note(frame, sink_stamp(frame.seq))


def closed(book: Book) -> SinkSummary:
    return book.close(SinkSummary(0))


def ledger_of(summary: SinkSummary) -> LedgerSummary:
    assert summary.ledger is not None
    return summary.ledger


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_frame_is_one_of_four_and_the_rest_is_named() -> None:
    book = Book()
    states = [FrameState.LIVE, FrameState.MASKED, FrameState.PASSED, FrameState.DROPPED]
    for seq, state in enumerate([*states, FrameState.MASKED]):
        book.note(token(seq, state), None if state is FrameState.DROPPED else sink_stamp(seq))
    summary = closed(book)
    ledger = ledger_of(summary)
    counts = (ledger.frames, ledger.delivered, ledger.masked, ledger.passed, ledger.dropped)
    assert counts == (5, 1, 2, 1, 1)
    assert (ledger.not_as_asked, ledger.words()) == (4, "2 frames masked, 1 passed, 1 dropped")
    assert (summary.faces, summary.frames_with_faces) == (4, 4)
    assert (ledger.covered, ledger.open) == (2, 0)  # those of the masked frames
    assert [(row.frame, row.state) for row in ledger.rows] == [
        (1, "masked"),
        (2, "passed"),
        (3, "dropped"),
        (4, "masked"),
    ]
    assert (ledger.rows[0].pts, ledger.rows[0].stage, ledger.rows[0].reason) == (
        1,
        "detect",
        "it failed",
    )


def test_faces_that_were_covered_are_counted_apart_from_those_found(tmp_path: Path) -> None:
    """Over a durable place, and over a successor of a live run's last stage."""
    frames = [
        replace(token(seq), faces=(FACE,) * 3, fields={COVERED: 2, OPEN: 1}) for seq in range(4)
    ]
    frames[1] = replace(frames[1], fields={OPEN: 3})
    frames[2] = frames[2].with_state(FrameState.MASKED, stage="encode", reason="no")
    book = Book(tmp_path)
    note(book, *frames)
    book.keep(2)
    book.abandon()
    again = Book(tmp_path, start=Place(2))
    note(again, *frames[2:])
    ledger = ledger_of(closed(again))
    assert (ledger.faces, ledger.covered, ledger.open) == (12, 7, 5)
    successor = Book(start=Place(4), past=ledger)
    note(successor, replace(token(4), faces=(FACE,), fields={COVERED: 1}))
    assert ledger_of(closed(successor)).covered == 8


@pytest.mark.parametrize("kept", [0, 3, 6])
def test_a_frame_that_never_arrived_is_taken_back_wherever_it_was_noted(
    kept: int, tmp_path: Path
) -> None:
    path = tmp_path / "tokens.jsonl"
    book = Book(tokens=path)
    frames = [token(seq, FrameState.MASKED if seq == 2 else FrameState.LIVE) for seq in range(6)]
    frames[4] = frames[4].with_degradations(["detect.every=2"])
    note(book, *frames)
    book.keep(kept)
    for frame in frames[1:5]:
        book.recant(frame, frame.with_state(FrameState.DROPPED, stage="send", reason="never came"))
    ledger = ledger_of(closed(book))
    counts = ledger.frames, ledger.delivered, ledger.masked, ledger.dropped, ledger.degraded
    assert counts == (6, 2, 0, 4, 0)
    assert ledger.faces == 1
    rows = [(row.frame, row.state, row.stage, row.reason) for row in ledger.rows]
    assert rows == [(seq, "dropped", "send", "never came") for seq in range(1, 5)]
    assert ledger.more == 0
    last = {line["frame"]: line["state"] for line in lines(path)}
    assert last == {0: "live", 5: "live"} | dict.fromkeys(range(1, 5), "dropped")


def test_only_a_frame_that_was_noted_can_be_taken_back() -> None:
    book = Book()
    note(book, token(0))
    with pytest.raises(InternalError, match="frame 1 is taken back"):
        book.recant(token(1), token(1, FrameState.DROPPED))


def test_a_frame_that_is_durable_is_not_taken_back(tmp_path: Path) -> None:
    book = Book(tmp_path)
    note(book, token(0))
    book.keep(1)
    with pytest.raises(InternalError, match="frame 0 is taken back"):
        book.recant(token(0), token(0, FrameState.DROPPED))
    book.abandon()


def test_the_last_change_of_state_gives_the_reason() -> None:
    twice = token(0, FrameState.MASKED).with_state(FrameState.DROPPED, stage="redact", reason="no")
    book = Book()
    book.note(twice.without_op("encode", stage="supervisor", reason="late"), None)
    (row,) = ledger_of(closed(book)).rows
    assert (row.state, row.stage, row.reason) == ("dropped", "redact", "no")


@pytest.mark.parametrize("wrong", [0, 2])
def test_a_frame_that_comes_twice_or_too_early_is_a_fault(wrong: int) -> None:
    book = Book()
    note(book, token(0))
    with pytest.raises(InternalError, match=f"frame {wrong} came .* 1 is the next"):
        note(book, token(wrong))


def test_what_was_kept_is_on_the_disk_before_the_sinks_frames_are(tmp_path: Path) -> None:
    book = Book(tmp_path)
    note(book, *(token(seq) for seq in range(6)), token(6, FrameState.MASKED), token(7))
    book.keep(4)
    book.keep(7)
    assert book.kept == 7
    book.abandon()
    assert lines(tmp_path / LEDGER) == [
        {"start": 0, "stop": 4, "delivered": 4, "masked": 0, "passed": 0, "dropped": 0,
         "degraded": 0, "single_frame": 0, "left": 0,
         "faces": 0, "frames_with_faces": 0, "covered": 0, "open": 0, "drifted": 0,
         "changed": {}, "rows": []},
        {"start": 4, "stop": 7, "delivered": 2, "masked": 1, "passed": 0, "dropped": 0,
         "degraded": 0, "single_frame": 0, "left": 0,
         "faces": 1, "frames_with_faces": 1, "covered": 1, "open": 0, "drifted": 0,
         "changed": {},
         "rows": [{"frame": 6, "pts": 6, "state": "masked", "stage": "detect",
                   "reason": "it failed"}]},
    ]  # fmt: skip


def test_a_frame_becomes_durable_only_when_it_was_noted() -> None:
    book = Book()
    note(book, token(0))
    with pytest.raises(InternalError, match="frame 1 becomes durable"):
        book.keep(2)


@pytest.mark.parametrize("durable", [0, 4, 7])
def test_a_successor_takes_up_what_is_durable_and_makes_the_rest_again(
    tmp_path: Path, durable: int
) -> None:
    frames = [
        token(seq, FrameState.MASKED if seq in (2, 5, 8) else FrameState.LIVE) for seq in range(10)
    ]
    whole = Book()
    note(whole, *frames)
    dead = Book(tmp_path, tokens=tmp_path / "tokens.jsonl")
    note(dead, *frames)
    dead.keep(4)
    dead.keep(7)
    dead.abandon()
    with (tmp_path / LEDGER).open("a") as file:
        file.write('{"start": 7, "stop"')
    again = Book(tmp_path, tokens=tmp_path / "tokens.jsonl", start=Place(durable))
    note(again, *frames[durable:])
    assert ledger_of(closed(again)) == ledger_of(closed(whole))
    assert [line["frame"] for line in lines(tmp_path / "tokens.jsonl")] == list(range(10))


def test_a_ledger_that_lacks_durable_frames_is_refused(tmp_path: Path) -> None:
    book = Book(tmp_path)
    note(book, token(0), token(1))
    book.keep(2)
    book.abandon()
    with pytest.raises(Refused, match="tells of 2 frames, and 3 are finished"):
        Book(tmp_path, start=Place(3))


def test_without_a_ledger_on_disk_memory_stays_flat() -> None:
    book = Book()
    note(book, *(token(seq) for seq in range(1000)))
    assert book.next - book.kept < 256
    assert ledger_of(closed(book)).frames == 1000


@pytest.mark.parametrize("reason", ["short", "long " * 100])
def test_a_summary_names_so_many_frames_and_counts_the_rest(reason: str) -> None:
    book = Book()
    for seq in range(1200):
        note(book, token(seq, FrameState.MASKED, reason))
        book.keep(seq)
    summary = closed(book)
    ledger = ledger_of(summary)
    assert len(ledger.rows) + ledger.more == ledger.masked == 1200
    assert 0 < len(ledger.rows) <= SHOWN_ROWS
    assert len(msgspec.msgpack.encode(summary)) < SHOWN_BYTES + 4096


def test_a_tokens_line_holds_the_whole_card(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens.jsonl"
    book = Book(tokens=path, begun=0)
    final = replace(token(3, FrameState.MASKED), seq=0, degradations=("smaller input",), retries=1)
    book.note(final.with_field("mine.dark", (1, 2)), sink_stamp(3))
    closed(book)
    (line,) = lines(path)
    assert line == {
        "frame": 0,
        "pts": 3,
        "time": 0.12,
        "state": "masked",
        "mode": "throughput",
        "retries": 1,
        "ops": [],
        "born": 0.3,
        "stages": [
            {"stage": "decode", "worker": 0, "taken": 0.3, "started": 0.3, "ended": 0.302},
            {"stage": "detect", "worker": 1, "taken": 0.304, "started": 0.305, "ended": 0.31},
            {"stage": "encode", "worker": 0, "taken": 0.31, "started": 0.32, "ended": 0.34},
        ],
        "changes": [{"stage": "detect", "what": "state:live>masked", "reason": "it failed"}],
        "degradations": ["smaller input"],
        "faces": [{"box": [1.0, 2, 3, 4], "score": 0.9, "points": [[1, 2]], "track": 7}],
        "fields": {"mine.dark": [1, 2]},
    }


def test_what_is_kept_is_in_the_timeline_though_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    dead = Book(trace=path, begun=0)
    note(dead, *(token(seq) for seq in range(9)))
    dead.keep(9)
    cut = path.read_text()
    dead.abandon()
    path.write_text(cut)
    again = Book(trace=path, begun=0, start=Place(9))
    note(again, *(token(seq) for seq in range(9, 12)))
    closed(again)
    slices = [event for event in json.loads(path.read_text()) if event.get("cat") == "stage"]
    worked = sorted(event["args"]["frame"] for event in slices)
    assert worked == sorted(3 * list(range(12)))


def test_a_tokens_file_of_another_run_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"
    for _ in range(2):
        book = Book(tokens=path)
        note(book, token(0), token(1))
        closed(book)
        assert len(lines(path)) == 2


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="tokens"):
        Book(tokens=tmp_path / "file" / "tokens.jsonl")


def test_times_are_told_stage_by_stage_and_waiting_is_theirs_who_waited_for_it() -> None:
    book = Book()
    note(book, *(token(seq) for seq in range(50)))
    latency = closed(book).latency
    assert latency is not None
    stages = {stage.name: stage for stage in latency.stages}
    assert list(stages) == ["decode", "detect", "encode"]
    waited = {name: stage.waiting.p50 for name, stage in stages.items()}
    worked = {name: stage.service.p99 for name, stage in stages.items()}
    assert waited == pytest.approx({"decode": 0, "detect": 0.003, "encode": 0.01}, rel=0.07)
    assert worked == pytest.approx({"decode": 0.002, "detect": 0.005, "encode": 0.02}, rel=0.07)
    assert latency.whole.max == 0.04
    assert latency.whole.count == 50
    assert latency.idle_ratio == pytest.approx(13 / 40)
    assert stages["detect"].idle_ratio == pytest.approx(3 / 8)


def test_an_hour_without_a_face_is_told_once_for_each_such_hour() -> None:
    told: list[tuple[str, str, int]] = []
    book = Book(no_face_for=2.0, alert=lambda *alert: told.append(alert))
    with_face = {0, 120}
    for seq in range(200):
        note(book, token(seq).with_faces([FACE] if seq in with_face else []))
    assert [(kind, frame) for kind, _, frame in told] == [("no_face", 50), ("no_face", 170)]
    assert "no face for 2.0 s" in told[0][1]


def test_a_degraded_frame_is_delivered_and_named() -> None:
    book = Book()
    note(book, token(0), replace(token(1), degradations=("detect.every=2",)), token(2))
    ledger = ledger_of(closed(book))
    assert (ledger.frames, ledger.delivered, ledger.degraded) == (3, 3, 1)
    assert [(row.frame, row.state, row.reason) for row in ledger.rows] == [
        (1, "degraded", "detect.every=2")
    ]
    assert ledger.not_as_asked == 1
    assert ledger.words() == "1 frame degraded"


def test_what_was_changed_is_counted_frame_by_frame_whatever_became_of_them(
    tmp_path: Path,
) -> None:
    blind, seldom = "detect.score=0.99", "detect.every=2"
    book = Book(tmp_path)
    note(
        book,
        replace(token(0), degradations=(blind, seldom)),
        replace(token(1, FrameState.MASKED), degradations=(blind,)),
    )
    book.keep(2)
    book.abandon()
    book = Book(tmp_path, start=Place(2))
    note(book, replace(token(2), degradations=(blind,)), token(3))
    kept = book.so_far
    assert kept.changed == {blind: 2, seldom: 1}
    assert Book(past=kept).so_far.changed == kept.changed
    assert ledger_of(closed(book)).changed == {blind: 3, seldom: 1}


def test_so_many_changes_are_named_and_the_rest_counted_together() -> None:
    book = Book()
    many = SHOWN_CHANGES + 7
    note(book, *(replace(token(n), degradations=(f"detect.iou=0.{n}",)) for n in range(many)))
    changed = ledger_of(closed(book)).changed
    assert (len(changed), changed[OTHERS]) == (SHOWN_CHANGES + 1, 7)


def test_a_successor_takes_over_what_was_counted_where_nothing_is_on_the_disk() -> None:
    first = Book()
    note(first, token(0), token(1, FrameState.DROPPED), token(2))
    first.keep(3)
    second = Book(past=first.so_far, start=Place(3))
    note(second, token(3), token(4, FrameState.MASKED))
    ledger = ledger_of(closed(second))
    assert (ledger.frames, ledger.delivered, ledger.dropped, ledger.masked) == (5, 3, 1, 1)
    assert [row.frame for row in ledger.rows] == [1, 4]


def test_a_frame_that_never_came_adds_nothing_to_the_times() -> None:
    book = Book()
    note(book, token(0))
    lost = Token("1", 1).with_state(FrameState.DROPPED, stage="detect", reason="too old: 900 ms")
    book.note(lost, None)
    summary = closed(book)
    assert summary.latency is not None and summary.latency.whole.count == 1
    assert ledger_of(summary).rows[-1].reason == "too old: 900 ms"


def test_frames_that_went_through_in_single_frame_mode_are_counted() -> None:
    book = Book()
    single = token(1).with_mode(Mode.SINGLE_FRAME, stage="detect", reason="backlog")
    note(book, token(0), single, token(2))
    ledger = ledger_of(closed(book))
    assert (ledger.delivered, ledger.single_frame, ledger.not_as_asked) == (3, 1, 0)


def test_frames_that_were_left_as_they_are_on_purpose_are_counted_and_as_asked(
    tmp_path: Path,
) -> None:
    book = Book(tmp_path)
    note(book, token(0), token(1).with_field(LEFT, True))
    book.keep(2)
    book.abandon()
    book = Book(tmp_path, start=Place(2))
    note(book, token(2).with_field(LEFT, True))
    ledger = ledger_of(closed(book))
    assert (ledger.delivered, ledger.left, ledger.not_as_asked) == (3, 2, 0)
