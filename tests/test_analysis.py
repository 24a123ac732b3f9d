"""What stages put on frames is kept whole, whatever is torn, by whomever it was written."""

from __future__ import annotations

import multiprocessing as mp
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.reduction import DupFd
from pathlib import Path

import pytest

from mpflow.analysis import AnalysisLog, Remembered
from mpflow.errors import ContractError, InternalError, Refused, ResourceError
from mpflow.tokens import Face, Sighting, Token

FACE = Face(
    (1.5, 2.0, 30.25, 40.0),
    0.875,
    ((3.0, 4.0),) * 5,
    7,
    "a",
    {},
    (1.0, -2.5, 30.0),
    Sighting.FILLED,
)


def card(seq: int, *, track: int = 0) -> Token:
    face = Face((float(seq), 0.1, 10.0, 20.0), 1 / 3, (), track)
    fields = {"foreign.age": seq, "foreign.list": (1, 2.5, "x", None, b"y")}
    return Token("r", seq, 0, seq * 512, (1, 15360), 512, faces=(FACE, face), fields=fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "analysis.log"


@pytest.fixture(params=["file", "memory"])
def log(request, path: Path) -> Iterator[AnalysisLog]:
    made = AnalysisLog.create(path if request.param == "file" else None)
    yield made
    made.close()


def filled(path: Path, count: int) -> tuple[bytes, list[int]]:
    """Write so many records; the file's bytes, and where each record begins and the last ends."""
    log = AnalysisLog.create(path)
    bounds = [path.stat().st_size]
    for seq in range(count):
        log.append("track", card(seq))
        bounds.append(path.stat().st_size)
    log.close()
    return path.read_bytes(), bounds


def seqs_in(path: Path, stage: str = "track") -> list[int]:
    log = AnalysisLog.create(path)
    try:
        return [each.seq for each in log.read(stage)]
    finally:
        log.close()


def test_a_frame_made_again_gets_exactly_what_was_on_it(log: AnalysisLog) -> None:
    for seq in range(3):
        log.append("track", card(seq, track=seq + 40))
    found = log.find("track", 2)
    assert found is not None
    again = found.on(Token("r", 2, fields={"other.key": 1}, ops=("redact",)))
    assert again.faces == card(2, track=42).faces
    assert again.fields == {"other.key": 1, **card(2).fields}
    assert again.ops == ("redact",)
    assert log.find("track", 3) is None and log.find("detect", 0) is None
    with pytest.raises(InternalError, match="frame 1 cannot take what frame 2 had"):
        found.on(Token("r", 1))


def test_arrays_beside_a_frame_made_again_are_those_of_this_time(log: AnalysisLog) -> None:
    kept = card(2)
    first = replace(kept, faces=tuple(replace(face, refs={"mesh": 64}) for face in kept.faces))
    log.append("track", first)
    found = log.find("track", 2)
    assert found is not None and found.faces == kept.faces
    again = replace(kept, faces=tuple(replace(face, refs={"mesh": 0}) for face in kept.faces))
    assert [face.refs for face in found.on(again).faces] == [{"mesh": 0}] * 2
    assert [face.refs for face in found.on(replace(kept, faces=())).faces] == [{}] * 2


def test_a_memory_is_rebuilt_from_cards_with_their_times(log: AnalysisLog) -> None:
    log.append("track", card(5))
    (remembered,) = log.read("track")
    token = remembered.token("r")
    assert (token.seq, token.pts, token.time_base, token.duration) == (5, 2560, (1, 15360), 512)
    assert (token.faces, token.fields) == (card(5).faces, card(5).fields)


def test_stages_are_kept_apart_and_each_knows_its_last_frame(log: AnalysisLog) -> None:
    for seq in (0, 1, 4):
        log.append("track", card(seq))
    log.append("smooth", card(0))
    assert [each.seq for each in log.read("track")] == [0, 1, 4]
    assert [each.seq for each in log.read("track", 1)] == [1, 4]
    assert [each.seq for each in log.read("track", 2)] == [4]
    assert (log.last("track"), log.last("smooth"), log.last("none")) == (4, 0, None)
    log.sync()


def test_of_two_records_for_one_frame_the_first_counts(log: AnalysisLog) -> None:
    log.append("track", card(0, track=1))
    log.append("track", card(0, track=2))
    (only,) = log.read("track")
    assert only.faces[1].track == 1


def test_an_earlier_runs_log_goes_on(path: Path) -> None:
    filled(path, 3)
    log = AnalysisLog.create(path)
    assert log.last("track") == 2
    log.append("track", card(3))
    log.close()
    assert seqs_in(path) == [0, 1, 2, 3]


def test_a_log_torn_at_any_byte_keeps_every_whole_record_and_goes_on(path: Path) -> None:
    whole, bounds = filled(path, 3)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        kept = max(0, sum(bound <= length for bound in bounds) - 1)
        log = AnalysisLog.create(path)
        assert [each.seq for each in log.read("track")] == list(range(kept)), length
        assert path.stat().st_size == bounds[kept]
        log.append("track", card(9))
        assert log.last("track") == 9
        log.close()


def test_a_record_torn_in_the_middle_of_the_log_costs_only_itself(path: Path) -> None:
    whole, (_, second, third, _) = filled(path, 3)
    for torn in range(second, third):
        # its writer died over it; another stage's record, or its successor's, came behind
        path.write_bytes(whole[:torn] + whole[third:])
        assert seqs_in(path) == [0, 2], torn


def test_a_record_with_any_byte_changed_is_left_out(path: Path) -> None:
    whole, (_, second, third, _) = filled(path, 3)
    for at in range(second, third):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        assert seqs_in(path) == [0, 2], at


def test_rubbish_longer_than_a_block_is_stepped_over(path: Path) -> None:
    whole, (_, second, _) = filled(path, 2)
    path.write_bytes(whole[:second] + b"\xf7mp" * 200_001 + whole[second:])
    assert seqs_in(path) == [0, 1]


def test_many_records_are_found_across_blocks(path: Path) -> None:
    filled(path, 4000)
    log = AnalysisLog.create(path)
    assert path.stat().st_size > 2 * (1 << 18)
    assert [each.seq for each in log.read("track")] == list(range(4000))
    assert log.find("track", 3999).fields["foreign.age"] == 3999
    log.close()


def test_a_foreign_file_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"RIFF")
    with pytest.raises(Refused, match="begins with b'RIFF'"):
        AnalysisLog.create(path)
    assert path.read_bytes() == b"RIFF"


