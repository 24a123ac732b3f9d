"""Clips of real faces for the benches: pan and zoom over two photos, light noise, a tone.

The photos (the group of six and the astronaut, both from the model store) take turns, each seen
through a moving window; the noise makes every frame new to the codec. The same arguments give
the same pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt

from mpflow.models.store import ModelStore

Bgr = npt.NDArray[np.uint8]

RATE = 30
SCENE = 150  # frames before the other photo is shown
NOISE = 2.0  # standard deviation, in steps of 8 bits
SAMPLES = 48_000
TONE_HZ = 440.0


PHOTOS = ("group-photo", "astronaut")


def face_clip(
    folder: Path, width: int, height: int, frames: int, photos: Sequence[str] = PHOTOS
) -> Path:
    """The clip of that size in ``folder``, made if it is not there; of these photos by turns."""
    who = "faces" if photos == PHOTOS else "-".join(photos)
    path = folder / f"{who}-{width}x{height}-{frames}.mp4"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".making.mp4")
        _write(partial, _pictures(width, height, frames, photos), (width, height), frames)
        partial.rename(path)
    return path


def _write(path: Path, pictures: Iterator[Bgr], size: tuple[int, int], frames: int) -> None:
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=RATE)
        (video.width, video.height), video.pix_fmt = size, "yuv420p"
        video.codec_context.thread_count = 2
        video.options = {"crf": "20", "preset": "veryfast"}
        sound = out.add_stream("aac", rate=SAMPLES, layout="mono")
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        for part in _tone(frames / RATE):
            out.mux(sound.encode(part))
        out.mux(sound.encode(None))


def _pictures(width: int, height: int, frames: int, names: Sequence[str]) -> Iterator[Bgr]:
    store = ModelStore()
    photos = [cv2.imread(str(store.path(name))) for name in names]
    random = np.random.default_rng(1)
    grains = [_grain(random, width, height) for _ in range(4)]
    for number in range(frames):
        scene, within = divmod(number, SCENE)
        photo = photos[scene % len(photos)]
        window = _window(photo.shape[1], photo.shape[0], width / height, within / SCENE)
        seen = cv2.warpAffine(photo, window * width, (width, height), flags=cv2.INTER_CUBIC)
        grain = grains[number % len(grains)]
        shifted = np.roll(grain, tuple(random.integers(0, (height, width))), axis=(0, 1))
        yield cv2.add(seen, shifted, dtype=cv2.CV_8U)


def _window(columns: int, rows: int, aspect: float, time: float) -> npt.NDArray[np.float64]:
    """What is seen of a photo at ``time`` (0..1) of its scene: a map to a picture one unit wide.

    The window starts as wide as the photo allows, closes in to 70 %, and swings aside.
    """
    widest = min(columns, rows * aspect)
    side = widest * (1 - 0.3 * math.sin(math.pi * time) ** 2)
    left = (columns - side) * (0.5 + 0.5 * math.sin(2 * math.pi * time))
    top = (rows - side / aspect) * (0.35 + 0.3 * math.sin(4 * math.pi * time))
    return np.array([[1.0, 0.0, -left], [0.0, 1.0, -top]]) / side


def _grain(random: np.random.Generator, width: int, height: int) -> npt.NDArray[np.int16]:
    plane = np.rint(random.normal(0, NOISE, (height, width, 1))).astype(np.int16)
    return plane.repeat(3, axis=2)


def _tone(seconds: float) -> Iterator[av.AudioFrame]:
    step = 1024
    for start in range(0, round(seconds * SAMPLES), step):
        times = np.arange(start, start + step) / SAMPLES
        wave = (0.2 * np.sin(2 * math.pi * TONE_HZ * times)).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(wave[None], format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = SAMPLES, start, Fraction(1, SAMPLES)
        yield frame
