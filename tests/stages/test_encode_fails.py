"""Outputs that cannot be made, or must not be: errors that say so, and nothing of others harmed."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chunked
import clips
import pytest
from clips import Clip

from mpflow.errors import MpflowError, OutputError, Refused
from mpflow.media.chunks import Chunk, durable
from mpflow.stages.encode import Encode

PTS = range(35)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return clips.make(tmp_path / "in.mp4", Clip(pts=PTS))


def parts_of(job: Any) -> Path:
    return Path(job.spec.parts)


def interfere(job: Any, at: int, deed: Callable[[Encode], None], encode: Encode) -> None:
    """Run a job; when the frames below ``at`` are about to be kept, do something."""

    def listen(begun: Encode) -> None:
        begun.before_keeping = lambda stop: deed(begun) if stop == at else None

    chunked.run(job, encode, begun=listen)


@pytest.mark.parametrize("spec", [{}, {"overwrite": True}, {"resume": True}])
def test_a_run_beside_a_live_one_says_so_and_harms_nothing(
    tmp_path: Path, plain: Path, spec: dict[str, Any]
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    second = chunked.job_of(plain, tmp_path / "out.mp4", **spec)
    before: list[list[str]] = []

    def begin_another(_: Encode) -> None:
        before.append(chunked.left(tmp_path))
        with pytest.raises(OutputError, match="another run is writing"):
            chunked.run(second)
        before.append(chunked.left(tmp_path))

    interfere(job, 30, begin_another, chunked.encoder())
    assert before[0] == before[1]
    assert chunked.kept_frames(job) == 0  # cleared away by the one that went on to its end
    assert clips.times(tmp_path / "out.mp4") == clips.times(plain)


def test_who_has_let_go_of_the_output_removes_no_parts_of_the_next(
    tmp_path: Path, plain: Path
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", overwrite=True)
    first, second = chunked.encoder(), chunked.encoder()
    close, first.close = first.close, lambda: None  # type: ignore[method-assign]
    chunked.run(job, first)
    second.begin(job)
    before = chunked.left(tmp_path)
    close()
    assert chunked.left(tmp_path) == before
    assert "out.mp4.parts/checkpoint.json" in before
    second.close()


@pytest.mark.parametrize("resume", [False, True])
def test_an_output_without_a_frame_is_an_error(
    tmp_path: Path, plain: Path, *, resume: bool
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", resume=resume)
    with pytest.raises(MpflowError, match=r"no frame is left for '.*out\.mp4'") as caught:
        chunked.run(job, drop=range(35))
    assert caught.value.exit_status == 1
    assert "dropped" in caught.value.what
    assert caught.value.cure
    assert chunked.left(tmp_path) == ["in.mp4"]


def test_chunks_without_a_frame_cannot_be_joined(tmp_path: Path, plain: Path) -> None:
    for start, stop in ((0, 20), (20, 35)):
        job = chunked.job_of(plain, tmp_path / "out.mp4", start=start, stop=stop, chunk=True)
        summary = chunked.run(job, drop=range(35))
        assert (summary.frames, summary.complete) == (0, True)
    before = chunked.left(tmp_path)
    with pytest.raises(MpflowError, match=r"no frame is left for '.*out\.mp4'") as caught:
        chunked.encoder().join(chunked.job_of(plain, tmp_path / "out.mp4"))
    assert caught.value.exit_status == 1
    assert chunked.left(tmp_path) == before


@pytest.mark.parametrize("spec", [{}, {"resume": True}, {"overwrite": True}])
def test_a_file_where_the_parts_go_is_named(
    tmp_path: Path, plain: Path, spec: dict[str, Any]
) -> None:
    parts = tmp_path / "out.mp4.parts"
    parts.write_text("mine")
    for more in ({}, {"chunk": True, "start": 0, "stop": 10}):
        with pytest.raises(OutputError, match=r"out\.mp4\.parts' is a file, not a folder"):
            chunked.run(chunked.job_of(plain, tmp_path / "out.mp4", **spec, **more))
    assert chunked.left(tmp_path) == ["in.mp4", "out.mp4.parts"]
    assert parts.read_text() == "mine"


@pytest.mark.parametrize("chunk", [False, True])
def test_parts_that_vanish_while_the_run_writes_are_named(
    tmp_path: Path, plain: Path, *, chunk: bool
) -> None:
    span = {"start": 0, "stop": 30, "chunk": True} if chunk else {}
    job = chunked.job_of(plain, tmp_path / "out.mp4", **span)
    with pytest.raises(OutputError, match=r"out\.mp4\.parts' is gone"):
        interfere(job, 30, lambda _: shutil.rmtree(parts_of(job)), chunked.encoder())
    assert not (tmp_path / "out.mp4").exists()


def refuse_to_unlink(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As a read-only folder does, also to root."""
    unlink = Path.unlink

    def refusing(self: Path, missing_ok: bool = False) -> None:
        if self.parent == folder:
            raise PermissionError(13, "Permission denied", str(self))
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing)


@pytest.mark.parametrize("spec", [{"overwrite": True}, {"resume": True}])
def test_parts_that_cannot_be_cleared_are_an_error_with_a_cure(
    tmp_path: Path, plain: Path, monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any]
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", **spec)
    chunked.run(chunked.job_of(plain, tmp_path / "out.mp4"), stop_after=21)
    (parts_of(job) / "000000020-000000030.nut.a-7.tmp").touch()
    before = chunked.left(tmp_path)
    refuse_to_unlink(monkeypatch, parts_of(job))
    with pytest.raises(OutputError, match=r"out\.mp4\.parts' may not be written to") as caught:
        chunked.run(job)
    assert caught.value.cure
    assert chunked.left(tmp_path) == before


@pytest.mark.parametrize("spec", [{"overwrite": True}, {"resume": True}, {}])
def test_a_read_only_folder_of_parts_is_an_error_with_a_cure(
    tmp_path: Path, plain: Path, spec: dict[str, Any]
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4", **spec)
    parts_of(job).mkdir()
    (parts_of(job) / "mine.txt").touch()  # or it would be removed and made anew
    parts_of(job).chmod(0o500)
    if os.access(parts_of(job), os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(OutputError, match=r"out\.mp4\.parts' may not be written to"):
        chunked.run(job)


def test_time_stamps_of_chunks_that_are_in_the_file_do_not_stay_in_memory(
    tmp_path: Path, plain: Path
) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=24)
    encode = chunked.encoder()
    encode.begin(chunked.go_on(job))
    gc.collect()
    assert encode.kept.frame == 20
    assert [one for one in gc.get_objects() if isinstance(one, Chunk) and one.pts] == []
    encode.close()


def test_a_companion_that_is_lost_meanwhile_is_a_damaged_chunk(tmp_path: Path, plain: Path) -> None:
    job = chunked.job_of(plain, tmp_path / "out.mp4")
    chunked.run(job, stop_after=24)
    encode = chunked.encoder()
    encode.begin(chunked.go_on(job))
    first = durable(parts_of(job))[0]
    (parts_of(job) / first.companion).write_text("{}")
    with pytest.raises(Refused, match=rf"{first.name}' is damaged"):
        encode._writer._assemble()  # type: ignore[union-attr]
    encode.close()
