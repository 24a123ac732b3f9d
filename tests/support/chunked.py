"""Decode and encode in this process, in chunks: stopped on the way, gone on with, killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path
from typing import Any

import av
import clips
import msgspec

from mpflow.colour import Colour
from mpflow.frame import Frame
from mpflow.media.chunks import durable
from mpflow.picture import PictureLayout
from mpflow.spec import Job, JobSpec, SinkSummary, parts_name
from mpflow.stage import StageContext
from mpflow.stages.decode import Decode, DecodeOptions
from mpflow.stages.encode import Encode, EncodeOptions

SUPPORT = str(Path(__file__).parent)

TEN = {"chunk_seconds": 1 / 3, "threads": 2}
"""Chunks of ten frames of a clip with thirty a second."""


def job_of(source: Path, output: Path, **spec: Any) -> Job:
    """A job as it is planned."""
    job = JobSpec("job", str(source), str(output), parts=str(parts_name(output)), **spec)
    return Job(job, Decode(DecodeOptions(), StageContext("decode")).probe(job))


def encoder(warnings: list[str] | None = None, **options: Any) -> Encode:
    """The sink, opened by nobody yet."""
    warn = (warnings if warnings is not None else []).append
    return Encode(EncodeOptions(**{**TEN, **options}), StageContext("encode", threads=2, warn=warn))


def run(
    job: Job,
    encode: Encode | None = None,
    *,
    stop_after: int | None = None,
    drop: Collection[int] = (),
    begun: Callable[[Encode], None] = lambda encode: None,
) -> SinkSummary:
    """Write a job's frames from where the sink says; ``stop_after`` so many it ends early."""
    encode = encode or encoder()
    decode = Decode(DecodeOptions(), StageContext("decode", threads=1))
    video = job.media.video
    layout = PictureLayout.of(video.pixel_format, video.width, video.height)
    decode.begin(job)
    try:
        encode.begin(job)
        begun(encode)
        place = encode.kept
        for number, picture in enumerate(decode.pictures(place), place.frame):
            if stop_after is not None and number >= stop_after:
                break
            if number in drop:
                continue
            frame = Frame(layout, clips.Memory(layout.nbytes), Colour.from_tags(video))
            picture.fill(frame)
            encode.write(clips.token(picture, number), frame)
            frame.end()
        return encode.finish(complete=stop_after is None)
    finally:
        encode.close()
        decode.end()


_CHILD = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import chunked, msgspec
from mpflow.spec import Job
job = msgspec.json.decode(sys.argv[2], type=Job)
options, strike = msgspec.json.decode(sys.argv[3]), int(sys.argv[4])
count = 0
def hook(event, arguments):
    global count
    if event in sys.argv[5:]:
        count += 1
        if count == strike:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
chunked.run(job, chunked.encoder(**options))
"""


NAMES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir")
"""Audit events of all that changes a name."""


def killed_at(job: Job, strike: int, *events: str, **options: Any) -> bool:
    """Run a job in a process that kills itself right before the nth of such events.

    False when it ended before that.
    """
    arguments = [
        SUPPORT,
        msgspec.json.encode(job).decode(),
        msgspec.json.encode(options).decode(),
        str(strike),
        *(events or NAMES),
    ]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, -9):
        raise AssertionError(done.stderr)
    return done.returncode == -9


def go_on(job: Job, **spec: Any) -> Job:
    """The same job, resumed."""
    return Job(msgspec.structs.replace(job.spec, resume=True, **spec), job.media)


def kept_frames(job: Job) -> int:
    """Frames that a run could go on with."""
    chunks = durable(Path(job.spec.parts))
    return chunks[-1].stop if chunks else 0


def content(path: Path) -> list[tuple[str, Any]]:
    """All that is seen and heard of a file: hashes of pictures with their times, packets."""
    found: list[tuple[str, Any]] = []
    pictures = zip(clips.planes(path), clips.times(path), strict=True)
    for planes, time in pictures:
        found.append((sha256(b"".join(map(bytes, planes))).hexdigest(), time))
    with av.open(str(path)) as container:
        others = [stream.index for stream in container.streams if stream.type != "video"]
    for index in others:
        found += [(f"stream {index}", packet) for packet in clips.packets(path, index)]
    return found


def left(folder: Path) -> list[str]:
    """Names in a folder and in the folders in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
