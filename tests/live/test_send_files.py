"""Live output to files, standard output and devices; its key frames, its times, its privacy."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import pytest
from catchers import catch
from sending import RATE, Feed

from mpflow.errors import OutputError
from mpflow.media.delivery import Delivery

ENDINGS = ["ts", "mkv", "mp4", "flv", "nut"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_can_be_played_while_it_grows(ending: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{ending}"
    feed = Feed(str(output), {"gop_seconds": 0.5}, sound="aac", late=0.1)
    with feed.running():
        feed.send(2)
        early = catch(str(output), {})
        feed.send(1, begin=2)
        summary = feed.finish()
    assert len(early.pictures) > RATE
    assert len(catch(str(output), {}).pictures) == summary.frames == 3 * RATE


@pytest.mark.parametrize("ending", ENDINGS)
def test_times_are_kept_where_pictures_were_left_out(ending: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{ending}"
    feed = Feed(str(output), late=0.0)
    with feed.running():
        feed.send(2, drop=lambda number: number % 5 in (1, 2) or 30 < number < 50)
        feed.finish()
    kept = [n for n in range(2 * RATE) if not (n % 5 in (1, 2) or 30 < n < 50)]
    caught = catch(str(output), {})
    assert caught.times == pytest.approx([n / RATE for n in kept], abs=0.001)


def test_key_frames_come_by_time_however_many_pictures_there_are(tmp_path: Path) -> None:
    output = tmp_path / "out.mkv"
    feed = Feed(str(output), {"gop_seconds": 1.0}, late=0.0)
    with feed.running():
        feed.send(3, drop=lambda number: number % 3 > 0)
        feed.finish()
    keys = [each["time"] for each in catch(str(output), {}).pictures if each["key"]]
    assert keys == pytest.approx([0, 1, 2], abs=0.001)


def test_nothing_of_the_input_but_picture_and_sound_is_passed_on(tmp_path: Path) -> None:
    output = tmp_path / "out.mkv"
    feed = Feed(str(output), sound="aac", late=0.0)
    with feed.running():
        feed.send(1)
        feed.finish()
    with av.open(str(output)) as container:
        assert set(container.metadata) <= {"encoder", "ENCODER", "DURATION"}
        assert {key for s in container.streams for key in s.metadata} <= {"DURATION", "ENCODER"}
    assert b"x264" not in output.read_bytes() or b"options" in output.read_bytes()


def test_a_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    output.write_bytes(b"mine")
    with pytest.raises(OutputError, match="exists already"), Feed(str(output)).running():
        pass
    assert output.read_bytes() == b"mine"


def test_a_job_that_is_gone_on_with_leaves_what_there_is(tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    output.write_bytes(b"mine")
    feed = Feed(str(output), resume=True)
    with feed.running():
        feed.send(0.5)
        summary = feed.finish()
    assert output.read_bytes() == b"mine"
    assert summary.path == str(tmp_path / "out-2.ts")
    assert len(catch(summary.path, {}).pictures) == 15


@pytest.mark.parametrize("retry", [0.0, 0.05])
def test_what_is_never_connected_anew_needs_no_patience(retry: float, tmp_path: Path) -> None:
    output = tmp_path / "out.ts"
    feed = Feed(str(output), {"retry": retry}, size=(640, 480), late=0.0)
    with feed.running():
        feed.send(1)
        summary = feed.finish()
    assert summary.frames == RATE
    assert feed.counts == {}


@pytest.mark.slow
def test_a_disk_that_hangs_is_left_when_the_job_is_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = threading.Event()
    mux = Delivery._next
    monkeypatch.setattr(Delivery, "_next", lambda it: hung.wait() and mux(it))
    feed = Feed(str(tmp_path / "out.ts"), leaving=True)
    with feed.running():
        feed.send(3)
        summary = feed.finish()
        hung.set()
    assert feed.counts["undelivered"] > RATE
    assert "not taken" in summary.warnings[-1]


@contextmanager
def pipe() -> Iterator[tuple[int, str]]:
    """The reading end, and where a worker can open the other one."""
    reading, writing = os.pipe()
    try:
        yield reading, f"/proc/{os.getpid()}/fd/{writing}"
    finally:
        for end in (reading, writing):
            try:
                os.close(end)
            except OSError:
                continue  # the test closed it


def test_standard_output_gets_a_whole_stream() -> None:
    got = io.BytesIO()
    with pipe() as (reading, place):
        feed = Feed("-", {"format": "mpegts"}, partial=place, sound="aac", late=0.1)
        os.set_blocking(reading, False)
        with feed.running():
            for second in range(2):
                feed.send(1, begin=second)
                got.write(_available(reading))
            summary = feed.finish()
        got.write(_available(reading))
    got.seek(0)
    with av.open(got) as container:
        assert len(list(container.decode(video=0))) == summary.frames == 2 * RATE


def test_standard_output_may_stand_still_for_longer_than_is_retried() -> None:
    got = io.BytesIO()
    with pipe() as (reading, place):
        options = {"codec": "rawvideo", "format": "nut", "retry": 0.0}
        feed = Feed("-", options, partial=place, size=(320, 240), late=0.0)
        with feed.running():
            feed.send(2)  # nobody reads meanwhile
            reader = threading.Thread(target=_read_all, args=(reading, got))
            reader.start()
            feed.finish()
            os.close(int(place.rpartition("/")[2]))
            reader.join()
    got.seek(0)
    with av.open(got) as container:
        assert len(list(container.decode(video=0))) > RATE / 2


def test_a_reader_of_standard_output_that_pauses_costs_pictures_not_the_run() -> None:
    got = io.BytesIO()
    with pipe() as (reading, place):
        options = {"codec": "rawvideo", "format": "nut"}
        feed = Feed("-", options, partial=place, size=(320, 240), late=0.0)
        with feed.running():
            feed.send(3)  # nobody reads meanwhile
            reader = threading.Thread(target=_read_all, args=(reading, got))
            reader.start()
            feed.send(2, begin=3)
            summary = feed.finish()
            os.close(int(place.rpartition("/")[2]))
            reader.join()
    got.seek(0)
    with av.open(got) as container:
        times = [float(frame.pts * frame.time_base) for frame in container.decode(video=0)]
    assert feed.counts["undelivered"] > RATE
    assert len(times) == summary.frames == 5 * RATE - feed.counts["undelivered"]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(5 - 1 / RATE, abs=0.01)


def test_a_reader_of_standard_output_that_leaves_ends_the_run() -> None:
    with pipe() as (reading, place):
        feed = Feed("-", partial=place, late=0.0)
        with feed.running(), pytest.raises(OutputError, match="nobody reads it any more"):
            feed.send(0.5)
            os.close(reading)
            feed.send(5, begin=0.5)


def _available(descriptor: int) -> bytes:
    pieces = []
    while True:
        try:
            pieces.append(os.read(descriptor, 65536))
        except BlockingIOError:
            return b"".join(pieces)


def _read_all(descriptor: int, into: io.BytesIO) -> None:
    while piece := os.read(descriptor, 65536):
        into.write(piece)
