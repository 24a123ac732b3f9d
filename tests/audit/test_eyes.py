"""What is looked at in pixels: detail, likeness and enlarged looks, on real faces."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
import scenes
from scenes import Picture

from mpflow.audit.eyes import Eyes, Pair, detail, look, looks
from mpflow.audit.placing import Canvas, placement
from mpflow.audit.verdicts import Limits, is_alike, is_unchanged
from mpflow.memory import MemorySlot
from mpflow.models.detections import Detections
from mpflow.models.detectors import detector
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.tokens import Box

LIMITS = Limits()
EVEN = np.eye(3)


@pytest.fixture(scope="module")
def portrait(model_store: ModelStore) -> Picture:
    return scenes.read(model_store, "astronaut")


@pytest.fixture(scope="module")
def eyes(model_store: ModelStore) -> Eyes:
    second, embedder = (
        open_session(model_store.path(name), device="cpu")[0] for name in ("centerface", "sface")
    )
    return Eyes(SFace(embedder), detector("centerface", second, score=0.05))


@pytest.fixture(scope="module")
def face(model_store: ModelStore, portrait: Picture) -> Detections:
    yunet = detector("yunet", open_session(model_store.path("yunet"), device="cpu")[0])
    blob, scale = letterbox(portrait, 512, 512)
    return yunet.detect(blob)[0].scaled(1 / scale)


@pytest.fixture
def box(face: Detections) -> Box:
    x1, y1, x2, y2 = face.boxes[0].tolist()
    return x1, y1, x2, y2


def pair_of(before: MemorySlot, after: MemorySlot, place: np.ndarray = EVEN) -> Pair:
    return Pair(before.frame(), after.frame(), place)


def blurred(sigma: float) -> Callable[[Picture], Picture]:
    return lambda picture: np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma), np.uint8)


def coded(picture: Picture) -> Picture:
    """Through a lossy coder."""
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 40])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)


@pytest.mark.parametrize(
    ("change", "unchanged", "alike"),
    [
        (lambda picture: picture, True, True),
        (coded, True, True),
        (blurred(3), False, True),
        (blurred(40), False, False),
        (lambda picture: np.full_like(picture, 90), False, False),
        (lambda picture: picture[:, ::-1].copy(), False, False),
    ],
    ids=["same", "coded", "weak blur", "strong blur", "solid", "another place"],
)
def test_detail_and_likeness_tell_what_is_left_of_a_face(
    eyes: Eyes,
    portrait: Picture,
    face: Detections,
    box: Box,
    *,
    change: Callable[[Picture], Picture],
    unchanged: bool,
    alike: bool,
) -> None:
    pair = pair_of(scenes.slot(portrait), scenes.slot(change(portrait)))
    found = detail(pair, box)
    assert found is not None
    assert is_unchanged(found, LIMITS) is unchanged
    likeness = eyes.likeness(pair, [tuple(point) for point in face.points[0].tolist()])
    assert is_alike(likeness, LIMITS) is alike


def test_a_face_without_detail_of_its_own_says_nothing(portrait: Picture, box: Box) -> None:
    flat = scenes.slot(np.full_like(portrait, 90))
    assert detail(pair_of(flat, scenes.slot(portrait)), box) is None


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_an_output_that_is_turned_and_smaller_is_seen_at_its_own_place(
    eyes: Eyes, portrait: Picture, face: Detections, box: Box, turns: int
) -> None:
    small = cv2.resize(portrait, (384, 384), interpolation=cv2.INTER_AREA)
    stored = np.ascontiguousarray(np.rot90(small, -turns), np.uint8)  # turned back when shown
    place = placement(Canvas(512, 512), Canvas(384, 384, turns))
    pair = pair_of(scenes.slot(portrait), scenes.slot(stored), place)
    found = detail(pair, box)
    assert found is not None
    assert is_unchanged(found, LIMITS)
    points = [tuple(point) for point in face.points[0].tolist()]
    assert eyes.likeness(pair, points).shown > 0.9
    before, after = looks(pair, box, Canvas(512, 512), 64, 2.0)
    assert cv2.absdiff(before, after).mean() < 6


def test_an_enlarged_look_sees_a_face_and_no_lamp(eyes: Eyes, portrait: Picture, box: Box) -> None:
    slot = scenes.slot(portrait)
    assert eyes.nearer(slot.frame(), box) > LIMITS.stray
    assert eyes.nearer(slot.frame(), (380, 380, 440, 460)) < LIMITS.stray


def test_a_look_for_people_is_upright(portrait: Picture, box: Box) -> None:
    upright = look(scenes.slot(portrait).frame(), box, Canvas(512, 512), 64, 2.0)
    turned = scenes.slot(np.ascontiguousarray(np.rot90(portrait, -1)))
    x1, y1, x2, y2 = box
    at = (511 - y2, x1, 511 - y1, x2)
    seen = look(turned.frame(), at, Canvas(512, 512, 1), 64, 2.0)
    assert cv2.absdiff(upright, seen).mean() < 3
