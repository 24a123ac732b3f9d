"""A clip to show what mpflow does: a camera moving over photos of real faces, with sound.

Four people of a group photo, three of them nearer, then one portrait, two seconds each, 1280x720
at 30 frames a second. The faces come in several sizes, which one talking head would not show. The
camera moves within the picture: no face touches its border, where the detector may miss half of
one. Made the same way every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT, RATE = 1280, 720, 30
SHOT_S = 2.0
CODING = {"crf": "20", "preset": "veryfast"}
SOUND_RATE = 48000
CHORD_HZ = (220.0, 277.18, 329.63)
"""A, C sharp and E: a major chord is kinder than one tone."""

Picture = npt.NDArray[np.uint8]
Window = tuple[float, float, float]
"""Where the camera looks: centre x, centre y, width, each as a share of the photo's width."""

_FOUR_WIDE, _FOUR_AROUND = 0.68, 1.3
"""The share of the photo's width with the four: between the covers of the other two, with a shirt
behind them, detectors see a face that is none."""

_FOUR: tuple[Window, Window] = ((0.5, 0.28, 1.0), (0.48, 0.26, 0.8))
_THREE: tuple[Window, Window] = ((0.27, 0.22, 0.54), (0.265, 0.22, 0.5))
_PORTRAIT: tuple[Window, Window] = ((0.5, 0.28, 1.0), (0.47, 0.22, 0.82))


def make_demo_clip(group_photo: Path, portrait: Path, target: Path) -> None:
    """Write the clip as H.264 and AAC; the photos are any that OpenCV reads."""
    with av.open(str(target), "w") as container:
        picture = container.add_stream("libx264", rate=RATE, options=CODING)
        picture.width, picture.height, picture.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        sound = container.add_stream("aac", rate=SOUND_RATE, layout="stereo")
        images = 0
        for image in _pictures(group_photo, portrait):
            images += 1
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            container.mux(picture.encode(frame))
        container.mux(picture.encode(None))
        for part in _sound(images / RATE):
            container.mux(sound.encode(part))
        container.mux(sound.encode(None))


def _pictures(group_photo: Path, portrait: Path) -> Iterator[Picture]:
    noise = np.random.default_rng(1)
    group = _read(group_photo)
    four = group[:, : round(_FOUR_WIDE * group.shape[1])]
    count = round(SHOT_S * RATE)
    for photo, path in (
        (_widened(four, _FOUR_AROUND), _FOUR),
        (group, _THREE),
        (_widened(_read(portrait)), _PORTRAIT),
    ):
        for number in range(count):
            yield _grainy(_look(photo, _along(path, number / (count - 1))), noise)


def _read(path: Path) -> Picture:
    image: Any = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(image, np.uint8)


def _widened(photo: Picture, around: float = 1.0) -> Picture:
    """A photo on a blurred copy of itself that is wide, and ``around`` times as high."""
    rows, columns = photo.shape[:2]
    high = round(rows * around)
    wide = round(high * WIDTH / HEIGHT)
    behind = cv2.GaussianBlur(cv2.resize(photo, (wide, high)), (0, 0), high / 20)
    left, top = (wide - columns) // 2, (high - rows) // 2
    behind[top : top + rows, left : left + columns] = photo
    return np.asarray(behind, np.uint8)


def _along(path: tuple[Window, Window], share: float) -> Window:
    """The window at a share of the way, slow at both ends."""
    eased = share * share * (3 - 2 * share)
    x, y, width = (a + (b - a) * eased for a, b in zip(*path, strict=True))
    return x, y, width


def _look(photo: Picture, window: Window) -> Picture:
    """What the camera sees: the window, kept inside the photo, scaled to the clip's size."""
    rows, columns = photo.shape[:2]
    width = min(window[2] * columns, rows * WIDTH / HEIGHT)
    height = width * HEIGHT / WIDTH
    x = min(max(window[0] * columns, width / 2), columns - width / 2)
    y = min(max(window[1] * columns, height / 2), rows - height / 2)
    scale = WIDTH / width
    shift = [
        [scale, 0, -(x - width / 2) * scale],
        [0, scale, -(y - height / 2) * scale],
    ]
    seen = cv2.warpAffine(photo, np.array(shift), (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC)
    return np.asarray(seen, np.uint8)


def _grainy(image: Picture, noise: np.random.Generator) -> Picture:
    """A little sensor noise: a still photo would be too easy for the encoder."""
    grain = noise.integers(-2, 3, (HEIGHT, WIDTH, 1), np.int16)
    return np.asarray(np.clip(image + grain, 0, 255), np.uint8)


def _sound(seconds: float) -> Iterator[av.AudioFrame]:
    """A soft chord that swells and fades, in blocks of 1024 samples."""
    time = np.arange(round(seconds * SOUND_RATE)) / SOUND_RATE
    swell = np.sin(np.pi * time / seconds) ** 2
    wave = sum(np.sin(2 * np.pi * pitch * time) for pitch in CHORD_HZ) * swell * 0.08
    both = np.stack([wave, wave]).astype(np.float32)
    for start in range(0, both.shape[1], 1024):
        block = np.ascontiguousarray(both[:, start : start + 1024])
        part = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
        part.sample_rate, part.pts = SOUND_RATE, start
        part.time_base = Fraction(1, SOUND_RATE)
        yield part
