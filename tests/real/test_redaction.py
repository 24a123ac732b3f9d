"""Real faces are gone after redaction: for two detectors and for an embedder.

Seven faces, three methods at their defaults, from 120 pixels a face down to 25. The detectors
look at three sizes and at thresholds below those at which they are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
import pytest
import scenes
from scenes import FACES

from mpflow.memory import MemorySlot
from mpflow.models import align
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detections, Detector, Floats
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet
from mpflow.stage import StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.stages.redact import Redact, RedactOptions
from mpflow.tokens import Face, Token

METHODS = ["blur", "mosaic", "solid"]
HEIGHTS = [1080, 540, 340, 240]  # a face is about a ninth of that
LOOKED_AT = [(640, 384), (1280, 736), (1920, 1088)]
DIFFERENT_PERSON = 0.40  # 128 pairs of different people were at most that


@dataclass(frozen=True)
class Judges:
    """Who must not see a face any more."""

    yunet: YuNet
    centerface: CenterFace
    sface: SFace


@pytest.fixture(scope="module")
def judges(model_store: ModelStore) -> Judges:
    yunet, centerface, sface = (
        open_session(model_store.path(name), device="cpu")[0]
        for name in ("yunet", "centerface", "sface")
    )
    return Judges(YuNet(yunet, score=0.65), CenterFace(centerface, score=0.35), SFace(sface))


@pytest.fixture(scope="module")
def detect(model_store: ModelStore) -> Detect:
    options = DetectOptions(path=str(model_store.path("yunet")), device="cpu")
    stage = Detect(options, StageContext("detect"))
    stage.open()
    return stage


def faces_of(detect: Detect, slot: MemorySlot) -> tuple[Face, ...]:
    (token,) = detect.process([Work(Token("run", 0), slot.frame())])
    return token.faces


def redact(slot: MemorySlot, faces: tuple[Face, ...], method: str) -> None:
    stage = Redact(msgspec.convert({"method": method}, RedactOptions), StageContext("redact"))
    stage.open()
    list(stage.process([Work(Token("run", 0, faces=faces), slot.frame(journaled=True))]))


def found_near(
    detector: Detector, picture: scenes.Picture, faces: tuple[Face, ...]
) -> list[tuple[tuple[int, int], float]]:
    """Finds whose centre is within a face's side of an old face, at every size looked at."""
    near = []
    for width, height in LOOKED_AT:
        if width > 2 * picture.shape[1]:
            continue
        blob, scale = letterbox(picture, width, height)
        found = detector.detect(blob)[0].scaled(1 / scale)
        scores = _scores_near(found, faces)
        near += [((width, height), score) for score in scores]
    return near


def _scores_near(found: Detections, faces: tuple[Face, ...]) -> list[float]:
    near = []
    for box, score in zip(found.boxes, found.scores, strict=True):
        for face in faces:
            x1, y1, x2, y2 = face.box
            shift = max(
                abs(box[0] + box[2] - x1 - x2) / (x2 - x1),
                abs(box[1] + box[3] - y1 - y2) / (y2 - y1),
            )
            if shift < 2:
                near.append(float(score))
    return near


def embeddings(sface: SFace, picture: scenes.Picture, faces: tuple[Face, ...]) -> Floats:
    return sface.embed([align.crop(picture, face.points) for face in faces])


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("method", METHODS)
def test_redacted_faces_are_found_and_known_no_more(
    model_store: ModelStore, detect: Detect, judges: Judges, method: str, height: int
) -> None:
    slot = scenes.slot(scenes.scene(model_store, height))
    faces = faces_of(detect, slot)
    assert len(faces) == FACES
    before = scenes.bgr(slot)
    redact(slot, faces, method)
    after = scenes.bgr(slot)
    assert found_near(judges.yunet, after, faces) == []
    assert found_near(judges.centerface, after, faces) == []
    known = embeddings(judges.sface, before, faces)
    shown = embeddings(judges.sface, after, faces)
    assert (known * shown).sum(axis=1).max() < DIFFERENT_PERSON


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["person-a-1", "person-b-1", "impostor-1"])
def test_a_portrait_is_known_no_more(
    model_store: ModelStore, detect: Detect, judges: Judges, name: str, method: str
) -> None:
    """A large face, whose margin reaches beyond the picture."""
    picture = scenes.read(model_store, name)
    slot = scenes.slot(picture)
    (face,) = faces_of(detect, slot)
    before = scenes.bgr(slot)
    redact(slot, (face,), method)
    after = scenes.bgr(slot)
    assert found_near(judges.yunet, after, (face,)) == []
    assert found_near(judges.centerface, after, (face,)) == []
    known, shown = (embeddings(judges.sface, each, (face,)) for each in (before, after))
    assert float((known @ shown.T).max()) < DIFFERENT_PERSON


def test_the_judges_see_every_face_before_redaction(
    model_store: ModelStore, detect: Detect, judges: Judges
) -> None:
    """Otherwise the tests above would prove nothing."""
    picture = scenes.scene(model_store)
    faces = faces_of(detect, scenes.slot(picture))
    for detector in (judges.yunet, judges.centerface):
        blob, scale = letterbox(picture, 1280, 736)
        found = detector.detect(blob)[0].scaled(1 / scale)
        assert len(_scores_near(found, faces)) == FACES
    known = embeddings(judges.sface, picture, faces)
    np.testing.assert_allclose((known * known).sum(axis=1), 1, atol=1e-5)
