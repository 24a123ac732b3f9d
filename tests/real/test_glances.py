"""A face that is too small for a glance is covered all the time, though most looks are glances."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import scenes

from mpflow.memory import MemorySlot
from mpflow.models.store import ModelStore
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo
from mpflow.stage import StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.stages.track import Track, TrackOptions
from mpflow.tokens import Face, Token

FRAMES, RATE, SMALL = 40, 30, 24
WIDTH, HEIGHT = scenes.FULL_SIZE
THERE = (np.array([180, 62]), np.array([270, 176]))
"""The face in the astronaut's portrait."""


def place(number: int) -> np.ndarray:
    """Where the small head's picture is on a frame: it walks to the left, and bobs."""
    return np.rint([1500 - 2 * number, 500 + 3 * np.sin(number / 3)]).astype(int)


def clip(store: ModelStore, comes: int) -> tuple[list[MemorySlot], list[tuple[float, ...]]]:
    """A large face in every frame, and from one on a small one; and the box of that."""
    portrait = scenes.read(store, "astronaut")
    scale = SMALL / (THERE[1] - THERE[0]).max()
    head = cv2.resize(
        portrait[:300, 60:400], None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA
    )
    slots, boxes = [], []
    for number in range(FRAMES):
        picture = np.full((HEIGHT, WIDTH, 3), 110, np.uint8)
        picture[30 : 30 + portrait.shape[0], 40 : 40 + portrait.shape[1]] = portrait
        x, y = place(number)
        if number >= comes:
            picture[y : y + head.shape[0], x : x + head.shape[1]] = head
        slots.append(scenes.slot(picture))
        corners = [(corner - (60, 0)) * scale + (x, y) for corner in THERE]
        boxes.append(tuple(np.concatenate(corners)))
    return slots, boxes


def covered(faces: tuple[Face, ...], box: tuple[float, ...]) -> bool:
    """Whether the ellipse around some face, twice its size, has the corners of a box in it."""
    for face in faces:
        x1, y1, x2, y2 = face.box
        across = [(x - (x1 + x2) / 2) / (x2 - x1) for x in box[::2]]
        down = [(y - (y1 + y2) / 2) / (y2 - y1) for y in box[1::2]]
        if all(x * x + y * y <= 1 for x in across for y in down):
            return True
    return False


@pytest.mark.parametrize("comes", [12, 17])
def test_a_face_of_24_pixels_at_1080p_is_covered_in_every_frame(
    model_store: ModelStore, comes: int
) -> None:
    sizes: list[int] = []

    class Seen(Detect):
        def _look_at(self, frames: Any, close: bool) -> Any:
            sizes.append(960 if close else 640)
            return super()._look_at(frames, close)

    slots, boxes = clip(model_store, comes)
    options = DetectOptions(every="auto", side=960, glance=640, weak=0.3, device="cpu")
    detect = Seen(options, StageContext("detect"))
    track = Track(TrackOptions(), StageContext("track"))
    detect.open()
    track.open()
    video = VideoInfo(0, "raw", WIDTH, HEIGHT, "yuv420p", "yuv420p", (1, RATE))
    job = Job(JobSpec("1", "in"), MediaInfo("in", "raw", video))
    detect.begin(job)
    track.begin(job)
    tokens: list[Token] = []

    def follow(token: Token) -> None:
        tokens.extend(track.process([Work(token, slots[token.seq].frame())]))

    for number, slot in enumerate(slots):
        card = Token("1", number, pts=number, time_base=(1, RATE))
        for token in detect.process([Work(card, slot.frame())]):
            follow(token)
    for token in detect.flush():
        follow(token)
    tokens += track.flush()
    assert [token.seq for token in tokens] == list(range(FRAMES))
    open_frames = [t.seq for t in tokens[comes:] if not covered(t.faces, boxes[t.seq])]
    assert open_frames == []
    assert sizes.count(640) >= 2


def test_a_glance_does_not_see_the_small_face(model_store: ModelStore) -> None:
    """Else the test above would tell nothing."""
    slots, _ = clip(model_store, 0)
    for side, faces in ((640, 1), (960, 2)):
        detect = Detect(DetectOptions(side=side, device="cpu"), StageContext("detect"))
        detect.open()
        (token,) = detect.process([Work(Token("1", 0), slots[0].frame())])
        assert len(token.faces) == faces
