"""The same stages one after another in one process: what a pipeline is measured against.

    picture -> fill -> stage -> stage -> ... -> sink, then the next picture

Every stage may use all cores, as a program without a pipeline would let it.
"""

from __future__ import annotations

import os
import time
from collections import Counter
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
    """What was seen: seconds of the whole job, and from each frame's arrival to its output; and
    the CPU time of each stage, with all its threads."""

    wall: float = 0.0
    latencies: list[float] = field(default_factory=list)
    cpu: Counter[str] = field(default_factory=Counter)


def run_serial(spec: PipelineSpec, job: JobSpec, *, jobs: int = 1, threads: int = 0) -> Serial:
    """Run a job so many times with stages that stay open; the last time counts. Each stage may use
    so many ``threads``, or all cores."""
    cores = threads or len(os.sched_getaffinity(0))
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
    beside = sum(stage.side_bytes for stage in middle if isinstance(stage, Stage))
    slots = [_slot(job.media.video, beside) for _ in range(sink.holds + 2)]
    looked_for, used = time.monotonic_ns(), time.process_time()

    def count(name: str) -> None:
        nonlocal used
        before, used = used, time.process_time()
        seen.cpu[name] += used - before

    for number, picture in enumerate(source.pictures()):
        born = looked_for if picture.arrived is None else picture.arrived
        slot = slots[number % len(slots)]
        token = _token(number, picture, names)
        picture.fill(slot.frame())
        count(names[0])
        for name, stage in zip(names[1:], middle, strict=False):
            assert isinstance(stage, Stage)
            (token,) = stage.process([Work(token, slot.frame(journaled=stage.changes_pixels))])
            count(name)
        sink.write(token, slot.frame())
        count(names[-1])
        slot.journal.clear()
        looked_for = time.monotonic_ns()
        seen.latencies.append((looked_for - born) / 1e9)
    source.end()
    sink.finish(complete=True)
    count(names[-1])
    seen.wall = time.monotonic() - began
    return seen


def _slot(video: VideoInfo, beside: int) -> MemorySlot:
    colour = Colour.from_tags(video)
    return MemorySlot.of(video.pixel_format, video.width, video.height, colour, beside)


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
