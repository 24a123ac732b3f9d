"""Memory that grows with the length of a clip, with changing batches, or from job to job.

What each process has of its own (without the ring, and without what workers share with the fork
server) is looked at twice; how much it may grow between is far less than what it must not keep.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import psutil
import pytest
from clips import Clip, add_video, make
from runs import Ear, family, job_in, marks_in, pass_gates, pipeline_of, trap

from mpflow.models.store import ModelStore
from mpflow.session import Session

MIB = 1 << 20
GROWTH = 24 * MIB

Seen = dict[str, int]


def own_memory(pid: int) -> Seen:
    """Bytes that a supervisor and each of its workers have of their own."""
    processes = {process.name(): process for process in family(pid)}
    own = {name: process for name, process in processes.items() if name.startswith("mpf:")}
    own["supervisor"] = psutil.Process(pid)
    return {name: process.memory_full_info().uss for name, process in own.items()}


def grown(first: Seen, last: Seen) -> dict[str, int]:
    """Who grew beyond what is forgiven, and by how many MiB."""
    assert first.keys() == last.keys() and len(first) > 3
    return {
        name: (last[name] - first[name]) // MIB
        for name in first
        if last[name] - first[name] > GROWTH
    }


# Memory grows with the length of the clip.


def long_clip(path: Path, frames: int) -> Path:
    """Many small pictures of one grey each; one takes 18 KB."""
    clip = Clip(size=(128, 96), codec="mpeg4", time_base=Fraction(1, 30))
    with av.open(str(path), "w") as container:
        stream = add_video(container, clip)
        picture = av.VideoFrame(*clip.size, clip.pixel_format)
        for number in range(frames):
            for plane in picture.planes:
                plane.update(bytes([number % 250]) * plane.buffer_size)
            picture.pts, picture.time_base = number, clip.time_base
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_a_clip_whose_encoder_is_slow(
    tmp_path: Path,
) -> None:
    """The pictures between the two looks would take 70 MiB."""
    frames, gates = 5000, [1000, 4900]
    source, seen, ear = long_clip(tmp_path / "long.mp4", frames), [], Ear()
    stages = [
        {"stage": "decode"},
        trap("Paint", habit="gate", at=gates, once=marks_in(tmp_path)),
        {"stage": "slow_encode:SlowEncode", "options": {"encoder_preset": "ultrafast"}},
    ]

    def look_after(frames: int) -> Callable[[int], None]:
        def look(pid: int) -> None:
            ear.wait_for_frames(frames)
            seen.append(own_memory(pid))

        return look

    job = job_in(tmp_path, "out.mp4", str(source))
    with Session(ear) as session:
        session.open(pipeline_of(tmp_path, *stages))
        strikes = {at: look_after(at) for at in gates}
        result = pass_gates(session, job, tmp_path / "marks", strikes)
    assert result.error is None and result.report.frames_written == frames
    assert not grown(*seen)


# Memory leaks on varying batch shapes.


@pytest.mark.slow
def test_memory_does_not_grow_with_batches_of_many_sizes_in_many_jobs_of_one_process(
    model_store: ModelStore, tmp_path: Path
) -> None:
    """Batches are as large as what has piled up; the blobs of sixteen frames take 11 MiB. The
    network is loaded once, in the first job."""
    model_store.path("yunet")
    source = make(tmp_path / "clip.mp4", Clip(pts=range(23), size=(320, 192)))
    detect = {"size": "320x192", "max_batch": 16, "device": "cpu"}
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "options": detect},
        {"stage": "redact"},
        {"stage": "encode", "options": {"encoder_preset": "ultrafast"}},
    ]
    seen = []
    with Session() as session:
        session.open(pipeline_of(tmp_path, *stages, slots=24))
        for number in range(12):
            result = session.run(job_in(tmp_path, f"{number}.mp4", str(source)))
            assert result.error is None
            assert 2 <= result.report.stages[1].batches <= 23
            assert result.report.stages[1].facts["sessions"] == 1
            seen.append(own_memory(session.pid))
    # the network's own arena is as large as the largest batch that has come so far
    largest = {name: max(job[name] for job in seen[1:6]) for name in seen[1]}
    assert not grown(largest, seen[-1])