@pytest.mark.parametrize("value", [object(), 1 << 70, b"x" * 70_000])
def test_what_cannot_be_kept_is_the_stages_fault(log: AnalysisLog, value: object) -> None:
    with pytest.raises(ContractError, match="stage track puts"):
        log.append("track", Token("r", 0, fields={"a.b": value}))
    log.append("track", card(1))
    assert [each.seq for each in log.read("track")] == [1]


def test_a_full_disk_is_told() -> None:
    log = AnalysisLog.create()
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log.fd)
    os.close(full)
    with pytest.raises(ResourceError, match="No space left"):
        log.append("track", card(0))
    log.close()


def test_writers_of_two_stages_share_the_file_and_one_may_be_killed(path: Path) -> None:
    log = AnalysisLog.create(path)
    context = mp.get_context("forkserver")
    here, there = context.Pipe()
    writers = [
        context.Process(target=write_on, args=(Passed(log.fd), stage, there), daemon=True)
        for stage in ("track", "smooth")
    ]
    for writer in writers:
        writer.start()
    told = Counter()
    while min(told["track"], told["smooth"]) < 10:
        told[here.recv()] += 1
    writers[0].kill()
    writers[0].join()
    last = log.last("track")
    assert last is not None
    log.append("track", card(last + 1))
    writers[1].kill()
    writers[1].join()
    track = [each.seq for each in log.read("track")]
    assert track == list(range(last + 2))
    assert [each.seq for each in log.read("smooth")] == list(range(log.last("smooth") + 1))
    log.close()


class Passed:
    """A descriptor on its way to a child."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __getstate__(self):
        return DupFd(self.fd)

    def __setstate__(self, passed) -> None:
        self.fd = passed.detach()


def write_on(passed: Passed, stage: str, told) -> None:
    """Append as fast as it goes, and tell every fiftieth time."""
    log = AnalysisLog(passed.fd)
    for seq in range(1_000_000):
        log.append(stage, card(seq))
        if seq % 50 == 0:
            told.send(stage)


def test_a_bare_record_needs_nothing_but_a_number() -> None:
    assert Remembered(3).token().seq == 3
