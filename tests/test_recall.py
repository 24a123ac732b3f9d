"""The analysis log's copy on the disk: what it cannot be written for is said as it is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from mpflow.analysis import AnalysisLog
from mpflow.errors import MpflowError, OutputError, ResourceError
from mpflow.recall import Spill


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
