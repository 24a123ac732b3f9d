"""The takes of a photo clip: each shows one thing that makes faces hard to follow.

A take draws frame ``number`` of ``frames`` on a canvas; lengths are shares of the picture's
height, so that every size of clip shows the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import cv2
import numpy as np
from facecanvas import Canvas, place, smeared
from facephotos import GROUP, GROUP_FACES, Bgr, CutOut, cut_out, photo

from mpflow.models.store import ModelStore

Take = Callable[[ModelStore, Canvas, int, int], None]


@cache
def _person(store: ModelStore, name: str) -> CutOut:
    return cut_out(store, name)


@cache
def _photo(store: ModelStore, name: str) -> Bgr:
    return photo(store, name)


@cache
def _wall(seed: int, width: int, height: int) -> Bgr:
    """Something to stand before: coloured patches and stripes, twice as wide as the picture."""
    random = np.random.default_rng(seed)
    few = random.integers(80, 170, (9, 32, 3)).astype(np.uint8)
    wide = cv2.resize(few, (2 * width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    step = max(2, height // 90)
    fine = random.normal(0, 8, (height // step + 1, 2 * width // step + 1, 1))
    fine = fine.repeat(step, axis=0).repeat(step, axis=1)[:height, : 2 * width]
    return np.clip(wide + fine, 0, 255).astype(np.uint8)


def _stand(canvas: Canvas, seed: int, aside: float = 0.0) -> None:
    """Fill the canvas with a wall, seen ``aside`` pixels from its left end."""
    left = round(aside) % canvas.width
    canvas.picture = _wall(seed, canvas.width, canvas.height)[:, left : left + canvas.width].copy()


def group(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """A camera wanders over six people; some leave the picture and come back."""
    whole, time = _photo(store, GROUP), number / frames
    rows, columns = whole.shape[:2]
    aspect = canvas.width / canvas.height
    side = min(columns, rows * aspect) * (1 - 0.3 * math.sin(math.pi * time) ** 2)
    left = (columns - side) * (0.5 + 0.5 * math.sin(2 * math.pi * time))
    top = (rows - side / aspect) * (0.35 + 0.3 * math.sin(4 * math.pi * time))
    scale = canvas.width / side
    canvas.see(whole, GROUP_FACES, np.array([[scale, 0, -left * scale], [0, scale, -top * scale]]))


def whip(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """A camera swings from one end of the group to the other and back."""
    whole, time = _photo(store, GROUP), number / frames
    rows, columns = whole.shape[:2]
    side = columns * 0.62
    swing = 0.5 - 0.5 * math.cos(2 * math.pi * time)
    left, top = (columns - side) * swing, 0.04 * rows
    scale = canvas.width / side
    canvas.see(whole, GROUP_FACES, np.array([[scale, 0, -left * scale], [0, scale, -top * scale]]))
    speed = (columns - side) * scale * math.pi / frames * math.sin(2 * math.pi * time)
    if abs(speed) / 2 > 1:
        canvas.picture = smeared(canvas.picture, (speed / 2, 0)).astype(np.uint8)


def crossing(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Two people pass each other, one before the other."""
    _stand(canvas, 1)
    time, high, wide = number / frames, canvas.height, canvas.width
    near, far = _person(store, "person-b-1"), _person(store, "person-a-2")
    bob = 0.01 * high * math.sin(12 * math.pi * time)
    canvas.paste(far, place(far, wide * (0.2 + 0.6 * time), 0.44 * high + bob, 0.2 * high))
    canvas.paste(near, place(near, wide * (0.85 - 0.7 * time), 0.5 * high - bob, 0.26 * high))


