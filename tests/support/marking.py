"""Moving pictures that are marked by the stage, and encoded as somebody else would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt

from mpflow.memory import MemorySlot
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo
from mpflow.stage import StageContext, Work
from mpflow.stages.mark import Mark, MarkOptions
from mpflow.tokens import Token

Luma = npt.NDArray[np.uint8]
RUN = 0xBEEF


def scenery(width: int, height: int, frames: int) -> list[Luma]:
    """Luma of a view that moves: soft shapes of all sizes, a calm sky, and some grain."""
    random = np.random.default_rng(11)
    side = max(width, height) + 2 * frames
    wide = np.zeros((side, side), np.float32)
    for grain in (4, 16, 64, 256):
        coarse = random.normal(0, 1, (side // grain + 2, side // grain + 2)).astype(np.float32)
        wide += cv2.resize(coarse, (side, side), interpolation=cv2.INTER_CUBIC) * grain**0.5 * 4
    wide[: side // 3] *= 0.1
    noise = random.normal(0, 1, wide.shape).astype(np.float32)
    views = []
    for number in range(frames):
        view = wide[number : number + height, 2 * number : 2 * number + width]
        views.append(np.rint(view + noise[:height, -width:] + 110).clip(16, 235).astype(np.uint8))
    return views


def job(width: int, height: int, rotation: int = 0, **media: Any) -> Job:
    """A job over pictures of a size, stored turned."""
    video = VideoInfo(0, "none", width, height, "yuv420p", "yuv420p", (1, 25), rotation=rotation)
    return Job(JobSpec("job", "in"), MediaInfo("in", "none", video, **media))


def opened(work: Job, *, told: list[Any] | None = None, **options: Any) -> Mark:
    """The stage at work on a job; ``told`` gets its warnings and reports."""
    keep = [] if told is None else told
    context = StageContext(
        "mark", warn=keep.append, report=lambda key, value: keep.append((key, value))
    )
    stage = Mark(MarkOptions(**{"run": RUN, "made": "composite", **options}), context)
    stage.open()
    stage.begin(work)
    return stage


def marked(slot: MemorySlot, stage: Mark) -> MemorySlot:
    """The slot, its picture marked."""
    token = Token("run", 0)
    assert list(stage.process([Work(token, slot.frame(journaled=True))])) == [token]
    return slot


def marked_views(views: Sequence[Luma], rotation: int = 0, **options: Any) -> Iterator[Luma]:
    """Views as they are stored, marked by the stage."""
    height, width = views[0].shape
    stage = opened(job(width, height, rotation), **options)
    for view in views:
        slot = MemorySlot.of("gray", width, height)
        slot.frame().fill_planes()[0][:] = view
        yield marked(slot, stage).frame().planes[0].copy()


def encode(
    path: Path,
    views: Iterator[Luma] | Sequence[Luma],
    crf: int,
    size: tuple[int, int] | None = None,
) -> Path:
    """The views by x264, scaled before."""
    with av.open(str(path), "w") as out:
        stream = None
        for view in views:
            picture = av.VideoFrame.from_ndarray(view, format="gray")
            width, height = size or (picture.width, picture.height)
            if stream is None:
                stream = out.add_stream("libx264", rate=25)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.options = {"crf": str(crf), "preset": "veryfast"}
                stream.codec_context.thread_count = 1
            scaled = picture.reformat(width, height, "yuv420p", interpolation="BICUBIC")
            out.mux(stream.encode(scaled))
        assert stream is not None
        out.mux(stream.encode(None))
    return path
