"""Outputs that exist already, and what ``--resume`` and ``-y`` make of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mpflow.errors import OutputError
from mpflow.jobs import Planned, Request, draw_plan, jobs_of
from mpflow.media.mark import DONE, Mark

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a file below a folder of its own, which is also the current one."""
    monkeypatch.chdir(tmp_path)

    def touch(name: str, content: bytes = b"x") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    touch("in.mp4")
    return touch


def marked(file: Path) -> None:
    """Note in the parts of out.mp4 that this file becomes the output."""
    status = file.stat()
    parts = Path("out.mp4.parts")
    parts.mkdir(exist_ok=True)
    mark = Mark(status.st_ino, status.st_size, 60, 60)
    (parts / DONE).write_bytes(msgspec.json.encode(mark))


def resumed(**request: object) -> Planned:
    (planned,) = draw_plan(Request(["in.mp4"], "out.mp4", resume=True, **request))
    return planned


def test_an_output_that_the_mark_knows_is_finished(make: Make) -> None:
    marked(make("out.mp4"))
    assert resumed().skipped == "its output is finished"


def test_an_old_output_beside_the_mark_of_a_new_one_is_not_finished(make: Make) -> None:
    make("out.mp4", b"an old one")
    marked(make("out.partial.mp4", b"killed before the rename"))
    with pytest.raises(OutputError, match="exists already") as caught:
        resumed()
    assert caught.value.cure == (
        "--resume -y goes on with what there is and overwrites it, -n skips what exists"
    )
    planned = resumed(overwrite="yes")
    assert (planned.skipped, planned.job.overwrite, planned.job.resume) == ("", True, True)


def test_a_mark_that_is_damaged_says_nothing(make: Make) -> None:
    make("out.mp4")
    make(f"out.mp4.parts/{DONE}", b"{")
    with pytest.raises(OutputError, match="exists already"):
        resumed()


def test_an_output_with_nothing_to_compare_it_with_is_skipped_and_not_called_finished(
    make: Make,
) -> None:
    make("out.mp4")
    assert resumed().skipped == "its output exists, and there is nothing left to go on with"


def test_starting_anew_needs_no_output_that_exists(make: Make) -> None:
    """Killed before the end there is none, and yet the parts are to go."""
    make("out.mp4.parts/checkpoint.json")
    (job,) = jobs_of(Request(["in.mp4"], "out.mp4", overwrite="yes"))
    assert job.overwrite
    (job,) = jobs_of(Request(["in.mp4"], "out.mp4"))
    assert not job.overwrite
