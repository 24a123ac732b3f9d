"""68 and 203 points from generated files whose points are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinynets
import yaml
from numpy.typing import NDArray

from mpflow.errors import ConfigError, ModelError
from mpflow.memory import MemorySlot
from mpflow.models.described_landmarks import DescribedLandmarks
from mpflow.models.landmarkers import landmarker, landmarker_file
from mpflow.models.landmarks import back, fit
from mpflow.models.sessions import open_session
from mpflow.tokens import Face

RNG = np.random.default_rng(5)
SHARES = RNG.uniform(0.2, 0.8, (203, 2))
PEAKS = np.column_stack([RNG.uniform(10, 54, (68, 2)), RNG.uniform(0.6, 1, 68)])


def fan(folder: Path, **keys: Any) -> DescribedLandmarks:
    tinynets.points(PEAKS, 256, "landmarks_xyscore").save(folder / "net.onnx")
    return opened(folder, landmarks=68, **keys)


def portrait(folder: Path, batch: int | str = "n", **keys: Any) -> DescribedLandmarks:
    """As LivePortrait's file: three outputs, the points in the third."""
    net = tinynets.points(SHARES.ravel(), 224, "853", batch)
    zero = net.node("Mul", [net.outputs[0], net.constant(np.float32(0))])
    for wide, name in ((262, "692"), (214, "856")):
        ends = [net.constant(np.array([each], np.int64)) for each in (0, wide, 1)]
        part = net.node("Slice", [zero, ends[0], ends[1], ends[2]])
        net.node("Identity", [part], name)
        net.outputs.insert(0, name)
    net.save(folder / "net.onnx")
    return opened(folder, landmarks=203, **keys)


def opened(folder: Path, **keys: Any) -> DescribedLandmarks:
    path = folder / "net.yaml"
    path.write_text(yaml.safe_dump({"file": "net.onnx", **keys}))
    file = landmarker_file(str(path), lambda name: pytest.fail(f"{name} is in no store"))
    made = landmarker(str(path), open_session(file, device="cpu")[0], file)
    assert isinstance(made, DescribedLandmarks)
    return made


def crops(side: int, *reds: float) -> NDArray[np.uint8]:
    """Pictures of which so much is red; BGR."""
    made = np.zeros((len(reds), side, side, 3), np.uint8)
    for picture, red in zip(made, reds, strict=True):
        picture[: round(side * red), :, 2] = 255
    return made


def test_68_points_are_64ths_of_the_crop_and_their_peaks_the_score(tmp_path: Path) -> None:
    model = fan(tmp_path)
    assert (model.count, model.side, model.passes) == (68, 256, 1)
    points, scores = model.points(crops(256, 0, 1, 0.5))
    assert points.shape == (3, 68, 3)
    np.testing.assert_allclose(points[0, :, :2], PEAKS[:, :2] * 4, atol=1e-3)
    np.testing.assert_allclose(points[:, 0, 0], PEAKS[0, 0] * 4 + [0, 4, 2], atol=1e-2)
    assert not points[:, :, 2].any()
    np.testing.assert_allclose(scores, PEAKS[:, 2].mean(), atol=1e-5)


@pytest.mark.parametrize("batch", ["n", 1])
def test_203_points_are_shares_of_the_crop_in_the_output_of_406(
    tmp_path: Path, batch: int | str
) -> None:
    model = portrait(tmp_path, batch)
    assert (model.count, model.side, model.passes) == (203, 224, 2)
    points, scores = model.points(crops(224, 0, 1))
    np.testing.assert_allclose(points[0, :, :2], SHARES * 224, atol=1e-3)
    np.testing.assert_allclose(points[1, 0, 0], (SHARES[0, 0] + 1) * 224, atol=0.3)
    assert scores.tolist() == [1, 1]


def test_five_points_come_from_the_eyes_the_nose_and_the_corners_of_the_mouth(
    tmp_path: Path,
) -> None:
    points = np.column_stack([np.arange(203), -np.arange(203), np.ones(203)]).astype(np.float32)
    assert fan(tmp_path).five(points[:68])[:, 0].tolist() == [38.5, 44.5, 30, 48, 54]
    assert portrait(tmp_path).five(points)[:, 0].tolist() == [9, 33, 201, 48, 66]


