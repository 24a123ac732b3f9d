"""The timeline: a lane for each worker, each frame at each stage once, waits between them."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mpflow.errors import OutputError
from mpflow.tokens import Stamp
from mpflow.trace import Mark, Trace, add_marks

MS = 1_000_000
BEGUN = 5_000_000_000_000

Event = dict[str, Any]


def pipeline(frames: int, batch: int = 4) -> list[list[Stamp]]:
    """Stamps of a run: one decoder, two workers of detect that take batches, one encoder."""
    draw = random.Random(1)
    free = {"decode": BEGUN, 0: BEGUN, 1: BEGUN, "encode": BEGUN}
    stamps: list[list[Stamp]] = []
    for _ in range(frames):
        start = free["decode"]
        free["decode"] = start + draw.randint(1, 3) * MS
        stamps.append([Stamp("decode", 0, start, start, free["decode"])])
    for first in range(0, frames, batch):
        group = stamps[first : first + batch]
        worker = min((0, 1), key=lambda number: free[number])
        started = max(free[worker], group[-1][0].ended) + MS // 2
        for number, card in enumerate(group, 1):
            taken = max(free[worker], card[0].ended)
            card.append(Stamp("detect", worker, taken, started, started + 5 * number * MS))
        free[worker] = group[-1][1].ended
    for card in stamps:
        start = max(free["encode"], card[-1].ended)
        free["encode"] = start + 2 * MS
        card.append(Stamp("encode", 0, start, start, free["encode"]))
    return stamps


def write(path: Path, stamps: list[list[Stamp]]) -> None:
    trace = Trace(path, BEGUN)
    for seq, card in enumerate(stamps):
        trace.note(seq, card[0].taken, card)
    trace.close()


def events(path: Path, phase: str) -> list[Event]:
    return [event for event in json.loads(path.read_text()) if event["ph"] == phase]


def lanes(path: Path) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {}
    for event in events(path, "X"):
        found.setdefault(event["tid"], []).append(event)
    return found


def end(event: Event) -> float:
    return round(event["ts"] + event["dur"], 3)


def test_every_frame_is_at_every_stage_once(tmp_path: Path) -> None:
    stamps = pipeline(600)
    write(tmp_path / "t.json", stamps)
    slices = [event for event in events(tmp_path / "t.json", "X") if event["cat"] == "stage"]
    seen = Counter((event["name"].split()[0], event["args"]["frame"]) for event in slices)
    assert seen == {
        (stage, frame): 1 for stage in ("decode", "detect", "encode") for frame in range(600)
    }
    by_frame = {(e["name"].split()[0], e["args"]["frame"]): e for e in slices}
    for frame, card in enumerate(stamps):
        for stamp in card:
            event = by_frame[stamp.stage, frame]
            assert event["ts"] == (stamp.started - BEGUN) / 1000
            assert event["dur"] == (stamp.ended - stamp.started) / 1000


def test_a_lane_is_a_worker_and_its_slices_lie_apart_or_within_each_other(tmp_path: Path) -> None:
    write(tmp_path / "t.json", pipeline(600))
    metas = events(tmp_path / "t.json", "M")
    names = {e["tid"]: e["args"]["name"] for e in metas if e["name"] == "thread_name"}
    assert len(names) == len(set(names.values()))
    found = lanes(tmp_path / "t.json")
    assert sorted(names[tid] for tid in found) == ["decode/0", "detect/0", "detect/1", "encode/0"]
    for slices in found.values():
        around: list[Event] = []
        for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
            while around and end(around[-1]) <= event["ts"]:
                around.pop()
            assert not around or end(event) <= end(around[-1])
            assert not around or around[-1]["name"] != "wait", "nobody works while he waits"
            around.append(event)


def test_the_time_between_two_frames_of_a_worker_is_a_wait(tmp_path: Path) -> None:
    stamps = pipeline(80, batch=1)
    write(tmp_path / "t.json", stamps)
    mine = [s for card in stamps for s in card if (s.stage, s.worker) == ("detect", 1)]
    gaps = [(a.ended, b.started) for a, b in pairwise(mine)]
    metas = events(tmp_path / "t.json", "M")
    (tid,) = [e["tid"] for e in metas if e["args"].get("name") == "detect/1"]
    waits = [e for e in lanes(tmp_path / "t.json")[tid] if e["name"] == "wait"]
    assert [(e["ts"], end(e)) for e in waits] == [
        ((a - BEGUN) / 1000, (b - BEGUN) / 1000) for a, b in gaps if b - a >= 20_000
    ]


def test_frames_in_the_ring_and_in_a_filling_batch_are_seen_beside_the_lanes(
    tmp_path: Path,
) -> None:
    stamps = pipeline(40)
    write(tmp_path / "t.json", stamps)
    begun = {(e["name"], e["id"]): e["ts"] for e in events(tmp_path / "t.json", "b")}
    ended = {(e["name"], e["id"]): e["ts"] for e in events(tmp_path / "t.json", "e")}
    assert begun.keys() == ended.keys()
    assert all(begun[key] < ended[key] for key in begun)
    for frame, (decode, detect, encode) in enumerate(stamps):
        for name, start, stop in (
            ("before detect", decode.ended, detect.taken),
            ("in detect", detect.taken, detect.started),
            ("before encode", detect.ended, encode.taken),
        ):
            told = ((name, frame) in begun) and (begun[name, frame], ended[name, frame])
            wanted = ((start - BEGUN) / 1000, (stop - BEGUN) / 1000)
            assert told == (stop - start >= 20_000 and wanted)


def test_a_frame_that_a_stage_finished_late_still_lies_in_its_place(tmp_path: Path) -> None:
    late = Stamp("detect", 0, BEGUN + 90 * MS, BEGUN + 90 * MS, BEGUN + 95 * MS)
    rest = [[Stamp("detect", 0, t, t, t + MS)] for t in range(BEGUN, BEGUN + 80 * MS, 10 * MS)]
    write(tmp_path / "t.json", [[late], *rest])
    (slices,) = lanes(tmp_path / "t.json").values()
    assert [e["ts"] for e in slices] == sorted(e["ts"] for e in slices)
    assert [e["name"] for e in slices if e["name"] != "wait"][-1] == "detect 0"


def test_a_trace_that_was_cut_off_is_gone_on_with_by_the_same_run(tmp_path: Path) -> None:
    path, stamps = tmp_path / "t.json", pipeline(1200)
    first = Trace(path, BEGUN)
    for seq, card in enumerate(stamps[:900]):
        first.note(seq, card[0].taken, card)
    first.flush()
    first.close()
    whole = path.read_bytes()
    cut = whole[: len(whole) - len(whole) // 3]
    path.write_bytes(cut)
    text = cut[: cut.rindex(b",\n")] + b"]"
    before = len(json.loads(text))
    assert before > 1000, "what was cut off is an array but for its end"
    again = Trace(path, BEGUN)
    for seq, card in enumerate(stamps[900:], 900):
        again.note(seq, card[0].taken, card)
    again.close()
    frames = {e["args"]["frame"] for e in events(path, "X") if e["name"].startswith("encode ")}
    assert set(range(900, 1200)) < frames
    assert {0, 1, 2} < frames
    assert len(lanes(path)) == 4


def test_a_trace_of_another_run_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write(path, pipeline(10))
    Trace(path, BEGUN + 1).close()
    assert events(path, "X") == []


def test_restarts_and_alerts_are_instants_that_are_added_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write(path, pipeline(10))
    add_marks(path, BEGUN, [Mark(BEGUN + 7 * MS, 'restart "detect"', "detect/1")])
    add_marks(path, BEGUN + 1, [Mark(BEGUN, "of another run")])
    add_marks(tmp_path / "none.json", BEGUN, [Mark(BEGUN, "nowhere")])
    (mark,) = events(path, "i")
    assert (mark["name"], mark["ts"], mark["args"]) == (
        'restart "detect"',
        7000.0,
        {"worker": "detect/1"},
    )
    assert len(events(path, "X")) > 30
    assert not (tmp_path / "none.json").exists()


def test_a_stage_of_any_name_has_a_lane(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write(path, [[Stamp('a "b"\\ü', 0, BEGUN + MS, BEGUN + 2 * MS, BEGUN + 3 * MS)]])
    assert [e["name"] for e in events(path, "X")] == ['a "b"\\ü 0']


def test_a_run_without_frames_leaves_an_array(tmp_path: Path) -> None:
    Trace(tmp_path / "t.json", BEGUN).close()
    assert isinstance(json.loads((tmp_path / "t.json").read_text()), list)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=str(tmp_path)):
        Trace(tmp_path, BEGUN)
