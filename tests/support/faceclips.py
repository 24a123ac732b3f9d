"""Clips of real faces that are hard to follow, with the truth beside them.

photos -> takes (tests/support/facetakes.py) -> frames, grain -> x264, and clip.json

The same arguments give the same pictures. The truth says for every frame who is where, and how
much of the face can be seen: 0 while it is hidden or outside. Made by

    face_clip(ModelStore(), folder, height=720, takes=("fast", "occluded"), frames=60)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import facecanvas
import facetakes
import msgspec
import numpy as np
from facephotos import Bgr, Rectangle

from mpflow.models.store import ModelStore

RATE = 30
GRAIN = 2.0  # standard deviation, in steps of 8 bits
VERSION = 1


class Mark(msgspec.Struct, frozen=True):
    """A face of the truth: whose, its box in pixels, and the share of it that can be seen."""

    person: str
    box: Rectangle
    visible: float


class TakeSpan(msgspec.Struct, frozen=True):
    """Which frames a take has."""

    name: str
    first: int
    frames: int


class Truth(msgspec.Struct, frozen=True):
    """What a clip shows, as it is kept beside it."""

    width: int
    height: int
    rate: int
    takes: tuple[TakeSpan, ...]
    frames: tuple[tuple[Mark, ...], ...]

    def take(self, number: int) -> str:
        """The take that a frame belongs to."""
        return next(each.name for each in reversed(self.takes) if each.first <= number)


@dataclass(frozen=True)
class FaceClip:
    """A clip and its truth."""

    path: Path
    truth: Truth


def face_clip(
    store: ModelStore,
    folder: Path,
    *,
    height: int = 720,
    takes: Sequence[str] | None = None,
    frames: int = 60,
    suffix: str = ".mp4",
) -> FaceClip:
    """The takes one after the other, ``frames`` of each, 16:9, cut hard; made if not there."""
    wanted = facetakes.names(takes)
    short = "all" if takes is None else "-".join(wanted)
    path = folder / f"photos-v{VERSION}-{short}-{height}-{frames}{suffix}"
    beside = path.with_suffix(".json")
    if not (path.exists() and beside.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        truth = _write(store, path, height, wanted, frames)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=1))
    return FaceClip(path, msgspec.json.decode(beside.read_bytes(), type=Truth))


def _write(store: ModelStore, path: Path, height: int, takes: Sequence[str], frames: int) -> Truth:
    """Draw and encode every frame."""
    width = 2 * round(height * 16 / 9 / 2)
    random = np.random.default_rng(1)
    grains = [_grain(random, width, height) for _ in range(4)]
    marks: list[tuple[Mark, ...]] = []
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=RATE)
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        video.codec_context.thread_count = 2
        video.options = {"crf": "18", "preset": "veryfast"}
        for take in takes:
            for number in range(frames):
                canvas = facetakes.draw(store, take, (width, height), number, frames)
                shift = tuple(random.integers(0, (height, width)))
                grain = np.roll(grains[len(marks) % len(grains)], shift, axis=(0, 1))
                picture: Bgr = cv2.add(canvas.picture, grain, dtype=cv2.CV_8U).astype(np.uint8)
                marks.append(tuple(_mark(shown) for shown in canvas.shown))
                out.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        out.mux(video.encode(None))
    spans = tuple(TakeSpan(name, n * frames, frames) for n, name in enumerate(takes))
    return Truth(width, height, RATE, spans, tuple(marks))


def _mark(shown: facecanvas.Shown) -> Mark:
    x1, y1, x2, y2 = (round(value, 1) for value in shown.box)
    return Mark(shown.person, (x1, y1, x2, y2), round(shown.visible, 3))


def _grain(random: np.random.Generator, width: int, height: int) -> np.ndarray:
    plane = np.rint(random.normal(0, GRAIN, (height, width, 1))).astype(np.int16)
    return plane.repeat(3, axis=2)