def test_a_crop_of_68_points_is_256_pixels_for_a_box_of_195(tmp_path: Path) -> None:
    model = fan(tmp_path)
    matrix = model.matrix(None, np.array([100, 50, 178, 245], np.float32))
    np.testing.assert_allclose(matrix[:, :2], np.eye(2), atol=1e-6)
    np.testing.assert_allclose(matrix @ [139, 147.5, 1], [127.5, 127.5], atol=1e-3)


def test_a_crop_is_upright_where_the_eyes_are_known(tmp_path: Path) -> None:
    five = np.array([(10, 10), (20, 20), (14, 22), (6, 22), (14, 30)], np.float32)
    matrix = fan(tmp_path).matrix(five, np.array([0, 0, 40, 40], np.float32))
    left, right = (matrix @ [*eye, 1] for eye in five[:2])
    assert right[1] == pytest.approx(left[1], abs=1e-3)
    assert right[0] > left[0]


@pytest.mark.parametrize("degrees", [0, 30, -75, 160])
def test_the_next_crop_lies_around_the_points_upright_and_half_as_large_again(
    tmp_path: Path, degrees: float
) -> None:
    """The rule of LivePortrait's crop.py: extents along the face, times 1.5, a tenth upwards."""
    model = portrait(tmp_path)
    upright = np.zeros((203, 2))
    upright[:] = RNG.uniform((-40, -50), (40, 50), (203, 2))
    upright[0], upright[1] = (-40, -50), (40, 50)  # the extents
    for numbers, place in (((0, 6, 12, 18), (-40, -50)), ((24, 30, 36, 42), (40, -50))):
        upright[list(numbers)] = place
    upright[48], upright[66] = (-15, 30), (15, 30)
    turn = np.deg2rad(degrees)
    way = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    points = np.column_stack([upright @ way.T + (300, 200), np.zeros(203)]).astype(np.float32)
    matrix = model.matrix_again(points)
    seen = points[:, :2] @ matrix[:, :2].T + matrix[:, 2]
    scale = 224 / 150
    expected = (upright - (0, -15)) * scale + 111.5
    np.testing.assert_allclose(seen, expected, atol=1e-2)


def test_points_of_a_face_in_a_frame_come_back_to_its_pixels(tmp_path: Path) -> None:
    """The network says the same of every crop but for the first point."""
    slot = MemorySlot.of("yuv420p", 320, 240)
    face = Face((100.0, 60.0, 200.0, 180.0), 0.9, ())
    (found,) = fit(model := fan(tmp_path), [(slot.frame(), face)])
    matrix = model.matrix(None, np.array(face.box, np.float32))
    points, _ = model.points(crops(256, 0))
    there = back(points[0], matrix)
    np.testing.assert_allclose(found.points[1:], there[1:], atol=1e-3)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"landmarks": 98}, "98.*known: 68, 203"),
        ({"landmarks": "68"}, "'68'.*known: 68, 203"),
        ({}, "no landmarks.*known: 68, 203"),
        ({"landmarks": 68, "scal": 2}, "scal"),
        ({"landmarks": 68, "input": {"side": 0}}, r"side"),
        ({"landmarks": 68, "file": "other.onnx"}, r"other\.onnx.*not there"),
        ({"landmarks": 68, "input": {"side": 192}}, r"256x256.*input\.side is 192"),
        ({"landmarks": 203, "input": {"side": 256}}, r"\[406\].*landmarks_xyscore \[2, 68, 3\]"),
        ({"landmarks": 68, "outputs": {"points": "lmk"}}, r"no output 'lmk'.*outputs\.points"),
    ],
)
def test_a_description_that_does_not_fit_names_the_key_and_the_cure(
    tmp_path: Path, keys: dict[str, Any], said: str
) -> None:
    tinynets.points(PEAKS, 256, "landmarks_xyscore").save(tmp_path / "net.onnx")
    with pytest.raises((ConfigError, ModelError), match=said):
        opened(tmp_path, **keys)
