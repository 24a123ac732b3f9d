"""YuNet on real photos, against stored truth and against OpenCV's own run of the original file."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from mpflow.errors import ConfigError, ContractError
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detections, Floats
from mpflow.models.detectors import detector
from mpflow.models.letterbox import letterbox
from mpflow.models.manifest import Manifest
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.yunet import OUTPUTS, STRIDES, YuNet, decode

Read = Callable[[str], NDArray[np.uint8]]
SIZES = [(320, 320), (640, 384), (640, 640)]

# The six faces of the group photo (1280x886), left to right, seen by eye and by both detectors
# at several sizes: centre x, centre y, width, height.
GROUP = np.array(
    [
        [110, 332, 110, 128],
        [320, 212, 103, 136],
        [519, 344, 110, 148],
        [795, 409, 98, 129],
        [953, 130, 110, 146],
        [1179, 339, 96, 125],
    ]
)


@pytest.fixture(scope="module")
def yunet(model_store: ModelStore) -> YuNet:
    return YuNet(open_session(model_store.path("yunet"), device="cpu")[0], score=0.7)


@pytest.fixture(scope="module")
def centerface(model_store: ModelStore) -> CenterFace:
    return CenterFace(open_session(model_store.path("centerface"), device="cpu")[0])


def places(found: Detections) -> Floats:
    """Centre and size of each box, left to right."""
    near, far = found.boxes[:, :2], found.boxes[:, 2:]
    values = np.hstack([(near + far) / 2, far - near])
    return values[values[:, 0].argsort()]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_all_six_faces_of_the_group_photo_are_found(
    yunet: YuNet, picture: Read, width: int, height: int
) -> None:
    blob, scale = letterbox(picture("group-photo"), width, height)
    (found,) = yunet.detect(blob)
    np.testing.assert_allclose(places(found.scaled(1 / scale)), GROUP, atol=15)
    assert (np.diff(found.scores) <= 0).all()


def test_the_astronaut_has_one_face_with_its_points_in_place(yunet: YuNet, picture: Read) -> None:
    blob, scale = letterbox(picture("astronaut"), 320, 320)
    (found,) = yunet.detect(blob)
    # Read off the photo by eye: image-left eye, image-right eye, tip of the nose, mouth corners.
    seen = [(202, 101), (245, 103), (221, 127), (201, 139), (246, 141)]
    np.testing.assert_allclose(found.scaled(1 / scale).points[0], seen, atol=6)


@pytest.mark.parametrize("name", ["group-photo", "astronaut"])
def test_the_folded_network_agrees_with_opencvs_run_of_the_original(
    yunet: YuNet, picture: Read, model_store: ModelStore, name: str
) -> None:
    """OpenCV understands the int8 file as it comes, and decodes on its own."""
    entry = msgspec.structs.replace(
        model_store.manifest.entry("yunet"), transform=None, result_sha256=None
    )
    manifest = Manifest({"yunet": entry}, model_store.manifest.directory)
    original = ModelStore(model_store.cache_dir.parent, manifest=manifest).path("yunet")
    pixels = letterbox(picture(name), 640, 640)[0].round()
    (found,) = yunet.detect(pixels)
    theirs = cv2.FaceDetectorYN.create(str(original), "", (640, 640), 0.7, 0.3)
    rows = theirs.detect(pixels[0].transpose(1, 2, 0).astype(np.uint8))[1]
    rows = rows[(-rows[:, 14]).argsort()]
    boxes = np.hstack([rows[:, :2], rows[:, :2] + rows[:, 2:4]])
    np.testing.assert_allclose(found.boxes, boxes, atol=0.1)
    np.testing.assert_allclose(found.points, rows[:, 4:14].reshape(-1, 5, 2), atol=0.1)
    np.testing.assert_allclose(found.scores, rows[:, 14], atol=1e-3)


@pytest.mark.parametrize("name", ["yunet", "centerface"])
def test_a_batch_finds_what_single_pictures_give(
    model_store: ModelStore, picture: Read, name: str
) -> None:
    network = detector(name, open_session(model_store.path(name), device="cpu")[0])
    group = letterbox(picture("group-photo"), 320, 320)[0]
    astronaut = letterbox(picture("astronaut"), 320, 320)[0]
    batch = np.concatenate([group, np.zeros_like(group), astronaut])
    found = network.detect(batch)
    assert [len(one) for one in found] == [6, 0, 1]
    for together, alone in zip(found, [group, None, astronaut], strict=True):
        if alone is not None:
            np.testing.assert_allclose(together.boxes, network.detect(alone)[0].boxes, atol=0.01)


def test_centerface_agrees_with_yunet_on_the_group_photo(
    centerface: CenterFace, picture: Read
) -> None:
    blob, scale = letterbox(picture("group-photo"), 640, 640)
    (found,) = centerface.detect(blob)
    np.testing.assert_allclose(places(found.scaled(1 / scale)), GROUP, atol=25)


def test_points_of_both_detectors_are_in_one_order(
    yunet: YuNet, centerface: CenterFace, picture: Read
) -> None:
    blob, _ = letterbox(picture("astronaut"), 512, 512)
    np.testing.assert_allclose(
        yunet.detect(blob)[0].points, centerface.detect(blob)[0].points, atol=8
    )


def test_a_picture_without_faces_gives_none(yunet: YuNet) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1, 3, 320, 320)).astype(np.float32)
    assert [len(found) for found in yunet.detect(noise)] == [0]


def test_sides_that_do_not_fit_the_grid_are_refused(yunet: YuNet) -> None:
    with pytest.raises(ContractError, match="multiple of 32"):
        yunet.detect(np.zeros((1, 3, 360, 640), np.float32))


def test_a_cell_decodes_to_the_box_by_the_formula() -> None:
    """One cell at column 3, row 2 of the stride-16 grid of a 128x64 picture."""
    channels = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
    cells = {stride: (128 // stride) * (64 // stride) for stride in STRIDES}
    outputs = {
        name: np.zeros((1, cells[int(name.split("_")[1])], channels[name.split("_")[0]]))
        for name in OUTPUTS
    }
    outputs = {name: value.astype(np.float32) for name, value in outputs.items()}
    cell = 2 * 8 + 3
    outputs["cls_16"][0, cell] = 1.3  # above 1 counts as 1
    outputs["obj_16"][0, cell] = 0.64
    outputs["bbox_16"][0, cell] = [0.5, -0.25, np.log(2), np.log(4)]
    outputs["kps_16"][0, cell] = np.arange(10) / 10
    (found,) = decode(outputs, 128, score=0.7, iou=0.3)
    np.testing.assert_allclose(found.boxes, [[40, -4, 72, 60]], rtol=1e-6)
    np.testing.assert_allclose(found.scores, [0.8], rtol=1e-6)
    np.testing.assert_allclose(found.points[0, 1], [(3 + 0.2) * 16, (2 + 0.3) * 16], rtol=1e-6)
    assert len(decode(outputs, 128, score=0.81, iou=0.3)[0]) == 0


def test_a_detector_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="known: yunet, centerface"):
        detector("haar", None)
