"""The same stages one after another in one process: what a pipeline is measured against.

    picture -> fill -> stage -> stage -> ... -> sink, then the next picture

Every stage may use all cores, as a program without a pipeline would let it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from mpflow.colour import Colour
from mpflow.importer import AnyStage, build
from mpflow.memory import MemorySlot
from mpflow.spec import Job, JobSpec, PipelineSpec, VideoInfo
from mpflow.stage import Picture, Sink, Source, Stage, StageContext, Work
from mpflow.tokens import Token


@dataclass
class Serial:
    """What was seen: seconds of the whole job, and from each frame's arrival to its output."""

    wall: float = 0.0
    latencies: list[float] = field(default_factory=list)


def run_serial(spec: PipelineSpec, job: JobSpec, *, jobs: int = 1) -> Serial:
    """Run a job so many times with stages that stay open; the last time counts."""
    cores = len(os.sched_getaffinity(0))
    stages = [build(each, StageContext(each.name, threads=cores)) for each in spec.stages]
    for stage in stages:
        stage.open()
    try:
        for _ in range(jobs):
            seen = _job(stages, [each.name for each in spec.stages], job)
    finally:
        for stage in stages:
            stage.close()
    return seen


def _job(stages: Sequence[AnyStage], names: Sequence[str], spec: JobSpec) -> Serial:
    source, *middle, sink = stages
    assert isinstance(source, Source) and isinstance(sink, Sink)
    seen, began = Serial(), time.monotonic()
    job = Job(spec, source.probe(spec))
    for stage in stages:
        stage.begin(job)
    slots = [_slot(job.media.video) for _ in range(sink.holds + 2)]
    looked_for = time.monotonic_ns()
    for number, picture in enumerate(source.pictures()):
        born = looked_for if picture.arrived is None else picture.arrived
        slot = slots[number % len(slots)]
        token = _token(number, picture, names)
        picture.fill(slot.frame())
        for stage in middle:
            assert isinstance(stage, Stage)
            (token,) = stage.process([Work(token, slot.frame(journaled=stage.changes_pixels))])
        sink.write(token, slot.frame())
        slot.journal.clear()
        looked_for = time.monotonic_ns()
        seen.latencies.append((looked_for - born) / 1e9)
    source.end()
    sink.finish(complete=True)
    seen.wall = time.monotonic() - began
    return seen


def _slot(video: VideoInfo) -> MemorySlot:
    return MemorySlot.of(video.pixel_format, video.width, video.height, Colour.from_tags(video))


def _token(number: int, picture: Picture, names: Sequence[str]) -> Token:
    return Token(
        request="serial",
        seq=number,
        pts=picture.pts,
        time_base=picture.time_base,
        duration=picture.duration,
        key=picture.key,
        ops=tuple(names[1:]),
    )
