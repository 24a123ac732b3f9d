"""A plan's folder of parts: not taken from under a run, and named where it is of no use."""

from __future__ import annotations

import os
from pathlib import Path

import chunked
import clips
import pytest
from clips import Clip
from farmed import make_chunk, passthrough, planned

from mpflow.errors import MpflowError, OutputError
from mpflow.farm.concat import Concat, concat
from mpflow.farm.folder import tear_down
from mpflow.stages.encode import Encode


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return clips.make(tmp_path / "in.mp4", Clip(pts=range(35)))


def test_a_plan_that_starts_anew_takes_nothing_from_a_live_run(
    tmp_path: Path, source: Path
) -> None:
    output = tmp_path / "out.mkv"
    left: list[list[str]] = []

    def listen(encode: Encode) -> None:
        encode.before_keeping = plan_anew

    def plan_anew(stop: int) -> None:
        if stop != 30:
            return
        left.append(chunked.left(tmp_path))
        with pytest.raises(OutputError, match="another run is writing"):
            planned(source, output, passthrough(), fresh=True)
        left.append(chunked.left(tmp_path))

    chunked.run(chunked.job_of(source, output), begun=listen)
    assert left[0] == left[1]
    assert clips.times(output) == pytest.approx(clips.times(source), abs=0.001)


def test_tearing_down_leaves_no_file_and_no_partial_file(tmp_path: Path, source: Path) -> None:
    drawn = planned(source, tmp_path / "out.mkv", passthrough(), frames=20)
    for number in range(2):
        make_chunk(drawn.plan, number)
    concat(drawn.plan, drawn.file, Concat(remove_parts=True), print)
    assert chunked.left(tmp_path) == ["in.mp4", "out.mkv"]


def test_a_partial_file_of_an_earlier_run_stays(tmp_path: Path, source: Path) -> None:
    drawn = planned(source, tmp_path / "out.mkv", passthrough(), frames=20)
    (tmp_path / "out.partial.mkv").write_bytes(b"half")
    tear_down(drawn.plan)
    assert chunked.left(tmp_path) == ["in.mp4", "out.partial.mkv"]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_file_where_the_parts_go_is_named(tmp_path: Path, source: Path, *, fresh: bool) -> None:
    (tmp_path / "out.mkv.parts").write_text("mine")
    with pytest.raises(OutputError, match=r"out\.mkv\.parts' is a file, not a folder"):
        planned(source, tmp_path / "out.mkv", passthrough(), fresh=fresh)
    assert (tmp_path / "out.mkv.parts").read_text() == "mine"
    assert chunked.left(tmp_path) == ["in.mp4", "out.mkv.parts"]


def test_parts_that_may_not_be_looked_into_are_an_error_with_a_cure(
    tmp_path: Path, source: Path
) -> None:
    drawn = planned(source, tmp_path / "out.mkv", passthrough())
    parts = Path(drawn.plan.parts)
    parts.chmod(0)
    if os.access(parts, os.R_OK):
        pytest.skip("this user may read everything")
    for fresh in (False, True):
        with pytest.raises(MpflowError, match=r"out\.mkv\.parts") as caught:
            planned(source, tmp_path / "out.mkv", passthrough(), fresh=fresh)
        assert caught.value.cure
    parts.chmod(0o700)


def test_parts_that_cannot_be_cleared_are_an_error_with_a_cure(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = planned(source, tmp_path / "out.mkv", passthrough())
    parts, unlink = Path(drawn.plan.parts), Path.unlink

    def refusing(self: Path, missing_ok: bool = False) -> None:
        """As a read-only folder does, also to root."""
        if self.parent == parts:
            raise PermissionError(13, "Permission denied", str(self))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)
    with pytest.raises(OutputError, match=r"out\.mkv\.parts' may not be written to"):
        tear_down(drawn.plan)
    assert chunked.left(tmp_path) == sorted(
        ["in.mp4", "out.mkv.parts", "out.mkv.parts/checkpoint.json", "out.mkv.parts/plan.json"]
    )