def occluded(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Somebody sways behind two posts, one that hides the face and one that hides half."""
    _stand(canvas, 2)
    time, high, wide = number / frames, canvas.height, canvas.width
    who = _person(store, "impostor-1")
    x = wide * (0.5 + 0.06 * math.sin(2 * math.pi * time))
    canvas.paste(who, place(who, x, 0.45 * high, 0.28 * high, 6 * math.sin(3 * math.pi * time)))
    columns = np.arange(wide)
    for start, across in ((1.1, 0.26), (1.9, 0.1)):
        middle = wide * (start - 1.6 * time)
        alpha = np.clip(across * high / 2 - np.abs(columns - middle) + 0.5, 0, 1)
        post = _wall(3, wide, high)[:, -wide:] // 2
        canvas.hide(post, np.tile(alpha.astype(np.float32), (high, 1)))


def fast(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Somebody runs to and fro, at most five heights of the face in a second, smeared by it."""
    _stand(canvas, 4)
    high, wide = canvas.height, canvas.width
    who = _person(store, "impostor-2")

    def spot(when: float) -> tuple[float, float]:
        swing = math.sin(2 * math.pi * when / 45)
        return wide * (0.5 + 0.12 * swing), high * (0.45 + 0.08 * math.sin(2 * math.pi * when / 40))

    (x, y), (later_x, later_y) = spot(number), spot(number + 0.5)
    canvas.paste(who, place(who, x, y, 0.22 * high), (later_x - x, later_y - y))


def profile(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Somebody turns from one side to the other, and walks on slowly meanwhile."""
    _stand(canvas, 5)
    time, high, wide = number / frames, canvas.height, canvas.width
    who = _person(store, "person-b-2").turned(70 * math.sin(2 * math.pi * time))
    canvas.paste(who, place(who, wide * (0.4 + 0.2 * time), 0.45 * high, 0.25 * high))


def small(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """A crowd far away, each with a way of his own; the camera shakes."""
    random = np.random.default_rng(number)
    shake = random.normal(0, 0.003 * canvas.height, 2)
    _stand(canvas, 6, 0.3 * canvas.width + shake[0])
    time, high, wide = number / frames, canvas.height, canvas.width
    names = ["astronaut", "person-a-2", "person-b-1", "impostor-1", "impostor-2"]
    for index, name in enumerate(names):
        who, tall = _person(store, name), (0.03 + 0.008 * index) * high
        x = wide * (0.12 + 0.19 * index + 0.06 * math.sin(2 * math.pi * (time + index / 5)))
        y = high * (0.3 + 0.1 * (index % 3))
        canvas.paste(who, place(who, x - shake[0], y - shake[1], tall))


def blank(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Nobody: a camera that goes along a wall."""
    _stand(canvas, 7, number * canvas.width / 200)


def doors(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """Somebody comes in from the side, stays for a moment, and goes out at the top."""
    _stand(canvas, 8)
    time, high, wide = number / frames, canvas.height, canvas.width
    who, x, y = _person(store, "astronaut"), 0.4 * wide, 0.45 * high
    if time < 0.4:
        x -= (0.4 - time) / 0.3 * 0.55 * wide
    if time > 0.6:
        y -= (time - 0.6) / 0.3 * 0.75 * high
    canvas.paste(who, place(who, x, y, 0.24 * high))


def lights(store: ModelStore, canvas: Canvas, number: int, frames: int) -> None:
    """The light goes down and flares up, and the lens loses its focus, before somebody."""
    _stand(canvas, 9)
    time, high, wide = number / frames, canvas.height, canvas.width
    who = _person(store, "person-a-2")
    x = wide * (0.6 - 0.2 * time)
    canvas.paste(who, place(who, x, 0.45 * high, 0.2 * high, 8 * math.sin(4 * math.pi * time)))
    defocus = 0.02 * high * max(0.0, 1 - abs(time - 0.8) / 0.12)
    if defocus > 0.5:
        canvas.picture = cv2.GaussianBlur(canvas.picture, (0, 0), defocus).astype(np.uint8)
    gain = 1 - 0.85 * max(0.0, 1 - abs(time - 0.25) / 0.12)
    if 0.5 <= time < 0.53:
        gain = 2.5
    canvas.picture = np.clip(canvas.picture * gain, 0, 255).astype(np.uint8)


TAKES: dict[str, Take] = {
    take.__name__: take
    for take in (group, crossing, occluded, fast, profile, blank, small, doors, lights, whip)
}


def draw(store: ModelStore, take: str, size: tuple[int, int], number: int, frames: int) -> Canvas:
    """One frame of a take."""
    canvas = Canvas(*size, np.zeros((size[1], size[0], 3), np.uint8))
    TAKES[take](store, canvas, number, frames)
    return canvas


def names(takes: Sequence[str] | None) -> Sequence[str]:
    """The asked takes, or all of them."""
    return tuple(TAKES) if takes is None else tuple(takes)
