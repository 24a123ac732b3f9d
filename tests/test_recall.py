"""The analysis log's copy on the disk: what it cannot be written for is said as it is."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mpflow.analysis import AnalysisLog
from mpflow.errors import MpflowError, OutputError, ResourceError
from mpflow.graph import Demand
from mpflow.recall import ANALYSIS, TAIL, Memory, Spill, Tail, begin_log
from mpflow.spec import JobSpec
from mpflow.tokens import Token


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, ResourceError), (errno.EACCES, OutputError)]
)
def test_a_copy_that_cannot_be_written_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[MpflowError]
) -> None:
    spill = Spill(AnalysisLog.create().fd, tmp_path / "analysis.log")
    spill.keep()

    def failing(fd: int) -> None:
        raise OSError(number, "so it is")

    monkeypatch.setattr("os.fdatasync", failing)
    with pytest.raises(kind, match=r"analysis\.log' cannot be written: so it is"):
        spill.keep()


def test_a_log_that_cannot_be_read_is_an_error_and_a_missing_one_is_none(tmp_path: Path) -> None:
    remembering = [Demand(remembers=True)]
    job = JobSpec("1", "in.mp4", "out.mp4", resume=True, parts=str(tmp_path / "parts"))
    assert begin_log(job, remembering) >= 0
    (tmp_path / "parts").write_text("the sink says what is wrong with that")
    assert begin_log(job, remembering) >= 0
    (tmp_path / "parts").unlink()
    (tmp_path / "parts" / ANALYSIS).mkdir(parents=True)
    with pytest.raises(
        OutputError, match=r"analysis\.log' cannot be read: Is a directory"
    ) as caught:
        begin_log(job, remembering)
    assert caught.value.cure


def test_a_live_run_recalls_the_last_frames_and_keeps_no_more() -> None:
    tail, recalled = Tail(), []
    memory = Memory("track", tail)
    stage: Any = SimpleNamespace(recall=lambda tokens: recalled.append(list(tokens)))
    memory.recall(stage)
    for seq in range(3 * TAIL):
        given_up = "masked" if seq % 2 else ""
        memory.keep(Token("1", seq, pts=seq, fields={"a.b": seq}), given_up)
        memory.keep(Token("1", seq), "again")  # given once: a second word on it is not kept
    memory.recall(stage)
    first, second = recalled
    assert first == []
    assert [token.fields["a.b"] for token in second] == list(range(2 * TAIL, 3 * TAIL, 2))
    assert memory.known(Token("1", 3 * TAIL - 1)) is None
