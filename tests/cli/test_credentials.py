"""A URL's user name and password appear nowhere: not on a screen, in JSON, a log or a report."""

from __future__ import annotations

from pathlib import Path

import pytest

URL = "http://bob:p@ss@127.0.0.1:9/film.mp4"
WORDS = ("bob", "p@ss", "ss@")


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--json"],
        ["--dry-run"],
        ["--dry-run", "--json"],
        ["--log-level", "debug"],
        ["--offline", "--json"],
        ["-o", "../no/such/folder/out.mp4"],
    ],
    ids=" ".join,
)
def test_credentials_are_shown_nowhere(mpflow, here: Path, more: list[str]) -> None:
    done = mpflow("run", "-i", URL, "-o", "out.mp4", "--log-file", "run.log", *more)
    log = here / "run.log"
    told = done.out + done.err + (log.read_text() if log.exists() else "")
    assert told.strip()
    for word in WORDS:
        assert word not in told, told
