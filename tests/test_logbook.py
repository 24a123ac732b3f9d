"""Logs lose credentials, count repeats, and rotate as JSON lines."""

import json
from pathlib import Path

import pytest

from mpflow.errors import OutputError
from mpflow.logbook import Logbook, LogRecord


def test_a_text_is_kept_once_and_its_repeats_are_counted(tmp_path: Path) -> None:
    shown: list[LogRecord] = []
    path = tmp_path / "run.log"
    book = Logbook("r1", path=path, level="info", show=shown.append)
    for _ in range(5):
        book.note("warning", "rtsp://u:p@h broke\n", stage="decode", frame=7)
    book.note("debug", "not at this level", stage="decode")
    book.note("warning", "rtsp://u:p@h broke", stage="encode")
    book.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["stage"], line["text"], line["repeats"]) for line in lines] == [
        ("decode", "rtsp://***@h broke", 0),
        ("encode", "rtsp://***@h broke", 0),
        ("decode", "rtsp://***@h broke", 4),
    ]
    assert lines[0]["run"] == "r1" and lines[0]["frame"] == 7
    assert len(shown) == 3


def test_a_log_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="--log-file"):
        Logbook("r", path=tmp_path / "no" / "run.log", level="info", show=lambda _: None)
