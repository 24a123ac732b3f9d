"""Real live runs in which a process is killed: the stream goes on, and the books add up."""

from __future__ import annotations

import threading
from pathlib import Path

import av
import pytest
from clips import Clip, make
from runs import Ear, kill_workers

from mpflow.config import resolve
from mpflow.session import Session
from mpflow.spec import JobSpec

FRAMES = 180


def pictures_in(path: Path) -> list[float]:
    """The times of the pictures in a file."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return [float(f.pts * f.time_base) for f in container.decode(stream) if f.pts is not None]


@pytest.mark.parametrize("stage", ["receive", "send"])
def test_an_end_that_is_killed_is_replaced_and_the_stream_goes_on(
    tmp_path: Path, stage: str
) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / "out.ts"
    make(source, Clip(pts=tuple(range(FRAMES))))
    ear = Ear()
    with Session(ear) as session:
        session.open(resolve("live-passthrough", environ={}).spec)

        def strike() -> None:
            ear.wait_for_frames(20)
            kill_workers(session.pid, stage)

        striker = threading.Thread(target=strike, daemon=True)
        striker.start()
        job = JobSpec("1", str(source), str(output), live=True)
        result = session.run(job)
        striker.join()
    assert result.error is None, result.error
    report = result.report
    assert report.restarts == 1
    ledger = report.ledger
    assert ledger is not None
    assert ledger.frames == report.frames_read
    assert report.frames_written == ledger.delivered
    files = [output, *tmp_path.glob("out-*.ts")]
    assert len(files) == (2 if stage == "send" else 1)
    times = [pictures_in(file) for file in files]
    assert all(each == sorted(set(each)) for each in times)
    # what was sent but not taken by the file when its process was killed is at most the ring
    assert ledger.delivered - report.slots <= sum(map(len, times)) <= ledger.delivered
