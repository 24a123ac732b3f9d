"""The invisible mark: what it costs, what it changes, and what is left of it after encoding.

    python bench/bench_watermark.py [--output bench/results/watermark.json] [--frames 90]

Cost is CPU time on one core: of the mark alone, of the stage with its journal, and of x264 with and
without it, by turns, since the machine may be busy. What is left is told by the share of the 162
coded bits that are read wrongly (before the code corrects them), by whether the payload was read,
and by how far it stands out (1 is the least that counts), over the first frames, over the middle
third by itself, and over films that were never marked.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import av
import clips
import cv2
import numpy as np
import numpy.typing as npt
from facts import machine_facts, write_results

from mpflow.memory import MemorySlot
from mpflow.models.store import ModelStore
from mpflow.picture import PIXEL_FORMATS
from mpflow.provenance.pattern import Marker
from mpflow.provenance.payload import Payload, coded
from mpflow.provenance.reading import Reader
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo
from mpflow.stage import StageContext, Work
from mpflow.stages.mark import Mark, MarkOptions
from mpflow.tokens import Token

Planes = npt.NDArray[np.uint8]  # yuv420p as one array: Y, U, V below each other

CRFS = (18, 20, 23, 26, 28)
PAYLOAD = Payload("composite", 0x5A5A)
FILMS = {"bigbuckbunny": 20, "franck": 500, "carphone": 0, "bikes": 0}
"""Films of the store, and from which frame on they are taken."""
PRESET = "veryfast"
_TURNS, _ENCODED = 12, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("bench/results/watermark.json"))
    parser.add_argument("--clips", type=Path, default=Path("/tmp/mpflow-bench"))
    parser.add_argument("--frames", type=int, default=90)
    asked = parser.parse_args()
    cv2.setNumThreads(1)
    store = ModelStore()
    faces = clips.face_clip(asked.clips, 1920, 1080, 300)
    sources = {"faces-1080p": (faces, 0)}
    sources |= {name: (store.path(name), start) for name, start in FILMS.items()}
    videos = {}
    for name, (path, start) in sources.items():
        videos[name] = about(read(path, start, asked.frames))
        print(name, videos[name], flush=True)
    results = {
        "machine": machine_facts(("av", "numpy", "opencv-python")),
        "note": "the machine was shared: times are CPU time, taken by turns, good as ratios",
        "frames": asked.frames,
        "x264": PRESET,
        "cost": cost(read(faces, 0, 1)),
        "x264_cpu": {
            name: encoder_cost(read(path, start, _ENCODED))
            for name, (path, start) in sources.items()
        },
        "videos": videos,
        "unmarked": {name: unmarked(path) for name, (path, _) in sources.items()},
    }
    write_results(asked.output, results)


def about(plain: Sequence[Planes]) -> dict[str, Any]:
    """All that is measured on one video."""
    made = marked(plain)
    width, height = size_of(plain[0])
    off = [np.mean((luma(a).astype(int) - luma(b)) ** 2) for a, b in zip(made, plain, strict=True)]
    third = len(made) // 3
    smaller = (1280, 720) if height > 720 else (2 * round(width / 3), 2 * round(height / 3))
    return {
        "size": f"{width}x{height}",
        "psnr_db": round(float(10 * np.log10(255**2 / np.mean(off))), 1),
        "unencoded": left(made),
        **{f"crf {crf}": with_bytes(made, plain, crf) for crf in CRFS},
        f"crf 23, {smaller[0]}x{smaller[1]}": left(decoded(encoded(made, 23, smaller))),
        f"crf 28, {smaller[0]}x{smaller[1]}": left(decoded(encoded(made, 28, smaller))),
        "crf 23, middle third": left(decoded(encoded(made, 23))[third : 2 * third]),
        "crf 23, first frame": left(decoded(encoded(made, 23))[:1]),
    }


def with_bytes(made: Sequence[Planes], plain: Sequence[Planes], crf: int) -> dict[str, Any]:
    one, other = encoded(made, crf), encoded(plain, crf)
    return {**left(decoded(one)), "bytes_ratio": round(len(one) / len(other), 3)}


def left(pictures: Iterable[Planes]) -> dict[str, Any]:
    """What is read of the mark, and how many coded bits are wrong."""
    reader, ours = Reader(), coded(PAYLOAD)
    for picture in pictures:
        reader.add(luma(picture))
    wrong = min(float(np.mean((bits > 0) != (ours > 0))) for bits in reader.soft_bits())
    found = reader.read()
    is_ours = found is not None and found.run_id == PAYLOAD.run_id
    return {
        "bit_error": round(wrong, 3),
        "read": is_ours,
        "confidence": found.confidence if found is not None and is_ours else None,
    }


def unmarked(path: Path) -> dict[str, Any]:
    """How often something is found in films that nobody marked: by single frames, and by all."""
    whole, found, frames = Reader(), 0, 0
    with av.open(str(path)) as container:
        for number, picture in enumerate(container.decode(video=0)):
            if number >= 1200:
                break
            gray = picture.reformat(format="gray").to_ndarray()
            whole.add(gray)
            if number % 4 == 0:
                one = Reader()
                one.add(gray)
                found, frames = found + (one.read() is not None), frames + 1
    return {"single_frames": frames, "found": found, "found_by_all": whole.read() is not None}


def cost(plain: Sequence[Planes]) -> dict[str, Any]:
    """CPU time at 1080p: of the mark, of the stage with its journal, and of reading."""
    width, height = size_of(plain[0])
    marker = Marker(PAYLOAD, width, height, PIXEL_FORMATS["yuv420p"])
    plane = np.ascontiguousarray(luma(plain[0]))
    slot, stage = MemorySlot.of("yuv420p", width, height), stage_for(width, height)
    for plane_of, part in zip(slot.frame().fill_planes(), parts(plain[0]), strict=True):
        plane_of[:] = part

    def work() -> None:
        slot.journal.clear()
        for _ in stage.process([Work(Token("run", 0), slot.frame(journaled=True))]):
            pass

    reader = Reader()
    return {
        "mark_ms": per_call(lambda: marker.mark(plane)),
        "stage_ms": per_call(work),
        "setup_ms": per_call(lambda: Marker(PAYLOAD, width, height, PIXEL_FORMATS["yuv420p"]), 5),
        "read_ms_per_frame": per_call(lambda: reader.add(plane), 10),
        "journal_bytes_per_frame": slot.layout.nbytes,
    }


def encoder_cost(plain: Sequence[Planes]) -> dict[str, Any]:
    """CPU time of x264 at crf 23 with and without the mark: by turns, the least of each, since
    what others do on the machine only adds to it."""
    made = marked(plain)
    turns = [
        [cpu(lambda views=views: encoded(views, 23)) / len(views) for views in (plain, made)]
        for _ in range(_TURNS)
    ]
    without, with_it = (min(column) * 1e3 for column in zip(*turns, strict=True))
    return {
        "plain_ms_per_frame": round(without, 2),
        "marked_ms_per_frame": round(with_it, 2),
        "ratio": round(with_it / without, 3),
        "ratio_of_medians": round(
            median(turn[1] for turn in turns) / median(turn[0] for turn in turns), 3
        ),
    }


def stage_for(width: int, height: int) -> Mark:
    video = VideoInfo(0, "none", width, height, "yuv420p", "yuv420p", (1, 30))
    stage = Mark(MarkOptions(run=PAYLOAD.run_id, made=PAYLOAD.kind), StageContext("mark"))
    stage.open()
    stage.begin(Job(JobSpec("bench", "in"), MediaInfo("in", "none", video)))
    return stage


def per_call(call: Callable[[], object], times: int = 40) -> float:
    """Milliseconds of CPU time of one call: the median of five rounds."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(times):
            call()
        rounds.append((time.process_time() - start) / times)
    return round(median(rounds) * 1e3, 3)


def cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def marked(plain: Sequence[Planes]) -> list[Planes]:
    marker = Marker(PAYLOAD, *size_of(plain[0]), PIXEL_FORMATS["yuv420p"])
    made = [picture.copy() for picture in plain]
    for picture in made:
        marker.mark(luma(picture))
    return made


def read(path: Path, start: int, count: int) -> list[Planes]:
    pictures = []
    with av.open(str(path)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number >= start + count:
                break
            if number >= start:
                pictures.append(frame.reformat(format="yuv420p").to_ndarray())
    return pictures


def encoded(pictures: Sequence[Planes], crf: int, size: tuple[int, int] | None = None) -> bytes:
    """By x264 with one thread, scaled before where a size is given."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as out:
        stream = out.add_stream("libx264", rate=30)
        stream.width, stream.height = size or size_of(pictures[0])
        stream.pix_fmt, stream.options = "yuv420p", {"crf": str(crf), "preset": PRESET}
        stream.codec_context.thread_count = 1
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            if size:
                frame = frame.reformat(*size, interpolation="BICUBIC")
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return file.getvalue()


def decoded(data: bytes) -> list[Planes]:
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray() for frame in container.decode(video=0)]


def size_of(picture: Planes) -> tuple[int, int]:
    return picture.shape[1], len(picture) * 2 // 3


def luma(picture: Planes) -> Planes:
    return picture[: len(picture) * 2 // 3]


def parts(picture: Planes) -> tuple[Planes, Planes, Planes]:
    """Y, U and V of a picture in one array."""
    width, height = size_of(picture)
    chroma = picture[height:].reshape(2, height // 2, width // 2)
    return luma(picture), chroma[0], chroma[1]


if __name__ == "__main__":
    main()
