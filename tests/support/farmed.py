"""A plan's chunks and whole runs, made in this process: decode and encode, no workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clips import Memory, token

from mpflow.colour import Colour
from mpflow.config import resolve
from mpflow.farm.draw import Drawn, Wish, draw
from mpflow.farm.plan import Plan
from mpflow.farm.render import chunk_job
from mpflow.farm.split import Split
from mpflow.frame import Frame
from mpflow.picture import PictureLayout
from mpflow.spec import Job, JobSpec, PipelineSpec, SinkSummary, partial_name, parts_name
from mpflow.stage import StageContext
from mpflow.stages.decode import Decode, DecodeOptions
from mpflow.stages.encode import Encode, EncodeOptions

LOSSLESS = {"encode.codec": "ffv1", "encode.threads": 1}


def passthrough(**settings: Any) -> PipelineSpec:
    """Decode and encode; by keys such as ``encode.codec``."""
    flags = [(key, value, "test") for key, value in {**LOSSLESS, **settings}.items()]
    return resolve("passthrough", flags=flags, environ={}).spec


def planned(source: Path, output: Path, spec: PipelineSpec, frames: int = 4, **wish: Any) -> Drawn:
    """A plan of chunks of so many frames."""
    return draw(
        JobSpec("1", str(source), str(output)), spec, Wish(Split(frames=frames), **wish), print
    )


def make_chunk(plan: Plan, number: int) -> SinkSummary:
    """Make one chunk as a render does."""
    return make(chunk_job(plan, number), plan.pipeline)


def make_whole(source: Path, output: Path, spec: PipelineSpec, **job: Any) -> SinkSummary:
    """Make an output as one run does."""
    whole = JobSpec(
        "1",
        str(source),
        str(output),
        str(partial_name(output)),
        parts=str(parts_name(output)),
        **job,
    )
    return make(whole, spec)


def make(job: JobSpec, spec: PipelineSpec, stop_after: int | None = None) -> SinkSummary:
    """Decode and encode a job's frames; ``stop_after`` so many it ends early."""
    decode = Decode(DecodeOptions(), StageContext("decode"))
    encode = Encode(EncodeOptions(**spec.stages[-1].options), StageContext("encode"))
    full = Job(job, decode.probe(job))
    video = full.media.video
    layout = PictureLayout.of(video.pixel_format, video.width, video.height)
    try:
        decode.begin(full)
        encode.begin(full)
        for number, picture in enumerate(decode.pictures()):
            if number == stop_after:
                break
            frame = Frame(layout, Memory(layout.nbytes), Colour.from_tags(video))
            picture.fill(frame)
            encode.write(token(picture, number), frame)
        return encode.finish(complete=stop_after is None)
    finally:
        encode.close()
        decode.end()
