"""Real faces are gone after redaction: for two detectors and for an embedder.

Every method at its defaults, and every form: seven faces from 120 pixels down to 25, and the
portraits of four people, two of them in two photos, large and small. The detectors look at three
sizes and at thresholds below those at which they are used; the embedder compares what is left of
a face with the face, and with the other photo of the same person.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import msgspec
import numpy as np
import pytest
import scenes
from scenes import FACES

from mpflow.memory import MemorySlot
from mpflow.models import align
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detections, Detector, Floats
from mpflow.models.facemesh import FaceMesh
from mpflow.models.landmarks import fit
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SAME_PERSON, SFace
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet
from mpflow.side import bytes_for
from mpflow.stage import StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.stages.redact import Redact, RedactOptions
from mpflow.tokens import Face, Token

METHODS = ["blur", "mosaic", "solid"]
FORMS = [("box", "face"), ("mesh", "face"), ("ellipse", "head"), ("mesh", "head")]
PORTRAITS = {
    "person-a-1": "person-a-2",
    "person-a-2": "person-a-1",
    "person-b-1": "person-b-2",
    "person-b-2": "person-b-1",
    "impostor-1": "impostor-1",
    "impostor-2": "impostor-2",
}
"""Each portrait, and the other one of the same person where there is one."""

SMALL = 48  # pixels of a face
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


@pytest.fixture(scope="module")
def mesh(model_store: ModelStore) -> FaceMesh:
    return FaceMesh(open_session(model_store.path("facemesh"), device="cpu")[0])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A green disc on nothing, to be laid over faces."""
    picture = np.zeros((128, 128, 4), np.uint8)
    cv2.circle(picture, (64, 64), 62, (90, 140, 60, 255), cv2.FILLED)
    path = tmp_path_factory.mktemp("plain") / "disc.png"
    path.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    return str(path)


def slot_of(picture: scenes.Picture) -> MemorySlot:
    """A frame with room for a mesh of each face."""
    return scenes.slot(picture, side_bytes=FACES * bytes_for((468, 3), "f4"))


def faces_of(detect: Detect, slot: MemorySlot) -> tuple[Face, ...]:
    (token,) = detect.process([Work(Token("run", 0), slot.frame())])
    return token.faces


def with_meshes(mesh: FaceMesh, slot: MemorySlot, faces: tuple[Face, ...]) -> tuple[Face, ...]:
    frame = slot.frame()
    found = fit(mesh, [(frame, face) for face in faces])
    assert all(each.score > 0.5 for each in found)
    return frame.attach(faces, {"mesh": [each.points for each in found]})


def redact(slot: MemorySlot, faces: tuple[Face, ...], method: str, **options: object) -> None:
    values = {"method": method, **options}
    stage = Redact(msgspec.convert(values, RedactOptions), StageContext("redact"))
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


@pytest.mark.parametrize("method", ["blur", "mosaic"])  # solid leaves less
@pytest.mark.parametrize(("shape", "region"), FORMS)
def test_every_form_of_a_cover_hides_as_much(
    model_store: ModelStore,
    detect: Detect,
    judges: Judges,
    *,
    mesh: FaceMesh,
    shape: str,
    region: str,
    method: str,
) -> None:
    for picture in (scenes.scene(model_store, 540), scenes.read(model_store, "person-b-2")):
        slot = slot_of(picture)
        faces = with_meshes(mesh, slot, faces_of(detect, slot))
        before = scenes.bgr(slot)
        redact(slot, faces, method, shape=shape, region=region)
        after = scenes.bgr(slot)
        assert found_near(judges.yunet, after, faces) == []
        assert found_near(judges.centerface, after, faces) == []
        known, shown = (embeddings(judges.sface, each, faces) for each in (before, after))
        assert (known * shown).sum(axis=1).max() < DIFFERENT_PERSON


@pytest.fixture(scope="module")
def references(model_store: ModelStore, detect: Detect, judges: Judges) -> dict[str, Floats]:
    """The embedding of each portrait."""
    found = {}
    for name in PORTRAITS:
        picture = scenes.read(model_store, name)
        found[name] = embeddings(judges.sface, picture, faces_of(detect, scenes.slot(picture)))[0]
    return found


@pytest.mark.parametrize("method", [*METHODS, "image"])
@pytest.mark.parametrize("name", PORTRAITS)
def test_a_portrait_is_known_no_more(
    model_store: ModelStore,
    detect: Detect,
    judges: Judges,
    *,
    references: dict[str, Floats],
    plain: str,
    name: str,
    method: str,
) -> None:
    """A large face, whose margin reaches beyond the picture, and a small one of the same person."""
    large = scenes.read(model_store, name)
    (face,) = faces_of(detect, scenes.slot(large))
    scale = SMALL / (face.box[3] - face.box[1])
    small = np.asarray(cv2.resize(large, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))
    for picture in (large, small.astype(np.uint8)):
        slot = scenes.slot(picture)
        faces = faces_of(detect, slot)
        assert len(faces) == 1
        redact(slot, faces, method, image=plain if method == "image" else "")
        after = scenes.bgr(slot)
        shown = embeddings(judges.sface, after, faces)[0]
        for known in (name, PORTRAITS[name]):
            assert float(references[known] @ shown) < DIFFERENT_PERSON
        if method != "image":  # whose picture may be anything, a face too
            assert found_near(judges.yunet, after, faces) == []
            assert found_near(judges.centerface, after, faces) == []


def test_a_cover_that_is_too_weak_would_be_noticed(
    model_store: ModelStore, detect: Detect, judges: Judges, references: dict[str, Floats]
) -> None:
    slot = scenes.slot(scenes.read(model_store, "person-a-2"))
    faces = faces_of(detect, slot)
    redact(slot, faces, "mosaic", strength=0.12)
    shown = embeddings(judges.sface, scenes.bgr(slot), faces)[0]
    assert float(references["person-a-2"] @ shown) > SAME_PERSON


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
