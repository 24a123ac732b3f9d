"""Each make of detector on a generated file whose boxes and points are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinydetectors
import yaml
from numpy.typing import NDArray
from tinydetectors import BOX, POINTS, STRIDES, SURE
from tinynets import Net, Trained

from mpflow.models.described import DescribedDetector, prepared
from mpflow.models.description import Letterbox, Picture
from mpflow.models.detections import Detections, Detector
from mpflow.models.detectors import detector, detector_file
from mpflow.models.sessions import open_session

Build = Callable[..., None]

SCRFD = Trained("rgb", (127.5,) * 3, (128.0,) * 3)
RETINA = Trained("bgr", (104, 117, 123))
YOLO = Trained("rgb", std=(255.0,) * 3)
SIZE = (192, 128)

# decoder, how its pictures are prepared, the network, whether its size is fixed, more keys
CASES: dict[str, tuple[str, Trained, Build, bool, dict[str, Any]]] = {
    "scrfd": ("scrfd", SCRFD, tinydetectors.scrfd, False, {}),
    "scrfd with one anchor": (
        "scrfd",
        SCRFD,
        partial(tinydetectors.scrfd, anchors=1),
        False,
        {"anchors": 1},
    ),
    "scrfd without a batch": (
        "scrfd",
        SCRFD,
        partial(tinydetectors.scrfd, batched=False),
        False,
        {},
    ),
    "retinaface": ("retinaface", RETINA, tinydetectors.retinaface, False, {}),
    "retinaface before the softmax": (
        "retinaface",
        RETINA,
        partial(tinydetectors.retinaface, before_softmax=True),
        False,
        {"scores": "logits"},
    ),
    "retinaface by names": (
        "retinaface",
        RETINA,
        tinydetectors.retinaface,
        False,
        {"outputs": {"boxes": "boxes", "scores": ["scores"]}},
    ),
    "yolov5-face": ("yolov5-face", YOLO, tinydetectors.yolov5_raw, False, {}),
    "yolov5-face by channels": (
        "yolov5-face",
        YOLO,
        partial(tinydetectors.yolov5_raw, apart=False),
        False,
        {},
    ),
    "yolov5-face finished": ("yolov5-face", YOLO, tinydetectors.yolov5_finished, True, {}),
    "yolov8-face": ("yolov8-face", YOLO, tinydetectors.yolov8_raw, False, {}),
    "yolov8-face of eight bins": (
        "yolov8-face",
        YOLO,
        partial(tinydetectors.yolov8_raw, sure=False, bins=8),
        False,
        {"bins": 8},
    ),
    "yolov8-face finished": ("yolov8-face", YOLO, tinydetectors.yolov8_finished, True, {}),
    "yolov8-face finished, plain points": (
        "yolov8-face",
        YOLO,
        partial(tinydetectors.yolov8_finished, sure=False),
        True,
        {},
    ),
    "yunet": ("yunet", Trained("bgr"), tinydetectors.yunet, False, {}),
}


def described(folder: Path, name: str, stride: int, **more: Any) -> Detector:
    """A detector around the generated file of a case; its faces are those of ``stride``."""
    decoder, trained, build, fixed, keys = CASES[name]
    net = Net(trained, SIZE if fixed else None, 1 if fixed else "n")
    build(net, stride)
    net.save(folder / "tiny.onnx")
    return opened(folder, decoder=decoder, **keys, **more)


def opened(folder: Path, **keys: Any) -> Detector:
    description = folder / "tiny.yaml"
    description.write_text(yaml.safe_dump({"file": "tiny.onnx", **keys}))
    file = detector_file(str(description), lambda name: pytest.fail(f"{name} is in no store"))
    return detector(str(description), open_session(file, device="cpu")[0], file=file)


def red_at(*places: tuple[int, int] | None, stride: int, size: tuple[int, int] = SIZE) -> Any:
    """A grey blob for each place, with one pure red cell whose corner is there; BGR."""
    blobs = np.full((len(places), 3, size[1], size[0]), 90, np.float32)
    for blob, place in zip(blobs, places, strict=True):
        if place is not None:
            x, y = place
            blob[:, y : y + stride, x : x + stride] = np.array([0, 0, 255])[:, None, None]
    return blobs


def check(found: Detections, corner: tuple[int, int], score: float = SURE) -> None:
    """One face, in its place."""
    assert len(found) == 1
    place = np.array(corner, float)
    np.testing.assert_allclose(found.boxes[0], BOX + np.tile(place, 2), atol=0.02)
    np.testing.assert_allclose(found.points[0], POINTS + place, atol=0.02)
    np.testing.assert_allclose(found.scores, [score], atol=1e-3)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("name", CASES)
def test_a_make_reads_its_boxes_and_points_alone_and_in_a_batch(
    tmp_path: Path, name: str, stride: int
) -> None:
    net = described(tmp_path, name, stride)
    first, second = (2 * stride, 3 * stride), (5 * stride, stride)
    blobs = red_at(first, None, second, stride=stride)
    one, none, other = net.detect(blobs)
    check(one, first)
    assert len(none) == 0
    check(other, second)
    (alone,) = net.detect(blobs[2:])
    check(alone, second)


def test_centerface_by_description_reads_its_boxes_and_points(tmp_path: Path) -> None:
    net = Net(Trained("rgb"))
    tinydetectors.centerface(net)
    net.save(tmp_path / "tiny.onnx")
    one, other = opened(tmp_path, decoder="centerface").detect(red_at((8, 12), (40, 20), stride=4))
    check(one, (8, 12))
    check(other, (40, 20))


def test_names_tell_outputs_apart_that_have_one_shape(tmp_path: Path) -> None:
    net = Net(Trained("bgr"))
    tinydetectors.centerface(net)
    for node, name in zip(net.nodes[1::2], ("heat", "offset", "size", "points"), strict=True):
        node.output[0] = name
    net.outputs = ["heat", "offset", "size", "points"]
    net.save(tmp_path / "tiny.onnx")
    swapped = {"heat": "heat", "size": "offset", "offset": "size", "points": "points"}
    made = opened(tmp_path, decoder="centerface", outputs=swapped, input={"colour": "bgr"})
    check(made.detect(red_at((8, 12), stride=4))[0], (8, 12))


def test_faces_that_overlap_are_one_and_others_stay(tmp_path: Path) -> None:
    """Two neighbours of stride 8 have boxes 8 pixels apart, of 32x40: IoU 0.6."""
    net = described(tmp_path, "scrfd", 8)
    blobs = np.maximum(red_at((16, 16), stride=8), red_at((24, 16), stride=8))
    blobs[:, :2, 16:24, 16:32] = 0
    assert len(net.detect(blobs)[0]) == 1
    loose = described(tmp_path, "scrfd", 8, iou=0.65)
    assert len(loose.detect(blobs)[0]) == 2  # the second anchors' are still one with the first's


@pytest.mark.parametrize(("score", "count"), [(0.8, 1), (0.95, 0)])
def test_the_score_is_the_descriptions_unless_another_is_asked_for(
    tmp_path: Path, score: float, count: int
) -> None:
    net = described(tmp_path, "scrfd", 8, score=score)
    assert net.score == score
    assert len(net.detect(red_at((16, 16), stride=8))[0]) == count


def test_a_file_of_one_size_says_so(tmp_path: Path) -> None:
    assert described(tmp_path, "yolov8-face finished", 8).size == SIZE
    assert described(tmp_path, "yolov8-face", 8).size is None
    assert described(tmp_path, "yolov8-face", 8, input={"size": "320x256"}).size == (320, 256)


def test_a_picture_in_the_middle_of_its_blob_is_found_where_it_was(tmp_path: Path) -> None:
    """192x96 in 192x128 moves down by 16 pixels, onto the grid again."""
    net = described(tmp_path, "yolov5-face", 16)
    (found,) = net.detect(red_at((32, 48), stride=16), [(192, 96)])
    check(found, (32, 48))


def test_pixels_are_ordered_shifted_and_scaled_as_described() -> None:
    picture = Picture(
        colour="rgb", mean=(10, 20, 30), std=(2, 4, 5), letterbox=Letterbox("centre", 114)
    )
    blob = np.zeros((1, 3, 4, 6), np.float32)
    blob[0, :, :2, :6] = np.array([50, 60, 70], np.float32)[:, None, None]  # b, g, r
    tensor, corners = prepared(blob, [(6, 2)], picture)
    assert corners.tolist() == [[0, 1]]
    np.testing.assert_allclose(tensor[0, :, 1, 0], [(70 - 10) / 2, (60 - 20) / 4, (50 - 30) / 5])
    np.testing.assert_allclose(tensor[0, :, 0, 0], [(114 - 10) / 2, (114 - 20) / 4, (114 - 30) / 5])
    assert blob[0, 0, 0, 0] == 50


def test_conventions_are_kept_where_a_description_says_nothing(tmp_path: Path) -> None:
    """Red in BGR files is blue in RGB ones, so a wrong order finds nothing."""
    net = described(tmp_path, "scrfd", 8, input={"colour": "bgr"})
    assert len(net.detect(red_at((16, 16), stride=8))[0]) == 0
    assert isinstance(net, DescribedDetector)


def test_a_picture_of_another_kind_is_no_blob(tmp_path: Path) -> None:
    net = described(tmp_path, "scrfd", 8)
    bad: NDArray[Any] = np.zeros((1, 3, 40, 40), np.float32)
    with pytest.raises(Exception, match="multiple of 32"):
        net.detect(bad)


def test_a_network_that_gives_no_numbers_has_not_found_nobody(tmp_path: Path) -> None:
    eyes = described(tmp_path, "scrfd", 8)
    blobs = red_at((64, 32), stride=8)
    blobs[:, :, 0, 0] = np.nan  # as a network gives that overflows half way
    with pytest.raises(FloatingPointError, match="no numbers"):
        eyes.detect(blobs, ())
