"""Clips of people side by side, and galleries of other photos of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import av
import cv2
import numpy as np
import scenes

from mpflow.models.store import ModelStore

FACES = {  # where the face is in each photo: x, y of its middle, and its height
    "person-a-1": (102, 100, 101),
    "person-a-2": (362, 374, 408),
    "person-b-1": (361, 346, 385),
    "person-b-2": (347, 320, 412),
    "impostor-1": (341, 330, 344),
    "impostor-2": (378, 369, 406),
}
HEIGHT, WIDTH, FACE = 320, 288, 100
"""Of the place that each person has in the picture, and of a face, in pixels."""


def place(number: int) -> slice:
    """The columns of the person who stands at place ``number``; covers of others end before."""
    return slice(number * WIDTH, (number + 1) * WIDTH)


def picture(store: ModelStore, names: Sequence[str], time: float = 0.0) -> scenes.Picture:
    """People beside each other, who sway a little as ``time`` goes on; an empty name is nobody."""
    out = np.full((HEIGHT, WIDTH * len(names), 3), 120, np.uint8)
    for number, name in enumerate(names):
        if name:
            out[:, number * WIDTH : (number + 1) * WIDTH] = _portrait(store, name, time + number)
    return out


def _portrait(store: ModelStore, name: str, time: float) -> scenes.Picture:
    x, y, high = FACES[name]
    scale = FACE / high
    sway = 6 * np.sin(time), 4 * np.sin(1.3 * time)
    goal = WIDTH / 2 + sway[0] - x * scale, HEIGHT * 0.45 + sway[1] - y * scale
    matrix = np.float32([[scale, 0, goal[0]], [0, scale, goal[1]]])
    photo = scenes.read(store, name)
    size = (WIDTH, HEIGHT)
    if scale < 0.5:  # or the photo's finest detail would flicker
        half = cv2.resize(photo, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        photo, matrix[:, :2] = half, matrix[:, :2] * 2
    return np.asarray(
        cv2.warpAffine(photo, matrix, size, flags=cv2.INTER_AREA, borderValue=(120, 120, 120)),
        np.uint8,
    )


def film(path: Path, pictures: Iterable[scenes.Picture], rate: int = 25) -> Path:
    """Encode pictures so that they come back nearly as they are."""
    with av.open(str(path), "w") as container:
        stream = None
        for each in pictures:
            if stream is None:
                stream = container.add_stream("libx264", rate=rate, options={"crf": "12"})
                stream.width, stream.height, stream.pix_fmt = *each.shape[1::-1], "yuv420p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(each, format="bgr24")))
        assert stream is not None
        container.mux(stream.encode(None))
    return path


def gallery(store: ModelStore, folder: Path, people: dict[str, Sequence[str]]) -> Path:
    """A folder with a sub-folder of photos for each person."""
    for person, names in people.items():
        (folder / person).mkdir(parents=True)
        for name in names:
            shutil.copy(store.path(name), folder / person / f"{name}.jpg")
    return folder
