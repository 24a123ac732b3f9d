"""The photo clips show what their truth says: else whatever is measured on them proves nothing."""

from __future__ import annotations

import av
import facetakes
import numpy as np
import pytest
from faceclips import FaceClip, Mark, face_clip

from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet

FRAMES = 6
EASY = ["group", "crossing", "profile", "occluded", "lights"]


@pytest.fixture(scope="module")
def clip(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> FaceClip:
    folder = tmp_path_factory.mktemp("photos")
    return face_clip(model_store, folder, height=480, takes=EASY, frames=FRAMES)


def _covers(found: np.ndarray, mark: Mark) -> bool:
    x, y = (found[0] + found[2]) / 2, (found[1] + found[3]) / 2
    x1, y1, x2, y2 = mark.box
    return bool(x1 < x < x2 and y1 < y < y2)


def test_every_open_face_is_where_the_truth_says_and_nobody_else(
    clip: FaceClip, model_store: ModelStore
) -> None:
    yunet = YuNet(open_session(model_store.path("yunet"), device="cpu")[0], score=0.5)
    with av.open(str(clip.path)) as container:
        pictures = [each.to_ndarray(format="bgr24") for each in container.decode(video=0)]
    assert len(pictures) == len(clip.truth.frames) == len(EASY) * FRAMES
    missed, seen = [], 0
    for number, (picture, marks) in enumerate(zip(pictures, clip.truth.frames, strict=True)):
        blob, scale = letterbox(picture.astype(np.uint8), 864, 480)
        boxes = yunet.detect(blob)[0].scaled(1 / scale).boxes
        assert all(any(_covers(box, mark) for mark in marks) for box in boxes), number
        for mark in (each for each in marks if each.visible > 0.9):
            seen += 1
            if not any(_covers(box, mark) for box in boxes):
                missed.append((clip.truth.take(number), number, mark.person))
    assert seen > 50 and len(missed) <= 0.1 * seen, missed


def test_a_hidden_face_is_said_to_be_hidden_and_one_outside_too(model_store: ModelStore) -> None:
    def visible(take: str, number: int) -> list[float]:
        drawn = facetakes.draw(model_store, take, (640, 360), number, 60)
        return [shown.visible for shown in drawn.shown]

    assert visible("occluded", 0) == [pytest.approx(1, abs=0.02)]
    assert visible("occluded", 20) == [0]
    assert visible("doors", 0) == visible("doors", 59) == [0]
    assert visible("blank", 3) == []


def test_a_frame_is_drawn_the_same_again(model_store: ModelStore) -> None:
    one, two = (facetakes.draw(model_store, "small", (640, 360), 7, 60) for _ in range(2))
    assert (one.picture == two.picture).all()
    assert [each.box for each in one.shown] == [each.box for each in two.shown]
